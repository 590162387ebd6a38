"""Launches of LLaMA-Factory in scripts."""

from pathlib import Path

import pytest

from script_text import ReadScript, format_of, read_script
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.formats.llamafactory_cli import READER
from speccheck.validator.sources.joining.grouping import with_followed
from speccheck.validator.sources.registry import Readers

CONFIG = """\
model_name_or_path: org/model
stage: sft
do_train: true
finetuning_type: full
template: qwen
cutoff_len: 4096
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 1.0e-5
output_dir: out
bf16: true
"""
LAUNCH = (
    "FORCE_TORCHRUN=1 NNODES=2 NODE_RANK={0} NPROC_PER_NODE=8 "
    "llamafactory-cli train train.yaml"
)


def read(text: str) -> ReadScript:
    return read_script(READER, text)


def plan(folder: Path, script: str) -> TrainingPlan:
    (folder / "train.yaml").write_text(CONFIG)
    (folder / "run.sh").write_text(script)
    _, files = read_file(str(folder / "run.sh"))
    return assemble(with_followed(files, Readers()), Context()).plan


def test_the_environment_says_how_torchrun_is_started() -> None:
    leaves = read(LAUNCH.format(0) + "\n")
    assert leaves.values("stated") == {
        "cluster.nodes": 2,
        "recovery.processes_per_node": 8,
    }
    assert leaves.values("derived") == {
        "recovery.launcher": "torchrun",
        "cluster.gpus_per_node": 8,
    }
    assert leaves.value("recovery.max_restarts") == 0
    assert leaves.targets == ["train.yaml"]


def test_exported_variables_count_and_unknown_ones_stay_so() -> None:
    leaves = read(
        "export NNODES=4\nexport NPROC_PER_NODE=$GPUS\n"
        "llamafactory-cli train train.yaml\n"
    )
    assert leaves.value("cluster.nodes") == 4
    assert leaves.line("cluster.nodes") == 1
    assert leaves.status("recovery.processes_per_node") == "unknown"
    assert leaves.status("recovery.launcher") == "default"


def test_without_variables_it_is_one_node() -> None:
    leaves = read("llamafactory-cli train train.yaml\n")
    assert leaves.value("cluster.nodes") == 1
    assert leaves.status("cluster.nodes") == "default"


def test_the_launches_of_two_nodes_are_one_training(tmp_path: Path) -> None:
    script = f"{LAUNCH.format(0)} learning_rate=2e-5\n"
    script += f"{LAUNCH.format(1)} learning_rate=2e-5\n"
    found = plan(tmp_path, script)
    assert found.value("cluster.world_size").value == 16
    assert found.value("batch.global_batch_size").value == 128
    assert found.value("optimizer.learning_rate").value == 2e-5
    assert found.value("optimizer.learning_rate").status == "stated"
    assert found.value("run.role").value == "sft"


def test_words_replace_values_of_the_file(tmp_path: Path) -> None:
    script = f"{LAUNCH.format(0)} finetuning_type=lora output_dir=$OUT\n"
    found = plan(tmp_path, script)
    assert found.value("model.adapter").value == "lora"
    assert found.value("run.role").value == "lora"
    assert not found.value("checkpoint.directory").is_known
    assert found.value("batch.micro_batch_size").value == 2


def test_words_without_their_file_state_what_they_say() -> None:
    leaves = read("llamafactory-cli train none.yaml learning_rate=2e-5 bf16=true\n")
    assert leaves.value("optimizer.learning_rate") == 2e-5
    assert leaves.value("precision.bf16") is True
    assert leaves.status("checkpoint.interval_steps") is None
    (reference,) = leaves.reading.references
    assert "optimizer.learning_rate" in reference.replaces
    assert "batch.micro_batch_size" not in reference.replaces


def test_two_trainings_are_not_one() -> None:
    leaves = read("llamafactory-cli train a.yaml\nllamafactory-cli train b.yaml\n")
    assert leaves.targets == []


@pytest.mark.parametrize(
    ("text", "format_id"),
    [
        (LAUNCH.format(0), "llamafactory-cli"),
        ("llamafactory-cli chat chat.yaml\n", None),
        ("echo llamafactory-cli train a.yaml\n", None),
        ("pip install llamafactory\n", None),
        ("llamafactory-cli train\n", "llamafactory-cli"),
    ],
)
def test_detection(text: str, format_id: str | None) -> None:
    assert format_of(text) == format_id
