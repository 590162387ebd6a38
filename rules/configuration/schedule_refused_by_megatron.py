"""A learning-rate schedule that Megatron-LM refuses.

Why it hurts: the scheduler asserts that the warm-up is shorter than the decay and that
the minimum rate is not above the peak. Both stop the run after the model is built.

What passes: warm-up < decay steps, and minimum <= peak.

Where it does not apply: other frameworks.

Source: NVIDIA/Megatron-LM megatron/core/optimizer_param_scheduler.py
(OptimizerParamScheduler.__init__).

Bad::

    --train-iters 1000 --lr-warmup-iters 2000

Good::

    --train-iters 100000 --lr-warmup-iters 2000
"""

from speccheck.validator.evidence.plan import Optimizer, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", frameworks=("megatron-lm",))
def schedule_refused_by_megatron(optimizer: Optimizer, run: Run) -> Verdicts:
    """Judge the two assertions of the scheduler."""
    warmup = optimizer.warmup_steps
    decay = optimizer.decay_steps if optimizer.decay_steps.is_known else run.steps
    if warmup.is_known and decay.is_known and decay.need() > 0:
        if warmup.need() < decay.need():
            yield passed(at=[warmup, decay])
        else:
            yield fail(
                f"the warm-up takes {warmup.need():,} steps, the decay ends after "
                f"{decay.need():,}: the scheduler asserts that the first is smaller",
                at=[warmup, decay],
                measured=warmup.need(),
                required=decay.need(),
                cost="Megatron-LM stops with an assertion after the model is built",
                remedy="Shorten the warm-up, or train for longer.",
            )
    low, peak = optimizer.minimum_learning_rate, optimizer.learning_rate
    if low.is_known and peak.is_known:
        if low.need() <= peak.need():
            yield passed(at=[low, peak])
        else:
            yield fail(
                f"the minimum learning rate {low.need():g} is above the peak "
                f"{peak.need():g}",
                at=[low, peak],
                measured=low.need(),
                required=peak.need(),
                cost="Megatron-LM stops with an assertion after the model is built",
                remedy="Set --min-lr to a tenth of --lr or less.",
            )
