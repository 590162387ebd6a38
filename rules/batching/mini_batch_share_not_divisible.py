"""A rank's share of verl's mini-batch that micro-batches do not fill.

Why it hurts: verl cuts the answers of a mini-batch over the data-parallel ranks, and
each share into micro-batches. Its FSDP workers assert that the second cut comes out
even, after the model has been loaded on every GPU.

What passes: a share, `ppo_mini_batch_size` x `rollout.n` / ranks rounded down, of one
or more whole micro-batches.

Where it does not apply: `use_dynamic_bsz`, where tokens and not samples are counted;
the Megatron back end; other frameworks.

Source: verl verl/workers/fsdp_workers.py (ActorRolloutRefWorker, "normalize config").

Bad::

    trainer.nnodes=4 trainer.n_gpus_per_node=8 actor_rollout_ref.rollout.n=5
    actor_rollout_ref.actor.ppo_mini_batch_size=64    # 64 x 5 / 32 ranks = 10
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4

Good::

    trainer.nnodes=4 trainer.n_gpus_per_node=8 actor_rollout_ref.rollout.n=8
    actor_rollout_ref.actor.ppo_mini_batch_size=64    # 64 x 8 / 32 ranks = 16
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4
"""

from speccheck.validator.evidence.plan import Batch, Parallelism, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="BATCH-001", frameworks=("verl",))
def mini_batch_share_not_divisible(
    batch: Batch, parallelism: Parallelism, run: Run
) -> Verdicts:
    """Judge (answers of a mini-batch // ranks) % micro-batch."""
    if run.role.value != "rl":
        return
    if not (parallelism.engine.value or "").startswith("fsdp"):
        return
    micro = batch.micro_batch_size
    if not micro.is_known and micro.places:
        return
    answers, size = batch.global_batch_size.need(), micro.need()
    ranks = parallelism.data_parallel_size.need()
    share = answers // ranks
    at = [batch.global_batch_size, micro, parallelism.data_parallel_size]
    if share > 0 and size > 0 and share % size == 0:
        yield passed(at=at, measured=share, required=size)
        return
    yield fail(
        f"each rank's share of a mini-batch is {answers:,} answers / {ranks:,} ranks = "
        f"{share:,}, which is no multiple of micro-batch {size}",
        at=at,
        measured=share,
        required=size,
        cost="verl stops on an assertion after the model has been loaded",
        remedy="Choose ppo_mini_batch_size so that it gives each rank whole "
        f"micro-batches: {ranks * size:,} answers, or a multiple of that.",
    )
