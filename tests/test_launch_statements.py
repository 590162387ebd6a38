"""What the count of launch statements searches for, and what it makes of plans."""

from pathlib import Path

import pytest

from launch_statements import counted, searched


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("#SBATCH --nodes=4\n", {"cluster.nodes": {4}}),
        ("#SBATCH -N 2 # two\n", {"cluster.nodes": {2}}),
        ("# torchrun --nnodes 4\necho --nnodes 4\n", {}),
        ("N=8\ntorchrun --nproc_per_node $N a.py\n", {"cluster.gpus_per_node": {8}}),
        ("torchrun --nnodes ${N:-2} a.py\n", {"cluster.nodes": {2}}),
        ("N=1\nN=2\ntorchrun --nnodes $N a.py\n", {}),
        ("run --micro-batch-size $((A * 2))\n", {}),
        (
            "run model.context_parallel_size=4 actor.rollout.context_parallel_size=2\n",
            {"parallelism.context_parallel_size": {4}},
        ),
        ("export DGXNNODES=64\n", {"cluster.nodes": {64}}),
    ],
)
def test_a_plain_search(text: str, statements: dict[str, set[int]]) -> None:
    assert searched(text) == statements


def test_a_statement_is_looked_up_in_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(
        "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --num-layers 4 "
        "--tensor-model-parallel-size 4 --micro-batch-size 1 --seq-length $1\n"
    )
    is_recognised, statements = counted(path)
    assert is_recognised
    assert {item.leaf: item.outcome for item in statements} == {
        "cluster.nodes": "right",
        "cluster.gpus_per_node": "right",
        "parallelism.tensor_parallel_size": "right",
        "batch.micro_batch_size": "right",
    }
