"""Best-model saving whose save steps are no multiple of the evaluation steps.

Why it hurts: the best model can only be picked among steps that were both evaluated and
saved. The trainer refuses any other combination at start-up.

What passes: save_steps % eval_steps == 0.

Where it does not apply: load_best_model_at_end is off, or one of the two is not counted
in whole steps.

Source: huggingface/transformers training_args.py (TrainingArguments.__post_init__).

Bad::

    load_best_model_at_end: true
    eval_steps: 200
    save_steps: 500

Good::

    load_best_model_at_end: true
    eval_steps: 250
    save_steps: 500
"""

from speccheck.validator.evidence.plan import Checkpoint
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", about=("checkpoint.evaluation_interval_steps",))
def best_model_steps_misaligned(checkpoint: Checkpoint) -> Verdicts:
    """Judge save steps % evaluation steps."""
    best = checkpoint.saves_best_model
    save, evaluate = checkpoint.interval_steps, checkpoint.evaluation_interval_steps
    in_steps = checkpoint.interval_unit.or_else("steps") == "steps"
    if best.value is not True or not in_steps:
        return
    if not save.is_known or not evaluate.is_known or evaluate.need() < 1:
        return
    rest = save.need() % evaluate.need()
    at = [save, evaluate, best]
    if rest == 0:
        yield passed(at=at)
        return
    yield fail(
        f"save_steps {save.need():,} is no multiple of eval_steps "
        f"{evaluate.need():,} (remainder {rest:,}), as load_best_model_at_end demands",
        at=at,
        measured=save.need(),
        required=f"a multiple of {evaluate.need():,}",
        cost="the trainer stops at start-up",
        remedy=f"Set save_steps to {save.need() - rest or evaluate.need():,} or "
        f"another multiple of {evaluate.need():,}.",
    )
