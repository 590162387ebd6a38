"""Settings that mend a failure: found by trying them, printed only when they do."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import schema_text
from speccheck.validator.cli.main import main
from speccheck.validator.run.judging import MOST_SOUGHT

LLAMA = Path(__file__).resolve().parents[1] / "fixtures" / "examples" / "llama-3-70b"

# 128 is no multiple of 6 x 8 ranks.
BATCH = """\
speccheck: 1
cluster: {nodes: 1, gpus_per_node: 8}
parallelism:
  tensor_parallel_size: 1
  pipeline_parallel_size: 1
  context_parallel_size: 1
  ulysses_size: 1
batch: {mode: fixed, micro_batch_size: 6, global_batch_size: 128}
"""
# Seventy billion parameters that DeepSpeed copies to each GPU; no sequence length.
WHOLE = """\
speccheck: 1
cluster: {nodes: 2, gpus_per_node: 8, accelerator: H100-SXM5-80GB}
parallelism: {engine: deepspeed, sharding_stage: 0, tensor_parallel_size: 1}
precision: {compute_dtype: bf16}
optimizer: {name_of_optimizer: adamw}
memory: {recompute_mode: full}
batch: {micro_batch_size: 1}
model:
  parameters: 70600000000
  layers: 80
  hidden_size: 8192
  attention_heads: 64
  vocabulary_size: 128256
"""
# GPT-3 on one node, with nothing saved.
UNSAVED = """\
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \\
  --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --vocab-size 51200 \\
  --seq-length 2048 --max-position-embeddings 2048 --use-flash-attn \\
  --tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 \\
  --micro-batch-size 1 --global-batch-size 256 --train-iters 100000 --bf16
"""


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main([*words, "--output", "json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    document: dict[str, Any] = json.loads(captured.out)
    jsonschema.validate(document, json.loads(schema_text("report")))
    return document


def failed(document: dict[str, Any], rule: str) -> dict[str, Any]:
    (found,) = (item for item in document["findings"] if item["rule"] == rule)
    assert found["outcome"] == "fail"
    finding: dict[str, Any] = found
    return finding


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_too_large_for_its_gpus_fails_with_settings_that_hold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Llama 3 70B on 8 x H100 without sharding, from its files to the way out."""
    words = (str(LLAMA), "--gpu", "H100-80GB")
    document = report(capsys, *words)
    assert document["exit_code"] == 1
    finding = failed(document, "large_model_without_sharding")
    assert (finding["level"], finding["confidence"]) == ("error", "lower_bound")
    assert finding["measured"] > 10 * 80e9
    assert finding["proposals"]
    for proposal in finding["proposals"]:
        assert proposal["verified"]
        assert proposal["new_errors"] == proposal["missing"] == []
        changes = ["--what-if", ",".join(proposal["what_if"])]
        assert main(["plan", *words, *changes, "--output", "json"]) == 0
        (plan,) = json.loads(capsys.readouterr().out)["plans"]
        assert plan["what_if"]["after"]["exit_code"] == 0
        kinds = {
            (row["after"] or row["before"])["rule"]: row["kind"]
            for row in plan["what_if"]["findings"]
        }
        assert kinds["large_model_without_sharding"] == "vanishes"
    assert main(list(words)) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "at least 1,129 GB (70.6 billion parameters x 16 bytes)" in text
    assert "try parallelism.tensor_parallel_degree 1 -> 8, --nodes and --nnodes" in text
    assert ": verified, at most " in text


