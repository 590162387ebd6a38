"""Releases of frameworks: from the command line, images, and pins beside a file."""

from pathlib import Path

import pytest

from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import run
from speccheck.validator.sources.context import Context

SETTINGS = """\
model_name_or_path: m
per_device_train_batch_size: 4
learning_rate: 2.0e-05
num_train_epochs: 3
output_dir: /ckpt/x
overwrite_output_dir: true
deepspeed: engine.json
"""
ENGINE = """\
{
  "train_micro_batch_size_per_gpu": 4,
  "zero_optimization": {"stage": 3}
}
"""
LOCK = '[[package]]\nname = "{}"\nversion = "{}"\n'
REMOVED, CONFLICT = "removed_key", "conflicting_statements"


def judged(folder: Path, version: str | None = None, **files: str) -> JudgedPlan:
    """Return the plan of a folder that holds these files beside the settings."""
    (folder / "sft.yaml").write_text(SETTINGS)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    (plan,) = run(
        Request(
            (str(folder),), judging=Judging(context=Context(framework_version=version))
        )
    ).plans
    return plan


def found(plan: JudgedPlan, rule: str, outcome: str = "fail") -> list[list[str]]:
    """Return where the findings of a rule stand, as `file:line`."""
    return [
        [f"{Path(place.file).name}:{place.line}" for place in finding.locations]
        for finding in plan.findings
        if finding.finding.rule == rule and finding.finding.outcome == outcome
    ]


