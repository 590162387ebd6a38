"""A single answer for each prompt where answers are compared.

Why it hurts: GRPO takes the reward of an answer relative to the mean of its group. In a
group of one that is always zero: TRL refuses it, and nothing could be learned.

What passes: two answers or more.

Where it does not apply: trainers that compare no groups.

Source: TRL trl/trainer/grpo_config.py (GRPOConfig.__post_init__); axolotl
utils/schemas/validation.py.

Bad::

    num_generations: 1

Good::

    num_generations: 8
"""

from speccheck.validator.evidence.plan import Run
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FEWEST = 2


@rule(
    clause="CONF-010",
    frameworks=("transformers", "axolotl"),
    about=("run.generations_per_prompt",),
)
def group_of_one_answer(run: Run) -> Verdicts:
    """Judge the answers for each prompt."""
    group = run.generations_per_prompt
    if not group.is_known:
        return
    if group.need() >= _FEWEST:
        yield passed(at=group, measured=group.need(), required=_FEWEST)
        return
    yield fail(
        f"{group.need()} answer for each prompt gives no group to compare; GRPO needs "
        f"at least {_FEWEST}",
        at=group,
        measured=group.need(),
        required=_FEWEST,
        cost="the trainer refuses its configuration at start-up",
        remedy=f"Set num_generations to {_FEWEST} or more, 8 as a start.",
    )
