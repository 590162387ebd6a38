"""Repositories with settings, for tests."""

import json
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main

# Batches that do not agree on 64 GPUs (BATCH-001, an error), and no overlap of the
# gradient exchange (COMM-006, a warning).
DEEPSPEED = """{
  "train_batch_size": 512,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 8,
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 2},
  "optimizer": {"type": "AdamW", "params": {"lr": 0.0001}}
}
"""
JOB = """
[facts]
gpu = "H100-80GB"
nodes = 8
gpus-per-node = 8
"""


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    _, out, _ = run(capsys, *words, "--output", "json")
    document: dict[str, Any] = json.loads(out)
    return document


def findings(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    found = report(capsys, *words)["findings"]
    return [finding for finding in found if finding["outcome"] == "fail"]


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    return [finding["clause"] for finding in findings(capsys, *words)]
