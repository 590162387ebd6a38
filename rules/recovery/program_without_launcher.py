"""A program that is started as one process on a machine of several GPUs.

Why it hurts: these programs train with one process for each GPU, and leave it to their
launcher to start them. As one process they use one GPU, shard nothing, and run out of
memory or take as many times as long as there are GPUs.

What passes: the launcher of the framework, or torchrun.

Where it does not apply: one GPU; programs that srun or
mpirun starts once for each GPU; programs of Lightning, Ray and others that start their
processes themselves.

Source: mosaicml/llm-foundry scripts/train/README.md (composer train/train.py) and
issues 54, 544; pytorch/torchtitan run_train.sh.

Bad::

    python train.py 7b_dolly_sft.yaml

Good::

    composer train.py 7b_dolly_sft.yaml
"""

from speccheck.validator.evidence.launch import Launches
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="COMM-052",
    confidence="advisory",
    frameworks=("llm-foundry", "nanotron", "torchtitan"),
)
def program_without_launcher(cluster: Cluster, account: Launches) -> Verdicts:
    """Judge who starts the program, where a node has several GPUs."""
    gpus = cluster.gpus_per_node
    if len(account.launches) != 1:
        return
    (launch,) = account.launches
    at = [launch.launcher, gpus]
    if launch.spreader.is_known:
        return
    if launch.launcher.value != "python":
        yield passed(at=at)
        return
    if gpus.need() <= 1:
        return
    name = launch.program[0] if launch.program else "the program"
    yield fail(
        f"python starts {name} as one process, on a node with {gpus.need()} GPUs",
        at=at,
        measured=1,
        required=gpus.need(),
        cost="one GPU works, and nothing is sharded",
        remedy=f"Start it with torchrun --nproc_per_node={gpus.need()}, or with the "
        "launcher of its framework (composer for LLM Foundry).",
    )
