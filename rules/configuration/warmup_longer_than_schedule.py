"""A warm-up that is longer than the schedule.

Why it hurts: the run ends before the peak learning rate is reached, and the decay never
happens. Frameworks log a warning at most.

What passes: a warm-up below the number of steps of the schedule.

Where it does not apply: a share instead of steps; debug runs and benchmarks of under
200 steps. Megatron-LM refuses it: schedule_refused_by_megatron tells that.

Source: deepspeedai/DeepSpeed runtime/lr_schedules.py (WarmupDecayLR);
huggingface/transformers issue 29348.

Bad::

    "warmup_num_steps": 20000, "total_num_steps": 15000

Good::

    "warmup_num_steps": 500, "total_num_steps": 15000
"""

from speccheck.validator.evidence.plan import Optimizer, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-011", about=("optimizer.warmup_steps",))
def warmup_longer_than_schedule(optimizer: Optimizer, run: Run) -> Verdicts:
    """Judge warm-up steps < steps of the schedule."""
    warmup = optimizer.warmup_steps
    decay = optimizer.decay_steps
    total = decay if decay.is_known else run.steps
    if run.framework.value == "megatron-lm" or run.is_trial:
        return
    if not warmup.is_known or not total.is_known or total.need() < 1:
        return
    first, last = warmup.need(), total.need()
    at = [warmup, total]
    if first < last:
        yield passed(at=at, measured=first, required=last)
        return
    yield fail(
        f"the warm-up takes {first:,} of {last:,} steps: the peak learning rate is "
        f"never reached",
        at=at,
        measured=first,
        required=last,
        cost="the whole run trains below its learning rate, and nothing decays",
        remedy="Keep the warm-up to a few hundredths of the steps.",
    )