def test_without_a_version_a_removed_key_is_in_doubt(tmp_path: Path) -> None:
    plan = judged(tmp_path)
    assert found(plan, REMOVED) == []
    (doubt,) = [
        finding.finding for finding in plan.findings if finding.finding.rule == REMOVED
    ]
    assert (doubt.outcome, doubt.missing) == ("unknown", ("run.framework_version",))


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("requirements.txt", "torch==2.6.0\ntransformers==5.23.0  # new\n", 2),
        ("requirements-train.txt", "Transformers[torch] == 5.23.0\n", 1),
        ("uv.lock", LOCK.format("transformers", "5.23.0"), 2),
        ("poetry.lock", LOCK.format("transformers", "5.23.0"), 2),
        ("environment.yml", "dependencies:\n- pip:\n  - transformers==5.23.0\n", 3),
        ("Pipfile.lock", '{"default": {"transformers": {"version": "==5.23.0"}}}', 1),
        ("pyproject.toml", '[project]\ndependencies = ["transformers==5.23.0"]\n', 2),
    ],
)
def test_a_pin_beside_the_file_tells_that_the_key_is_gone(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    (tmp_path / name).write_text(text)
    plan = judged(tmp_path)
    assert found(plan, REMOVED) == [["sft.yaml:6", f"{name}:{line}"]]
    (failure,) = [
        finding
        for finding in plan.findings
        if finding.finding.rule == REMOVED and finding.finding.outcome == "fail"
    ]
    assert "transformers" in failure.locations[1].text.lower()


@pytest.mark.parametrize(
    "text",
    [
        "transformers==4.57.1\n",
        "transformers>=5.23\n",
        "transformers==5.*\n",
        "transformers==5.23.0,<6\n",
        'transformers==5.23.0; sys_platform == "darwin"\n',
        "transformers==4.57.1\ntransformers==5.23.0\n",
        "# transformers==5.23.0\n",
        "transformers-stream-generator==5.23.0\n",
        "",
        "\0",
    ],
)
def test_other_lines_fail_nothing(tmp_path: Path, text: str) -> None:
    assert found(judged(tmp_path, requirements__txt=text), REMOVED) == []


def test_the_command_line_wins_over_a_pin(tmp_path: Path) -> None:
    pin = "transformers==5.23.0\n"
    plan = judged(tmp_path, "transformers 4.57.1", requirements__txt=pin)
    assert found(plan, REMOVED) == found(plan, CONFLICT) == []
    plan = judged(tmp_path, "5.23.0", requirements__txt="transformers==4.57.1\n")
    assert found(plan, REMOVED) == [["sft.yaml:6", "command line:0"]]


def test_pins_that_differ_are_a_conflict_and_no_guess(tmp_path: Path) -> None:
    plan = judged(
        tmp_path,
        requirements__txt="transformers==5.23.0\n",
        uv__lock=LOCK.format("transformers", "4.57.1"),
    )
    assert found(plan, REMOVED) == []
    assert found(plan, CONFLICT) == [["requirements.txt:1", "uv.lock:2"]]
    plan = judged(tmp_path, "4.57.1")
    assert found(plan, CONFLICT) == []


def test_a_pin_that_leaves_numbers_open_agrees(tmp_path: Path) -> None:
    plan = judged(
        tmp_path,
        requirements__txt="transformers==5.23\n",
        uv__lock=LOCK.format("transformers", "5.23.0"),
    )
    assert found(plan, CONFLICT) == []
    ((_, *pins),) = found(plan, REMOVED)
    assert pins == ["requirements.txt:1", "uv.lock:2"]


def test_each_file_gets_the_release_of_its_own_package(tmp_path: Path) -> None:
    """cpu_offload is gone from DeepSpeed; transformers says nothing of it."""
    engine = ENGINE.replace('"stage": 3', '"stage": 3, "cpu_offload": true')
    pins = "transformers==4.57.1\ndeepspeed==0.19.6\n"
    plan = judged(tmp_path, engine__json=engine, requirements__txt=pins)
    deprecated = found(plan, "deprecated_key") + found(plan, REMOVED)
    assert next(place for places in deprecated for place in places) == "engine.json:3"
    # A version without a name is one of the main framework, the Trainer.
    plan = judged(tmp_path, "5.23.0", engine__json=engine, requirements__txt=pins)
    assert ["sft.yaml:6", "command line:0"] in found(plan, REMOVED)


def test_releases_of_another_framework_may_differ_too(tmp_path: Path) -> None:
    plan = judged(
        tmp_path,
        engine__json=ENGINE,
        requirements__txt="deepspeed==0.14.0\n",
        uv__lock=LOCK.format("deepspeed", "0.15.4"),
    )
    assert found(plan, CONFLICT) == [["requirements.txt:1", "uv.lock:2"]]
    (conflict,) = [
        finding.finding
        for finding in plan.findings
        if finding.finding.rule == CONFLICT and finding.finding.outcome == "fail"
    ]
    assert conflict.message == "deepspeed version is stated as 0.14.0 and as 0.15.4"


def test_the_wheel_of_nccl_tells_its_release(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(
        "export NCCL_LL_THRESHOLD=0\ntorchrun --nproc-per-node 8 train.py\n"
    )

    def removed() -> list[list[str]]:
        (plan,) = run(Request((str(tmp_path / "run.sh"),))).plans
        return found(plan, "removed_variable")

    before = removed()
    (tmp_path / "requirements.txt").write_text("nvidia-nccl-cu12==2.26.2\n")
    after = removed()
    assert [places[0] for places in after] == ["run.sh:1"]
    assert before in ([], [["run.sh:1"]])


def test_the_image_of_a_task_tells_its_packages(tmp_path: Path) -> None:
    image = "docker:huggingface/transformers-pytorch-gpu:5.23.0"
    flags = "--bf16 --save_strategy no --per_device_train_batch_size 4"
    (tmp_path / "task.yaml").write_text(
        f"resources:\n  accelerators: H100:8\n  image_id: {image}\n"
        f"run: |\n  python train.py {flags} --overwrite_output_dir\n"
    )
    (plan,) = run(Request((str(tmp_path / "task.yaml"),))).plans
    assert found(plan, REMOVED) == [["task.yaml:5", "task.yaml:3"]]


def test_requirements_are_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "environment.yml").write_text("dependencies: [torch]\n")
    (tmp_path / "sft.yaml").write_text(SETTINGS)
    judged_run = run(Request((str(tmp_path),)))
    assert [Path(file.path).name for file in judged_run.files] == ["sft.yaml"]


def test_pins_elsewhere_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==5.23.0\n")
    folder = tmp_path / "recipes"
    folder.mkdir()
    assert found(judged(folder), REMOVED) == []
    (folder / "requirements.txt").mkdir()
    assert found(judged(folder), REMOVED) == []
