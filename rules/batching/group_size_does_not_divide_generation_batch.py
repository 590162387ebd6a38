"""GRPO groups that do not fill the generation batch.

Why it hurts: rewards are compared within a group of completions of one prompt. TRL
refuses a generation batch that does not hold whole groups.

What passes: per-device batch x GPUs x accumulation steps that is a multiple of
num_generations. A stated generation_batch_size or steps_per_generation takes the place
of the product or of the accumulation steps.

Where it does not apply: trainers that do not generate groups.

Source: TRL trl/trainer/grpo_config.py (GRPOConfig.__post_init__).

Bad::

    # 8 GPUs: 4 x 8 x 2 = 64 completions
    num_generations: 12
    per_device_train_batch_size: 4
    gradient_accumulation_steps: 2

Good::

    num_generations: 16
"""

from speccheck.validator.evidence.plan import Batch, Cluster, Run
from speccheck.validator.evidence.stated_keys import StatedKey, StatedKeys
from speccheck.validator.evidence.value import Place
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="BATCH-001", about=("run.generations_per_prompt",))
def group_size_does_not_divide_generation_batch(
    batch: Batch, cluster: Cluster, run: Run, stated: StatedKeys
) -> Verdicts:
    """Judge the completions of one generation against the group size."""
    group = run.generations_per_prompt
    if not group.is_known:
        return
    size = group.need()
    completions, product, places = _completions(batch, cluster, stated)
    at = [*group.places, *places]
    if size > 0 and completions % size == 0:
        yield passed(at=at, measured=completions, required=size)
        return
    yield fail(
        f"{product} completions are not a multiple of {size} generations for each "
        "prompt",
        at=at,
        measured=completions,
        required=size,
        cost="the trainer refuses its configuration at start-up",
        remedy=f"Choose num_generations that divides {completions:,}, or another "
        "batch.",
    )


def _completions(
    batch: Batch, cluster: Cluster, stated: StatedKeys
) -> tuple[int, str, list[Place]]:
    """Return the completions of one generation, with the arithmetic and its places."""
    whole = _stated(stated, "generation_batch_size")
    if whole is not None and isinstance(whole.value, int):
        return whole.value, f"generation batch {whole.value:,}", [whole.place]
    micro, world_size = batch.micro_batch_size.need(), cluster.world_size.need()
    places = [*batch.micro_batch_size.places]
    repeats = _stated(stated, "steps_per_generation")
    if repeats is not None and isinstance(repeats.value, int):
        steps = repeats.value
        places.append(repeats.place)
    else:
        steps = batch.gradient_accumulation_steps.need()
        places.extend(batch.gradient_accumulation_steps.places)
    places.extend(cluster.world_size.places)
    completions = micro * world_size * steps
    product = f"{micro} x {world_size:,} GPUs x {steps} steps = {completions:,}"
    return completions, product, places


def _stated(stated: StatedKeys, name: str) -> StatedKey | None:
    """Return the top-level key of that name in the trainer's file."""
    for file in stated.files:
        for key in file.keys:
            if key.path == (name,) and key.value is not None:
                return key
    return None
