"""A sharded configuration whose command starts one process on a node of several GPUs.

Why it hurts: python starts one process, on one GPU. There is nobody to shard with: the
whole model goes to that GPU, and the others are paid for nothing.

What passes: the launcher of the framework, one process for each GPU.

Where it does not apply: frameworks that start their own ranks; one GPU; commands that
srun or mpirun starts; nodes whose GPUs nobody states.

Source: mosaicml/llm-foundry scripts/train/README.md, issues 54 and 544; pytorch/torchtitan
run_train.sh; NVIDIA/Megatron-LM examples.

Bad::

    python train.py 7b.yaml         # fsdp_config: {sharding_strategy: FULL_SHARD}

Good::

    composer train.py 7b.yaml
"""

from speccheck.validator.evidence.launch import Launches
from speccheck.validator.evidence.plan import Cluster, Parallelism, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule

_LAUNCHERS = {
    "llm-foundry": "composer",
    "megatron-lm": "torchrun --nproc-per-node",
    "nanotron": "torchrun --nproc-per-node",
    "torchtitan": "torchrun --nproc-per-node",
}


@rule(
    clause="COMM-052",
    confidence="advisory",
    frameworks=(*_LAUNCHERS,),
    about=("cluster.gpus_per_node",),
)
def sharded_run_in_one_process(
    account: Launches, cluster: Cluster, parallelism: Parallelism, run: Run
) -> Verdicts:
    """Judge what starts the program, where states are sharded."""
    gpus, stage = cluster.gpus_per_node, parallelism.sharding_stage
    if gpus.or_else(1) <= 1 or stage.or_else(0) < 1:
        return
    if not account.launches:
        return
    by_hand = [
        launch
        for launch in account.launches
        if launch.launcher.value == "python" and not launch.spreader.is_known
    ]
    if len(by_hand) < len(account.launches):
        yield passed(at=[launch.launcher for launch in account.launches])
        return
    launch = by_hand[0]
    yield fail(
        f"python starts 1 process on a node of {gpus.need()} GPUs, and the "
        "configuration shards the model over ranks",
        at=[launch.launcher, stage, gpus],
        measured=1,
        required=gpus.need(),
        cost=f"{gpus.need() - 1} GPUs do nothing, and one holds the whole model",
        remedy=f"Start it by {_LAUNCHERS[run.framework.need()]}, one process for each "
        "GPU.",
    )
