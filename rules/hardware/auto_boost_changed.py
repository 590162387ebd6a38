"""A GPU whose automatic boost of clocks is not as its board has it.

Why it hurts: a board that may not boost is slower than its peers, one that may although
its makers switched it off runs hotter and less evenly; both stay set from an earlier
user of the node.

What passes: the setting of the GPU is the default of its board.

Where it does not apply: boards that have no such setting: all since Pascal.

Source: nvml.h, nvmlDeviceGetAutoBoostedClocksEnabled.

Bad::

    nvidia-smi -q -d CLOCK   # Auto Boost: Off, Auto Boost Default: On

Good::

    nvidia-smi -q -d CLOCK   # Auto Boost: On, Auto Boost Default: On
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-142")
def auto_boost_changed(gpu: Gpu) -> Verdicts:
    """Compare the setting with its default."""
    now, default = gpu.auto_boost_is_on, gpu.auto_boost_is_on_by_default
    if "not_supported" in {now.status, default.status}:
        return
    if now.need() == default.need():
        yield passed(at=[now, default], measured=_word(is_on=now.need()))
        return
    text, wanted = _word(is_on=now.need()), _word(is_on=default.need())
    yield fail(
        f"automatic boost is {text}; the default of the board is {wanted}",
        at=[now, default],
        measured=text,
        required=wanted,
        remedy=f"nvidia-smi -i N --auto-boost-default={int(default.need())}",
        action="MONITOR",
    )


def _word(*, is_on: bool) -> str:
    return "on" if is_on else "off"