def test_a_proposal_names_the_keys_of_the_files_and_their_values(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    folder.joinpath("job.yaml").write_text(BATCH, encoding="utf-8")
    finding = failed(report(capsys, "job.yaml"), "global_batch_not_divisible")
    assert finding["proposals"] == [
        {
            "settings": [
                {
                    "name": "batch.micro_batch_size",
                    "before": 6,
                    "after": 4,
                    "keys": [{"file": "job.yaml", "key": "batch.micro_batch_size"}],
                }
            ],
            "what_if": ["batch.global_batch_size=128", "batch.micro_batch_size=4"],
            "verified": True,
            "text": "batch.micro_batch_size 6 -> 4: verified, 4 x 4 x 8 ranks = 128",
            "because": "4 x 4 x 8 ranks = 128",
            "missing": [],
            "new_errors": [],
            "new_warnings": [],
        },
        {
            "settings": [
                {
                    "name": "batch.global_batch_size",
                    "before": 128,
                    "after": 144,
                    "keys": [{"file": "job.yaml", "key": "batch.global_batch_size"}],
                }
            ],
            "what_if": ["batch.micro_batch_size=6", "batch.global_batch_size=144"],
            "verified": True,
            "text": "batch.global_batch_size 128 -> 144: verified, "
            "6 x 3 x 8 ranks = 144",
            "because": "6 x 3 x 8 ranks = 144",
            "missing": [],
            "new_errors": [],
            "new_warnings": [],
        },
    ]


def test_what_cannot_be_judged_is_not_called_verified(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    folder.joinpath("job.yaml").write_text(WHOLE, encoding="utf-8")
    finding = failed(report(capsys, "job.yaml"), "large_model_without_sharding")
    (proposal,) = finding["proposals"]
    assert not proposal["verified"]
    assert "batch.sequence_length" in proposal["missing"]
    assert "no failure is left, but MEM-001 cannot be judged" in proposal["text"]
    assert ("parallelism.sharding_stage", 0, 3) in [
        (setting["name"], setting["before"], setting["after"])
        for setting in proposal["settings"]
    ]


@pytest.mark.slow
def test_what_a_larger_job_must_meet_besides_is_told(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    """Eight nodes fit the model, and a job of eight nodes has to save."""
    folder.joinpath("pretrain.sh").write_text(UNSAVED, encoding="utf-8")
    words = ("pretrain.sh", "--gpu", "H100-80GB")
    finding = failed(report(capsys, *words), "large_model_without_sharding")
    (proposal,) = finding["proposals"]
    assert not proposal["verified"]
    assert proposal["new_errors"] == ["CKPT-001 checkpoints_off"]
    assert proposal["text"].endswith("then also fails CKPT-001 checkpoints_off")
    folder.joinpath("pretrain.sh").write_text(
        UNSAVED.replace("--bf16", "--bf16 --save ckpt --save-interval 500"), "utf-8"
    )
    finding = failed(report(capsys, *words), "large_model_without_sharding")
    assert all(item["verified"] for item in finding["proposals"])


def test_ignored_rules_have_no_say_and_all_others_do(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    """To select one rule for the report does not make the others hold."""
    folder.joinpath("pretrain.sh").write_text(UNSAVED, encoding="utf-8")
    words = ["pretrain.sh", "--gpu", "H100-80GB"]
    rule = "large_model_without_sharding"
    finding = failed(report(capsys, *words, "--select", rule), rule)
    assert not finding["proposals"][0]["verified"]
    finding = failed(report(capsys, *words, "--ignore", "CKPT-001"), rule)
    assert finding["proposals"][0]["verified"]


def test_a_starved_pipeline_gets_micro_batches(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    text = BATCH.replace("pipeline_parallel_size: 1", "pipeline_parallel_size: 8")
    text = text.replace("micro_batch_size: 6, global", "micro_batch_size: 8, global")
    folder.joinpath("job.yaml").write_text(text, encoding="utf-8")
    finding = failed(report(capsys, "job.yaml"), "pipeline_starved_of_micro_batches")
    assert finding["proposals"][0]["what_if"] == ["batch.micro_batch_size=4"]
    assert finding["proposals"][0]["verified"]


@pytest.mark.slow
def test_of_many_plans_the_first_are_sought_and_the_rest_counted(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    for index in range(MOST_SOUGHT + 2):
        path = folder / f"{index:02}" / "job.yaml"
        path.parent.mkdir()
        path.write_text(BATCH, encoding="utf-8")
    found = report(capsys, ".")["findings"]
    sought = [finding["proposals"] for finding in found if finding["outcome"] == "fail"]
    assert [item is None for item in sought] == [False] * MOST_SOUGHT + [True] * 2
    main(["."])
    text = " ".join(capsys.readouterr().out.split())
    result = f"the first {MOST_SOUGHT} plans that need some, and not for 2 more"
    assert result in text


@pytest.mark.parametrize(
    ("micro", "imported"), [("4", 0), ("6", 1)], ids=["holds", "fails"]
)
def test_the_search_is_imported_for_a_failure_alone(
    folder: Path, micro: str, imported: int
) -> None:
    text = BATCH.replace("micro_batch_size: 6", f"micro_batch_size: {micro}")
    folder.joinpath("job.yaml").write_text(text, encoding="utf-8")
    program = (
        "import sys; from speccheck.validator.cli.main import main; main(['job.yaml']);"
        "sys.exit(any('.what_if' in name for name in sys.modules))"
    )
    command = [sys.executable, "-c", program]
    code = subprocess.run(command, check=False, capture_output=True).returncode
    assert code == imported
