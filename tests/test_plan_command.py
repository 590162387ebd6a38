"""`speccheck plan`: the values that files make together."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import SCHEMAS
from speccheck.validator.cli.main import main
from speccheck.validator.evidence.plan import leaf_names

EXAMPLE = Path(__file__).parents[1] / "fixtures" / "examples" / "llama-3-70b"
AXOLOTL = """\
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: data.jsonl
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 2e-5
bf16: true
deepspeed: ds.json
"""
ENGINE = """\
{
  "train_micro_batch_size_per_gpu": 4,
  "zero_optimization": {"stage": 2},
  "bf16": {"enabled": "auto"}
}
"""
JOB = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
export NCCL_DEBUG=WARN
export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567
srun axolotl train train.yaml
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("train.yaml", AXOLOTL),
        ("ds.json", ENGINE),
        ("job.sbatch", JOB),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def plan(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    code = main(["plan", str(folder), *words])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


def values(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document = json.loads(plan(folder, capsys, "--output", "json"))
    jsonschema.validate(document, SCHEMAS["plan"]())
    (item,) = document["plans"]
    return {value["name"]: value for value in item["values"]}


def test_each_value_has_its_status_place_and_derivation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = values(folder, capsys)
    assert tuple(found) == leaf_names()
    nodes = found["cluster.nodes"]
    assert (nodes["value"], nodes["status"]) == (2, "stated")
    assert [(place["line"], place["key"]) for place in nodes["places"]] == [
        (2, "--nodes")
    ]
    world = found["cluster.world_size"]
    assert (world["value"], world["status"]) == (16, "derived")
    assert world["note"] == "2 nodes x 8 GPUs = 16"
    silent = found["cluster.fabric"]
    assert (silent["value"], silent["status"], silent["places"]) == (
        None,
        "unknown",
        [],
    )


def test_a_conflict_keeps_what_was_stated_and_where(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    micro = values(folder, capsys)["batch.micro_batch_size"]
    assert (micro["value"], micro["status"]) == (None, "conflict")
    stated = zip(micro["alternatives"], micro["places"], strict=True)
    assert {(text, Path(at["file"]).name, at["line"]) for text, at in stated} == {
        ("4", "ds.json", 2),
        ("2", "train.yaml", 5),
    }


def test_the_text_names_files_reasons_and_values(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = plan(folder, capsys).splitlines()
    text = "\n".join(lines)
    assert "job.sbatch names train.yaml; train.yaml names ds.json" in text
    assert (
        "  nodes                          2                stated   job.sbatch:2"
        in (lines)
    )
    assert "      4 at ds.json:2; 2 at train.yaml:5" in lines
    assert "  NCCL_DEBUG=WARN  job.sbatch:4" in lines
    assert "are not stated in these files (--full names them)" in text
    assert "cluster.fabric" in plan(folder, capsys, "--full")


def test_whole_numbers_are_written_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.sbatch"
    path.write_text(
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --time=30-00:00:00\nsrun train\n",
        encoding="utf-8",
    )
    assert "walltime_seconds               2,592,000 " in plan(path, capsys)


def test_no_secret_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = plan(folder, capsys) + plan(folder, capsys, "--output", "json")
    assert "0123456789abcdef" not in text
    assert "WANDB_API_KEY=(not shown)" in text


def test_the_plan_can_be_written_to_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "plan.out"
    assert plan(folder, capsys, f"--output=json={target}") == ""
    assert (
        json.loads(target.read_text(encoding="utf-8"))["schema"] == "speccheck-plan/1"
    )


@pytest.mark.parametrize(
    ("text", "code"), [("nothing: known\n", 2), ("a: [\n", 2)], ids=["other", "broken"]
)
def test_what_is_no_plan_has_another_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    assert main(["plan", str(path)]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_folder_without_a_plan_is_inconclusive(tmp_path: Path) -> None:
    assert main(["plan", str(tmp_path)]) == 3
    assert main(["plan"]) == 2


@pytest.mark.parametrize(
    ("gpu", "answer"),
    [
        (["--gpu", "H100-SXM5-80GB"], "  memory: does not fit: at least "),
        ([], "  memory: not known whether it fits; to decide, add --gpu"),
    ],
)
def test_the_plan_begins_with_whether_it_fits(
    gpu: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["plan", str(EXAMPLE), *gpu])
    head = capsys.readouterr().out.partition("\ncluster\n")[0]
    assert answer in head


def test_the_plan_says_how_long_its_steps_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.sh"
    script.write_text(
        "torchrun --nnodes 1 --nproc_per_node 8 pretrain_gpt.py --num-layers 32 "
        "--hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --swiglu "
        "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 "
        "--global-batch-size 64 --bf16 --vocab-size 128256 --train-iters 1000 "
        "--tensor-model-parallel-size 8 --sequence-parallel --lr 1e-4 "
        "--use-distributed-optimizer\n"
    )
    main(["plan", str(script), "--instance", "p5.48xlarge"])
    head = " ".join(capsys.readouterr().out.partition("\ncluster\n")[0].split())
    assert re.search(
        r"step: about [\d.]+ s \([\d.]+ s to [\d.]+ s\), [\d.]+ k tokens/s; "
        r"1,000 steps: [\d.]+ h \([\d.]+ h to [\d.]+ h\)",
        head,
    ), head


def test_a_place_that_is_too_long_stands_below_its_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{'a_long_name_of_a_file_' * 2}.yaml"
    path.write_text("speccheck: 1\nparallelism:\n  tensor_parallel_size: 2\n", "utf-8")
    main(["plan", str(path)])
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if "tensor_parallel_size" in line)
    assert lines[at].endswith("stated")
    assert lines[at + 1] == f"      {path.name}:3"
