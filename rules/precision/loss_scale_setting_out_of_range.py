"""A loss-scale window, minimum, hysteresis or scale that cannot work.

Why it hurts: the dynamic scaler counts steps modulo the window and divides down to the
minimum. Zero or less stops the run in the validator or at the first overflow.

What passes: a window and a hysteresis of at least 1, a minimum above 0, a scale and a
power of 0 or more.

Where it does not apply: formats other than fp16; settings that are not stated.

Source: DeepSpeed runtime/precision_config.py (validators of DeepSpeedFP16Config) and
runtime/fp16/loss_scaler.py.

Bad::

    "fp16": {"enabled": true, "loss_scale_window": 0}

Good::

    "fp16": {"enabled": true, "loss_scale_window": 1000}
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Precision
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Scaler(Numbers):
    """The usual settings of the dynamic scaler."""

    initial_power: int
    window: int
    hysteresis: int


@rule(
    clause="PREC-004",
    about=(
        "precision.loss_scale",
        "precision.minimum_loss_scale",
        "precision.loss_scale_window",
        "precision.hysteresis",
        "precision.initial_scale_power",
    ),
)
def loss_scale_setting_out_of_range(
    precision: Precision, stated: StatedKeys, usual: Scaler
) -> Verdicts:
    """Judge each stated setting of the scaler."""
    window, minimum = precision.loss_scale_window, precision.minimum_loss_scale
    power, hysteresis = precision.initial_scale_power, precision.hysteresis
    ranges = (
        ("the loss-scale window", window, 1, usual.window, "{:,} steps"),
        ("the hysteresis", hysteresis, 1, usual.hysteresis, "{}"),
        ("the initial scale power", power, 0, usual.initial_power, "{}"),
        ("the loss scale", precision.loss_scale, 0, 0, "{}, which means dynamic"),
    )
    low = [row for row in ranges if _is_below(row[1], row[2])]
    for name, value, least, good, advice in low:
        yield fail(
            f"{name} is {value.value:g}; at least {least} is needed",
            at=value,
            measured=value.value,
            required=least,
            cost=_COST,
            remedy=f"Set it to {advice.format(good)}.",
            fix=rewritten(value, good, stated),
        )
    if minimum.is_known and minimum.need() <= 0:
        yield fail(
            f"the minimum loss scale is {minimum.need():g}; more than 0 is needed",
            at=minimum,
            measured=minimum.need(),
            required=1,
            cost=_COST,
            remedy="Set it to 1.",
            fix=rewritten(minimum, 1, stated),
        )
    elif not low:
        known = [row[1] for row in ranges if row[1].is_known]
        if minimum.is_known or known:
            yield passed(at=[*known, minimum])


_COST = "the validator stops the run, or the scaler does at the first overflow"


def _is_below(value: Value[int] | Value[float], least: int) -> bool:
    return value.is_known and value.need() < least
