"""Sizes on the command lines of programs that no other reader knows."""

import pytest

from script_text import format_of, read_script
from speccheck.validator.sources.formats.llamafactory_cli import READER as LAUNCHER
from speccheck.validator.sources.formats.program_arguments import READER

RECIPE = (
    "torchrun --nproc-per-node=8 --nnodes=32 --node_rank=$JOB_COMPLETION_INDEX "
    "scripts/performance/run_script.py --tensor_model_parallel_size 1 "
    "--pipeline_model_parallel_size 8 --expert_model_parallel_size 32 "
    "--global_batch_size 4096 --micro_batch_size 1 --num_gpus 256 --gpus_per_node 8\n"
)
SWIFT = (
    "NNODES=2 NPROC_PER_NODE=8 megatron sft --load Qwen-mcore "
    "--tensor_model_parallel_size 4 --micro_batch_size 1 --max_length 8192\n"
)


def test_a_performance_script() -> None:
    assert read_script(READER, RECIPE).values("stated") == {
        "batch.global_batch_size": 4096,
        "batch.micro_batch_size": 1,
        "cluster.gpus_per_node": 8,
        "cluster.world_size": 256,
        "parallelism.expert_parallel_size": 32,
        "parallelism.pipeline_parallel_size": 8,
        "parallelism.tensor_parallel_size": 1,
    }


def test_megatron_of_swift_is_launched_by_its_environment() -> None:
    assert read_script(READER, SWIFT).values("stated") == {
        "batch.micro_batch_size": 1,
        "batch.sequence_length": 8192,
        "model.name_of_model": "Qwen-mcore",
        "parallelism.tensor_parallel_size": 4,
    }
    leaves = read_script(LAUNCHER, SWIFT)
    assert leaves.value("cluster.nodes") == 2
    assert leaves.value("cluster.gpus_per_node") == 8


def test_a_variable_may_hold_more() -> None:
    leaves = read_script(READER, RECIPE.replace("\n", " $MORE\n"))
    assert leaves.note("batch.sequence_length") == "may be given in ${MORE}"


@pytest.mark.parametrize(
    ("text", "format_id"),
    [
        (
            "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --num-layers 4\n",
            "megatron-cli",
        ),
        (
            "python convert.py --tensor_model_parallel_size 2 --micro_batch_size 1\n",
            None,
        ),
        ("python train.py --micro_batch_size 1\n", "program-arguments"),
        ("python train.py --seq_length 1024\n", "python-launch"),
        ("python tools/fit.py --micro_batch_size 1\n", None),
        ("swift sft --model m --max_length 8\n", None),
    ],
)
def test_others_keep_theirs(text: str, format_id: str | None) -> None:
    assert format_of(text) == format_id


def test_short_names_of_the_performance_scripts() -> None:
    leaves = read_script(
        READER,
        "python3 scripts/performance/setup_experiment.py --gpu gb200 -ng 64 -gn 4 "
        "-m llama -mr llama3_70b -tp 2 -pp 4 -cp 1 -gb 128 -mb 1 -sl 8192\n",
    )
    assert leaves.values("stated") == {
        "batch.global_batch_size": 128,
        "batch.micro_batch_size": 1,
        "batch.sequence_length": 8192,
        "cluster.gpus_per_node": 4,
        "cluster.world_size": 64,
        "parallelism.context_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 4,
        "parallelism.tensor_parallel_size": 2,
    }


def test_a_performance_script_of_which_only_the_job_knows_the_sizes() -> None:
    leaves = read_script(
        READER,
        "set -u\npython3 scripts/performance/setup_experiment.py --num_gpus $TOTAL "
        "--gpus_per_node 8 --model_recipe_name llama3_70b --profile_step=$STEP\n",
    )
    assert leaves.values("stated") == {"cluster.gpus_per_node": 8}
    assert leaves.note("cluster.world_size").startswith("${TOTAL} is known only")
    assert leaves.status("batch.global_batch_size") is None
