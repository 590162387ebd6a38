"""System configurations of MLPerf training, and the job that is submitted with them."""

from pathlib import Path

import pytest

from script_text import format_of, read_script
from speccheck.validator.cli.main import main
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.run.run import read_plans
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.formats.mlperf_config import READER

COMMON = "export MICRO_BATCH_SIZE=1\nexport NCCL_NVLS_ENABLE=0\n"
SYSTEM = """\
source $(dirname ${BASH_SOURCE[0]})/config_common.sh
export MINIBS=112
export TENSOR_MODEL_PARALLEL=4
export PIPELINE_MODEL_PARALLEL=8
export INTERLEAVED_PIPELINE=null
export CONTEXT_PARALLEL=2
export DGXNNODES=64
export DGXNGPU=4
export DGXSYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}))
"""
BATCH = """\
#!/bin/bash
#SBATCH --exclusive
: "${DGXNGPU:=8}"
srun --ntasks-per-node="${DGXNGPU}" --container-image="${CONT}" ./run_and_time.sh
srun -N1 -n1 python3 -m mlperf_logging.compliance_checker --usage training out.log
"""
MODEL = """\
trainer:
  devices: ${oc.decode:${oc.env:DGXNGPU,8}}
  num_nodes: ${oc.decode:${oc.env:DGXNNODES,1}}
  precision: bf16
  max_steps: 100
exp_manager:
  create_checkpoint_callback: false
model:
  micro_batch_size: ${oc.decode:${oc.env:MICRO_BATCH_SIZE}}
  tensor_model_parallel_size: ${oc.decode:${oc.env:TENSOR_MODEL_PARALLEL}}
  pipeline_model_parallel_size: ${oc.decode:${oc.env:PIPELINE_MODEL_PARALLEL}}
  context_parallel_size: ${oc.decode:${oc.env:CONTEXT_PARALLEL,1}}
  global_batch_size: ${multiply:${oc.decode:${oc.env:MINIBS}},4}
  encoder_seq_length: 8192
  num_layers: 126
  hidden_size: 16384
  num_attention_heads: 128
  data:
    data_prefix: [a]
"""


def test_exports_state_the_sizes() -> None:
    leaves = read_script(READER, SYSTEM)
    assert leaves.values("stated") == {
        "cluster.nodes": 64,
        "cluster.gpus_per_node": 4,
        "parallelism.tensor_parallel_size": 4,
        "parallelism.pipeline_parallel_size": 8,
        "parallelism.context_parallel_size": 2,
    }
    assert leaves.line("cluster.nodes") == 7


@pytest.mark.parametrize(
    ("text", "leaf", "value"),
    [
        ("export DGXNNODES=1\nexport TP=4\n", "parallelism.tensor_parallel_size", 4),
        ("export DGXNGPU=8\nexport MBS=64\n", "batch.micro_batch_size", 64),
        ("export DGXNNODES=$N\n", "cluster.nodes", None),
        (
            "export DGXNNODES=1\nexport SEQ_PARALLEL=False\n",
            "parallelism.sequence_parallel",
            False,
        ),
    ],
)
def test_short_names_and_unknown_values(text: str, leaf: str, value: object) -> None:
    assert read_script(READER, text).value(leaf) == value


@pytest.mark.parametrize(
    "text",
    [
        "DGXNNODES=4\nTP=2\n",
        "export TP=2\nexport PP=2\n",
        "#SBATCH --mem=0\nexport DGXNGPU=8\nsrun ./run_and_time.sh\n",
        "export DGXNGPU=8\ntorchrun --nproc_per_node=8 train.py\n",
    ],
)
def test_batch_scripts_and_others_are_none(text: str) -> None:
    assert format_of(text) != "mlperf-config"


def test_the_job_is_one_plan(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "config_common.sh").write_text(COMMON)
    (tmp_path / "config_A_64x4.sh").write_text(SYSTEM)
    (tmp_path / "run.sub").write_text(BATCH)
    (tmp_path / "conf" / "custom.yaml").write_text(MODEL)
    request = Request(arguments=(str(tmp_path / "config_A_64x4.sh"),))
    ((_, groups),) = read_plans(request)
    (group,) = groups
    assert [Path(file.status.path).name for file in group.files] == [
        "config_A_64x4.sh",
        "run.sub",
        "custom.yaml",
    ]
    plan = assemble(group.files, Context()).plan
    assert plan.value("cluster.nodes").value == 64
    assert plan.value("cluster.gpus_per_node").value == 4
    assert plan.value("cluster.world_size").value == 256
    assert plan.value("parallelism.data_parallel_size").value == 4
    assert plan.value("batch.global_batch_size").value == 448
    assert plan.value("batch.micro_batch_size").value == 1


def test_a_folder_holds_a_plan_for_each_system(tmp_path: Path) -> None:
    (tmp_path / "config_A_64x4.sh").write_text(SYSTEM)
    other = SYSTEM.replace("DGXNNODES=64", "DGXNNODES=128")
    (tmp_path / "config_B_128x4.sh").write_text(other)
    (tmp_path / "config_common.sh").write_text(COMMON)
    nodes = [
        assemble(group.files, Context()).plan.value("cluster.nodes").value
        for _, groups in read_plans(Request(arguments=(str(tmp_path),)))
        for group in groups
    ]
    assert {64, 128} <= set(nodes)


def test_a_fallback_of_no_amount_allows_no_forecast(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.sh").write_text(
        "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --num-layers 4 "
        "--tensor-model-parallel-size 4 --micro-batch-size ${MBS:-0}\n"
    )
    assert main(["plan", str(tmp_path / "run.sh")]) == 0
    assert "a bug of speccheck" not in capsys.readouterr().err


def test_a_system_sets_anew_what_the_common_file_sets(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    texts = {
        "config_A_64x4.sh": SYSTEM + "export MICRO_BATCH_SIZE=2\n",
        "config_common.sh": COMMON,
        "run.sub": BATCH,
        "conf/custom.yaml": MODEL,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    groups = [
        group
        for _, groups in read_plans(Request(arguments=(str(tmp_path),)))
        for group in groups
    ]
    assert [len(group.files) for group in groups] == [4]
    plan = assemble(groups[0].files, Context()).plan
    assert plan.value("batch.micro_batch_size").value == 2
