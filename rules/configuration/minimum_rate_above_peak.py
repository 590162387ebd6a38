"""A minimum learning rate above the peak.

Why it hurts: the decay then raises the rate instead of lowering it.

What passes: minimum <= peak.

Where it does not apply: either rate is not stated. Megatron-LM refuses it:
schedule_refused_by_megatron tells that.

Source: arithmetic.

Bad::

    optimizer: {learning_rate: 3.0e-5, minimum_learning_rate: 3.0e-4}

Good::

    optimizer: {learning_rate: 3.0e-4, minimum_learning_rate: 3.0e-5}
"""

from speccheck.validator.evidence.plan import Optimizer, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-011", about=("optimizer.minimum_learning_rate",))
def minimum_rate_above_peak(optimizer: Optimizer, run: Run) -> Verdicts:
    """Judge the two rates."""
    low, peak = optimizer.minimum_learning_rate, optimizer.learning_rate
    if run.framework.value == "megatron-lm" or not low.is_known or not peak.is_known:
        return
    at = [low, peak]
    if low.need() <= peak.need():
        yield passed(at=at, measured=low.need(), required=peak.need())
        return
    yield fail(
        f"the minimum learning rate {low.need():g} is above the peak {peak.need():g}",
        at=at,
        measured=low.need(),
        required=peak.need(),
        cost="the decay raises the rate instead of lowering it",
        remedy="Set the minimum to a tenth of the peak or less.",
    )
