"""Files that a configuration names and that were not given."""

import json
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main

TRAINER = """\
output_dir: out
per_device_train_batch_size: 4
gradient_accumulation_steps: 2
num_train_epochs: 1
deepspeed: {target}
"""
ENGINE = '{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}}\n'


def written(folder: Path, **texts: str) -> Path:
    """Write files; `__` stands for a slash, `_` for a dot. Gives the folder."""
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main([*words, "--output", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def names(found: dict[str, Any]) -> list[list[str]]:
    return [[Path(path).name for path in plan["files"]] for plan in found["plans"]]


@pytest.mark.parametrize("target", ["ds.json", "engines/ds.json", "../ds.json"])
def test_the_engine_file_is_read_beside_the_file_and_above_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    home = tmp_path / "configs"
    written(home, train_yaml=TRAINER.format(target=target))
    engine = home / target
    engine.parent.mkdir(exist_ok=True)
    engine.write_text(ENGINE, encoding="utf-8")
    found = report(capsys, str(home / "train.yaml"))
    assert names(found) == [["train.yaml", "ds.json"]]
    assert found["plans"][0]["grouping"] == ["train.yaml names ds.json"]
    assert [Path(file["path"]).name for file in found["files"]] == [
        "train.yaml",
        "ds.json",
    ]
    conflict = next(
        finding
        for finding in found["findings"]
        if finding["rule"] == "conflicting_statements" and finding["outcome"] == "fail"
    )
    places = {(Path(place["file"]).name, place["line"]) for place in conflict["places"]}
    assert places == {("train.yaml", 2), ("ds.json", 1)}


def test_a_path_from_the_top_of_the_repository_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(
        tmp_path,
        examples__lora__train_yaml=TRAINER.format(target="examples/ds/z2.json"),
        examples__ds__z2_json=ENGINE,
    )
    (tmp_path / ".git").mkdir()
    found = report(capsys, str(tmp_path / "examples" / "lora" / "train.yaml"))
    assert names(found) == [["train.yaml", "z2.json"]]


def test_nothing_above_the_repository_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(
        tmp_path,
        repository__train_yaml=TRAINER.format(target="ds/z2.json"),
        ds__z2_json=ENGINE,
    )
    (tmp_path / "repository" / ".git").mkdir()
    found = report(capsys, str(tmp_path / "repository" / "train.yaml"))
    assert names(found) == [["train.yaml"]]


def test_absolute_paths_and_other_kinds_of_files_are_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, secret_txt=ENGINE, ds_json=ENGINE)
    for target in (str(tmp_path / "ds.json"), "secret.txt"):
        home = written(tmp_path / "home", train_yaml=TRAINER.format(target=target))
        assert names(report(capsys, str(home / "train.yaml"))) == [["train.yaml"]]


def test_each_judges_the_file_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, train_yaml=TRAINER.format(target="ds.json"), ds_json=ENGINE)
    assert names(report(capsys, str(tmp_path))) == [["ds.json", "train.yaml"]]
    assert names(report(capsys, str(tmp_path), "--each")) == [
        ["ds.json"],
        ["train.yaml"],
    ]
    assert names(report(capsys, str(tmp_path / "train.yaml"), "--each")) == [
        ["train.yaml"]
    ]


def test_one_engine_file_belongs_to_every_plan_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = TRAINER.format(target="ds.json")
    other = trainer.replace("_size: 4", "_size: 8")
    written(tmp_path, a_yaml=trainer, b_yaml=other, ds_json=ENGINE)
    found = report(capsys, str(tmp_path))
    assert names(found) == [["a.yaml", "ds.json"], ["b.yaml", "ds.json"]]


@pytest.mark.parametrize("folder", ["conf", "recipes"])
def test_what_a_script_starts_from_another_folder_is_no_plan_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    script = f"torchrun --nproc-per-node 8 train.py --config {folder}/train.yaml\n"
    texts = {"launch__run_sh": script, f"{folder}__train_yaml": TRAINER}
    (tmp_path / ".git").mkdir()
    found = report(capsys, str(written(tmp_path, **texts)))
    assert names(found) == [["run.sh", "train.yaml"]]
    assert {Path(file["path"]).name for file in found["files"]} == {
        "run.sh",
        "train.yaml",
    }


def test_an_empty_file_of_a_searched_folder_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(
        capsys, str(written(tmp_path, train_yaml=TRAINER, conf__none_yaml=""))
    )
    states = {Path(file["path"]).name: file["status"] for file in found["files"]}
    assert states == {"train.yaml": "judged", "none.yaml": "unrecognised"}


BY_ARGUMENTS = """\
#!/bin/bash
#SBATCH --gres=gpu:8
TASK=""
STAGE=""
while [[ $# -gt 0 ]]; do
  case $1 in
    --task) TASK="$2"; shift 2 ;;
    --stage) STAGE="$2"; shift 2 ;;
  esac
done
if [[ -z "$TASK" || -z "$STAGE" ]]; then
  echo "missing arguments"
  exit 1
fi
srun accelerate launch --config_file engines/$STAGE.yaml \\
  --num_machines $SLURM_NNODES --num_processes $(($SLURM_NNODES * 8)) \\
  --machine_rank $SLURM_PROCID train.py --config recipes/$TASK/config.yaml
"""
ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config: {zero_stage: 3}
num_machines: 1
num_processes: 8
"""


def test_files_given_with_a_script_that_names_them_in_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    written(
        tmp_path,
        launch_sh=BY_ARGUMENTS,
        engines__zero3_yaml=ACCELERATE,
        recipes__sft__config_yaml=TRAINER.format(target="null"),
    )
    given = ("launch.sh", "engines/zero3.yaml", "recipes/sft/config.yaml")
    found = report(capsys, *(str(tmp_path / name) for name in given))
    assert names(found) == [["launch.sh", "zero3.yaml", "config.yaml"]]
    failed = {row["rule"] for row in found["findings"] if row["outcome"] == "fail"}
    assert failed.isdisjoint({"conflicting_statements", "reference_leads_nowhere"})


def test_a_long_script_says_how_much_of_it_was_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "# data\n" * 60_000 + "torchrun --nproc-per-node 8 train.py\n"
    found = report(capsys, str(written(tmp_path, run_sh=rows) / "run.sh"))
    assert found["exit_code"] == 3
    (file,) = found["files"]
    assert "no launch in its first 300,000 characters" in file["message"]
