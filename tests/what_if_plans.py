"""A job and what `speccheck plan --what-if` says of it, for several tests."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import schema_text
from speccheck.validator.cli.main import main

Row = tuple[str, object, object, str]

# 4 nodes x 8 GPUs, hybrid sharding in groups of 8; 2 x 4 x 32 ranks = 256 samples.
JOB = """\
speccheck: 1
cluster: {nodes: 4, gpus_per_node: 8}
model:
  layers: 40
  hidden_size: 5120
  attention_heads: 40
  head_dimension: 128
  parameters: 13000000000
parallelism:
  engine: fsdp2
  sharding_stage: 3
  shard_size: 8
  replicate_size: 4
  tensor_parallel_size: 1
  pipeline_parallel_size: 1
  context_parallel_size: 1
  ulysses_size: 1
batch:
  mode: fixed
  micro_batch_size: 2
  gradient_accumulation_steps: 4
  global_batch_size: 256
  sequence_length: 4096
precision: {bf16: true, fp16: false}
memory: {recompute_mode: full, recompute_method: uniform, recompute_layers: 1}
checkpoint: {interval_seconds: 600}
recovery: {processes_per_node: 8, minimum_nodes: 4, maximum_nodes: 4}
"""


def what_if(
    capsys: pytest.CaptureFixture[str], path: Path, *changes: str
) -> dict[str, Any]:
    words = [word for change in changes for word in ("--what-if", change)]
    code = main(["plan", str(path), *words, "--output", "json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    document = json.loads(captured.out)
    jsonschema.validate(document, json.loads(schema_text("plan")))
    (plan,) = document["plans"]
    found: dict[str, Any] = plan["what_if"]
    return found


def rows(found: dict[str, Any]) -> list[Row]:
    pairs = ((row["before"], row["after"]) for row in found["values"])
    return [
        (old["name"], old["value"], new["value"], new["status"]) for old, new in pairs
    ]


def failures(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (row["kind"], (row["after"] or row["before"])["rule"])
        for row in found["findings"]
        if row["kind"] != "outcome"
    ]
