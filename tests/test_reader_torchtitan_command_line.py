"""Settings of torchtitan on the command lines of scripts."""

from pathlib import Path

import pytest

from script_text import ReadScript, format_of, read_script
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import read_plans, run
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.formats.torchtitan_command_line import READER

SETTINGS = """\
[job]
dump_folder = "./outputs"
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
seq_len = 8192
[parallelism]
tensor_parallel_degree = 2
pipeline_parallel_degree = 2
[metrics]
log_freq = 10
"""
SCRIPT = """\
NGPU=${NGPU:-"8"}
CONFIG_FILE=${CONFIG_FILE:-"./llama.toml"}
torchrun --nproc_per_node=${NGPU} \\
  -m torchtitan.train --job.config_file ${CONFIG_FILE} \\
  --training.local-batch-size 4 --parallelism.tensor_parallel_degree=4 \\
  --parallelism.pipeline_parallel_degree 1 \\
  --compile.enable --checkpoint.no_enable "$@"
"""
MICRO, TENSOR = "batch.micro_batch_size", "parallelism.tensor_parallel_size"


def read(text: str, folder: Path | None = None) -> ReadScript:
    name = str(folder / "run_train.sh") if folder is not None else "run_train.sh"
    return read_script(READER, text, name)


def judged(folder: Path, script: str) -> JudgedPlan:
    (folder / "run_train.sh").write_text(script)
    (plan,) = run(
        Request((str(folder / "run_train.sh"), str(folder / "llama.toml")))
    ).plans
    return plan


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "llama.toml").write_text(SETTINGS)
    return tmp_path


def test_settings_lie_over_those_of_the_file(folder: Path) -> None:
    script = read(SCRIPT, folder)
    assert script.values("stated") == {
        "batch.sequence_length": 8192,
        MICRO: 4,
        TENSOR: 4,
        "parallelism.pipeline_parallel_size": 1,
        "telemetry.log_interval_steps": 10,
        "kernels.compiled": True,
        "checkpoint.enabled": False,
    }
    assert script.line(TENSOR) == 5
    assert script.leaves[MICRO].places[0].key == "--training.local-batch-size"
    assert script.leaves["batch.sequence_length"].places[0].file.endswith(".toml")
    assert script.value("model.name_of_model") == "llama3 8B"
    (named,) = script.reading.references
    assert named.target == "llama.toml"
    assert {MICRO, TENSOR} <= {*named.replaces}


def test_script_and_file_make_one_plan_without_conflict(folder: Path) -> None:
    plan = judged(folder, SCRIPT)
    failed = {finding.finding.rule for finding in plan.findings if finding.locations}
    assert "conflicting_statements" not in failed
    assert {Path(file.path).name for file in plan.files} == {
        "run_train.sh",
        "llama.toml",
    }


def test_without_the_file_only_the_settings_count() -> None:
    script = read(SCRIPT)
    assert script.value(MICRO) == 4
    assert script.values("default") == {}
    # A rank's batch may be cut into micro-batches by the pipeline of the file.
    one_less = SCRIPT.replace("--parallelism.pipeline_parallel_degree 1", "")
    assert read(one_less).value(MICRO) is None
    assert read(one_less).value(TENSOR) == 4
    unknown = read(SCRIPT.replace(':-"./llama.toml"', ""))
    assert unknown.reading.references == ()
    assert unknown.value(TENSOR) == 4


def test_misspelt_and_refused_settings(folder: Path) -> None:
    text = SCRIPT.replace("--compile.enable", "--compile.nable --training.steps many")
    plan = judged(folder, text)
    failed = {
        finding.finding.rule: (finding.finding.message, finding.locations[0].line)
        for finding in plan.findings
        if finding.finding.outcome == "fail" and finding.locations
    }
    message, line = failed["key_refused"]
    assert (message.startswith("compile.nable is no key"), line) == (True, 7)
    message, line = failed["refused_value_type"]
    assert ("'many'" in message, line) == (True, 7)


def test_a_setting_like_no_other_may_be_that_of_a_fork(folder: Path) -> None:
    text = SCRIPT.replace("--compile.enable", "--training.shuffle_seed 3")
    outcomes = {
        finding.finding.outcome
        for finding in judged(folder, text).findings
        if finding.finding.rule in {"key_silently_ignored", "key_refused"}
    }
    assert outcomes.isdisjoint({"fail", "error"})


def test_programs_that_build_on_it_add_settings(folder: Path) -> None:
    text = SCRIPT.replace("-m torchtitan.train", "flame/train.py")
    text = text.replace("--compile.enable", "--training.varlen")
    failed = {
        finding.finding.rule
        for finding in judged(folder, text).findings
        if finding.finding.outcome == "fail"
    }
    assert failed.isdisjoint({"key_silently_ignored", "key_refused"})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (SCRIPT, "torchtitan-arguments"),
        (
            "python -m torchtitan.train --job.config-file x.toml\n",
            "torchtitan-arguments",
        ),
        ("torchrun train.py --module llama3 --config llama3_8b\n", "torchrun"),
        ("echo --job.config_file x.toml\n", None),
    ],
)
def test_detection(text: str, name: str | None) -> None:
    assert format_of(text) == name


def test_a_file_alone_is_named_too() -> None:
    script = read("python -m torchtitan.train --job.config-file x.toml\n")
    assert script.targets == ["x.toml"]


def test_a_file_below_the_working_folder_lies_under_what_only_the_job_knows(
    tmp_path: Path,
) -> None:
    (tmp_path / "llama.toml").write_text(SETTINGS)
    script = (
        "export HERE=$PWD\n"
        "if [ $KIND = a ]; then DEGREE=8; BATCH=16; else DEGREE=1; BATCH=4; fi\n"
        "torchrun --nproc_per_node=8 -m torchtitan.train \\\n"
        "  --job.config_file=$HERE/llama.toml --training.local_batch_size=$BATCH \\\n"
        "  --parallelism.pipeline_parallel_degree=$DEGREE\n"
    )
    (tmp_path / "run_train.sh").write_text(script)
    ((_, (group,)),) = read_plans(Request(arguments=(str(tmp_path),)))
    plan = assemble(group.files, Context()).plan
    assert plan.value("batch.sequence_length").value == 8192
    assert plan.value(TENSOR).value == 2
    assert plan.value("parallelism.pipeline_parallel_size").value is None
    assert plan.value(MICRO).value is None
