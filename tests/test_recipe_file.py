"""Makefiles and justfiles that hold a launch."""

from pathlib import Path

import pytest

from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.run.run import read_plans, run
from speccheck.validator.sources.context import Context

MAKEFILE = """\
GPUS ?= 8
NODES := 2
SIZES = --micro-batch-size 4 \\
  --seq-length 4096
HOST = $(shell hostname)
export NCCL_DEBUG = WARN

define NOTE
torchrun --nnodes 99 other.py
endef

.PHONY: train test

test:
\tpytest -q

image:
\tdocker run --gpus all --shm-size 1g image make test

train: data
\t@echo start
\tNCCL_IB_HCA=mlx5 torchrun --nproc_per_node=$(GPUS) --nnodes=$(NODES) \\
\t\t--master-addr $(HOST) \\
\t\tpretrain_gpt.py --num-layers 4 --tensor-model-parallel-size 4 $(SIZES)
"""
JUSTFILE = """\
set shell := ["bash", "-c"]
nproc := "8"
export rate := env("LR", "1e-4")

# start the training
train-all nodes="2":
    torchrun --nproc_per_node={{nproc}} --nnodes={{nodes}} pretrain_gpt.py \\
      --num-layers 4 --tensor-model-parallel-size 4 --lr {{rate}}

test:
    pytest
"""


def plan_of(folder: Path, name: str, text: str) -> TrainingPlan:
    (folder / name).write_text(text)
    ((_, (group,)),) = read_plans(Request(arguments=(str(folder),)))
    return assemble(group.files, Context()).plan


def values(plan: TrainingPlan, *names: str) -> list[object]:
    return [plan.value(name).value for name in names]


@pytest.mark.parametrize("name", ["Makefile", "GNUmakefile", "makefile"])
def test_the_recipe_of_a_makefile_is_a_launch(tmp_path: Path, name: str) -> None:
    plan = plan_of(tmp_path, name, MAKEFILE)
    assert values(
        plan,
        "cluster.nodes",
        "cluster.gpus_per_node",
        "parallelism.tensor_parallel_size",
        "batch.micro_batch_size",
        "batch.sequence_length",
        "container.engine",
    ) == [2, 8, 4, 4, 4096, None]
    assert plan.value("cluster.gpus_per_node").places[0].only_if == "GPUS is not set"
    (place,) = plan.value("batch.sequence_length").places
    assert place.span is not None
    assert (place.span.line, place.span.column) == (4, 16)
    ((_, (group,)),) = read_plans(Request(arguments=(str(tmp_path),)))
    variables = {
        variable.name: variable.value
        for file in group.files
        for reading in file.readings
        for variable in reading.variables
    }
    assert variables["NCCL_IB_HCA"] == "mlx5"
    assert variables["NCCL_DEBUG"] == "WARN"


def test_a_condition_of_make_leaves_a_variable_open(tmp_path: Path) -> None:
    text = (
        "ifeq ($(SIZE),large)\nNODES = 8\nelse\nNODES = 1\nendif\n"
        "train:\n\ttorchrun --nnodes=$(NODES) --nproc_per_node=8 train.py\n"
    )
    plan = plan_of(tmp_path, "Makefile", text)
    assert plan.value("cluster.nodes").value is None
    assert plan.value("cluster.gpus_per_node").value == 8


def test_two_launches_state_what_they_share(tmp_path: Path) -> None:
    text = "".join(
        f"{name}:\n\ttorchrun --nnodes={nodes} --nproc_per_node=8 train.py\n\n"
        for name, nodes in (("small", 1), ("large", 8))
    )
    plan = plan_of(tmp_path, "Makefile", text)
    assert plan.value("cluster.nodes").value is None
    assert plan.value("recovery.launcher").value == "torchrun"


@pytest.mark.parametrize("name", ["justfile", "Justfile", "train.just"])
def test_the_recipe_of_a_justfile_is_a_launch(tmp_path: Path, name: str) -> None:
    plan = plan_of(tmp_path, name, JUSTFILE)
    assert values(
        plan,
        "cluster.nodes",
        "cluster.gpus_per_node",
        "parallelism.tensor_parallel_size",
        "optimizer.learning_rate",
    ) == [2, 8, 4, 1e-4]
    assert plan.value("cluster.nodes").status == "fallback"


def test_a_build_is_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("CC ?= gcc\nall:\n\t$(CC) -o a a.c\n")
    result = run(Request(arguments=(str(tmp_path),)))
    assert result.plans == ()
    assert [file.state for file in result.files] == ["unrecognised"]


def test_nothing_in_a_makefile_takes_long(tmp_path: Path) -> None:
    rows = ["A0 = x"]
    rows += [f"A{i} = $(A{i - 1}) $(A{i - 1})" for i in range(1, 60)]
    rows += ["train:", "\ttorchrun --nproc_per_node=8 train.py $(A59)", "$(" * 5_000]
    plan = plan_of(tmp_path, "Makefile", "\n".join(rows))
    assert plan.value("cluster.gpus_per_node").value == 8
