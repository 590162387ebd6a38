"""An idle GPU that draws more power than its peers, or one that is hotter.

Why it hurts: it may not. A stray program, a broken sensor or a blocked cooler shows
first as a difference from the other GPUs of the node.

What passes: on an idle node, power near the median; temperatures near each other where
the GPUs draw about the same power.

Where it does not apply: nodes with one GPU or with different models; for power, GPUs at
work; for temperature, GPUs under different load.

Source: an engineering default, by the median absolute deviation.

Bad::

    nvidia-smi --query-gpu=power.draw --format=csv   # 70, 71, 69, 160 W at rest

Good::

    nvidia-smi --query-gpu=power.draw --format=csv   # 70, 71, 69, 72 W at rest
"""

from speccheck.rules.hardware._leaves import median
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Spread(Numbers):
    """How far apart the GPUs of a node may be."""

    power_over: float
    deviations: float
    same_power: float
    spread_max: float


@rule(clause="HW-032")
def unlike_its_peers(gpu: Gpu, gpus: Gpus, limit: Spread) -> Verdicts:
    """Judge power at rest, and temperature at equal power."""
    each = gpus.each()
    if not each[2:] or len({gpu.name.need() for gpu in each}) != 1:
        return
    draws = [gpu.power_watts.need() for gpu in each]
    is_idle = not any(gpu.compute_processes.need() for gpu in each)
    mine, middle = gpu.power_watts.need(), median(draws)
    excess = mine - middle
    if (
        is_idle
        and excess > limit.power_over
        and excess > limit.deviations * median([abs(draw - middle) for draw in draws])
    ):
        yield fail(
            f"draws {mine:.0f} W at rest, {excess:.0f} W above the median of the node",
            at=gpu.power_watts,
            measured=mine,
            required=middle + limit.power_over,
            action="MONITOR",
        )
        return
    if max(draws) - min(draws) > middle * limit.same_power:
        if is_idle:
            yield passed(at=gpu.power_watts, measured=mine)
        return
    coolest = min(gpu.temperature_celsius.need() for gpu in each)
    over = gpu.temperature_celsius.need() - coolest
    if over > limit.spread_max:
        yield fail(
            f"{over} degrees hotter than the coolest GPU of the node at the same "
            f"power; at most {limit.spread_max:.0f} may be",
            at=gpu.temperature_celsius,
            measured=over,
            required=limit.spread_max,
            action="MONITOR",
        )
        return
    yield passed(at=[gpu.power_watts, gpu.temperature_celsius])
