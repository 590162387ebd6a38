"""A node whose readings at rest are unlike those of all others.

Why it hurts: it may not yet. A blocked cooler, a program that was left behind, a link
that repeats its packets or memory that somebody holds shows first as a difference from
all other nodes, below every fixed limit.

What passes: temperatures, power, memory that is held, PCIe replays and memory of the
host near the median of the fleet, within what is noise: six standard deviations, by the
median absolute deviation, and a floor for each reading. Of 80,000 healthy values that
names 0.00008.

Where it does not apply: fleets of few nodes, where a few decide what is usual.

Source: microsoft/superbenchmark and NVIDIA/Megatron-LM pull request 4662 (outliers by
median and MAD); numbers are arithmetic and engineering defaults.

Bad::

    nvidia-smi --query-gpu=temperature.gpu   # 28 to 39 on 63 nodes, 61 on one

Good::

    nvidia-smi --query-gpu=temperature.gpu   # 28 to 39 on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes, differences
from speccheck.validator.comparison.outliers import MIB, Noise, OutlierReading, outliers
from speccheck.validator.comparison.verdicts import (
    OutlierAdvice,
    outlier_verdicts,
)
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Numbers, Verdicts, rule

_AVAILABLE = "host.memory_available_bytes"


class Limits(Numbers):
    """How far a reading may lie from the median."""

    deviations: float
    scale: float
    fewest_nodes: int
    fewest_values: int
    group_share: float
    temperature_over: float
    power_over: float
    memory_over: float
    replays_over: float
    available_below: float


def _readings(limit: Limits) -> tuple[OutlierReading, ...]:
    heat = limit.temperature_over
    return (
        OutlierReading("gpus.temperature_celsius", "temperature", "C", floor=heat),
        OutlierReading(
            "gpus.memory_temperature_celsius", "memory temperature", "C", floor=heat
        ),
        OutlierReading("gpus.power_watts", "power", "W", floor=limit.power_over),
        OutlierReading(
            "gpus.memory_used_bytes",
            "memory held",
            "MiB",
            per=MIB,
            floor=limit.memory_over * MIB,
        ),
        OutlierReading(
            "gpus.pcie_replays", "PCIe replays", "", floor=limit.replays_over
        ),
        OutlierReading(
            _AVAILABLE,
            "available memory of the host",
            "MiB",
            per=MIB,
            share=limit.available_below,
            is_high_worse=False,
            part="",
        ),
    )


@rule(clause="HW-166", confidence="calibrated")
def readings_unlike_the_fleet(fleet: Fleet, limit: Limits) -> Verdicts:
    """Compare each reading with its median over all nodes."""
    noise = Noise(*(getattr(limit, name) for name in Noise._fields))
    advice = OutlierAdvice(
        remedy="Look at {nodes}: processes that hold the GPU, fans, cables and slots; "
        "run the pre-flight again when it is idle.",
        cost="what is odd at rest is often the first to fail under load",
        action="MONITOR",
        group_share=limit.group_share,
    )
    result = outliers(fleet, _readings(limit), noise)
    yield from outlier_verdicts(
        result.without(_AVAILABLE, _of_other_size(fleet, limit)), advice
    )


def _of_other_size(fleet: Fleet, limit: Limits) -> set[str]:
    """Return the nodes with another memory altogether, which is another finding."""
    total = ComparedNodes(
        "host.memory_total_bytes", "memory", share=limit.available_below
    )
    result = differences(fleet, [total])
    return {host for odd_nodes in result.odd for host in odd_nodes.hosts}
