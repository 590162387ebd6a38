"""Attention heads that do not divide over the ranks of Ulysses sequence parallelism.

Why it hurts: between the parts of the sequence Ulysses hands whole heads to each rank.
A remainder has no layout: the framework refuses the model after it has been loaded.

What passes: heads that are a multiple of the ranks, and key-value heads that divide
them or are divided by them.

Where it does not apply: no Ulysses groups; models whose heads no file states; DeepSpeed
used directly, which takes uneven heads since 0.15.

Source: verl verl/models/transformers/monkey_patch.py (apply_monkey_patch); DeepSpeed
runtime/sequence_parallel/ulysses_sp.py, which accelerate and transformers use.

Bad::

    # 28 heads
    actor_rollout_ref.actor.ulysses_sequence_parallel_size=8

Good::

    # 28 heads
    actor_rollout_ref.actor.ulysses_sequence_parallel_size=4
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="MEM-005",
    frameworks=("verl", "transformers"),
    about=("parallelism.ulysses_size",),
)
def heads_not_divisible_by_ulysses(model: Model, parallelism: Parallelism) -> Verdicts:
    """Judge heads % ranks, and the key-value heads in both directions."""
    group, groups = parallelism.ulysses_size, model.key_value_heads
    if group.or_else(1) <= 1:
        return
    ranks, heads = group.need(), model.attention_heads.need()
    shared = groups.or_else(heads)
    at = [model.attention_heads, groups, group]
    if heads % ranks == 0 and (shared % ranks == 0 or ranks % max(shared, 1) == 0):
        yield passed(at=at, measured=heads, required=ranks)
        return
    if heads % ranks:
        text = f"{heads} attention heads do not divide over {ranks} Ulysses ranks: "
        text += f"{heads} / {ranks} leaves {heads % ranks}"
    else:
        text = f"{shared} key-value heads and {ranks} Ulysses ranks do not divide "
        text += "each other"
    yield fail(
        text,
        at=at,
        measured=heads,
        required=ranks,
        cost="the framework stops after the model has been loaded",
        remedy=f"Use a number of ranks that divides {heads}.",
    )
