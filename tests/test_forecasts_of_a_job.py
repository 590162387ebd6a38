"""All forecasts of one real-looking job, as `speccheck plan` gives them."""

import json
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main

# Llama 3 70B on 16 nodes: tensor ranks within a node, four pipeline stages.
JOB = """\
torchrun --nproc_per_node 8 --nnodes 16 pretrain_gpt.py \\
  --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 \\
  --num-attention-heads 64 --group-query-attention --num-query-groups 8 --swiglu \\
  --untie-embeddings-and-output-weights --vocab-size 128256 \\
  --seq-length 8192 --max-position-embeddings 8192 --use-flash-attn \\
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 \\
  --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce \\
  --recompute-granularity selective --micro-batch-size 1 --global-batch-size 128 \\
  --train-iters 100000 --bf16 --save ckpt --save-interval 500
"""


@pytest.fixture
def job(tmp_path: Path) -> str:
    path = tmp_path / "pretrain.sh"
    path.write_text(JOB, encoding="utf-8")
    return str(path)


def forecasts(
    capsys: pytest.CaptureFixture[str], job: str, *words: str
) -> dict[str, Any]:
    command = ["plan", job, "--instance", "p5.48xlarge", "--output", "json", *words]
    assert main(command) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    return {item["subject"]: item for item in plan["forecasts"]}


def values(forecast: dict[str, Any]) -> dict[str, float | None]:
    return {item["name"]: item["value"] for item in forecast["quantities"]}


def test_a_plan_shows_every_subject_of_the_report(
    capsys: pytest.CaptureFixture[str], job: str
) -> None:
    found = forecasts(capsys, job)
    subjects = ["memory", "step", "energy", "checkpointing", "recovery"]
    assert list(found)[:5] == subjects
    memory = ("states", "activations", "logits", "buffers", "overhead")
    assert tuple(found["memory"]["parts"]) == memory
    assert found["memory"]["limit"]["name"] == "capacity"
    step = values(found["step"])
    assert step["bubble_share"] == pytest.approx(3 / 35)
    assert step["exposed_communication"] is not None
    assert values(found["energy"])["energy_per_token"] is not None
    assert values(found["checkpointing"])["size"] is not None
    assert values(found["recovery"])["total"] is not None


def test_parts_add_up_to_their_whole(
    capsys: pytest.CaptureFixture[str], job: str
) -> None:
    sums = 0
    for forecast in forecasts(capsys, job).values():
        by_name = values(forecast)
        parts = [by_name[name] for name in forecast["parts"]]
        if forecast["whole"] and parts:
            known = sum(part for part in parts if part is not None)
            assert known == pytest.approx(by_name[forecast["whole"]])
            sums += 1
    assert sums >= 3


def test_a_stated_step_is_no_sum_of_what_models_say(
    capsys: pytest.CaptureFixture[str], job: str
) -> None:
    found = forecasts(capsys, job, "--step-seconds", "30")["step"]
    assert values(found)["step_seconds"] == 30
    assert (found["whole"], found["parts"]) == (None, [])
