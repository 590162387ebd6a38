"""A node that measures less than all others.

Why it hurts: a GPU that is above every floor and below all others is the straggler of
each step: ten thousand GPUs wait for it, and it is often the next to fail.

What passes: rates of copies, products and collectives on the node near the median of
the fleet: within six standard deviations, by the median absolute deviation, or within
the share that measurements swing. Of 80,000 healthy values that names 0.00008.

Where it does not apply: fleets of few nodes; nodes that measured nothing. Only what was
measured alike is compared: the same copy, size, type and number of ranks.

Source: microsoft/superbenchmark and NVIDIA/Megatron-LM pull request 4662 (outliers by
median and MAD).

Bad::

    host_to_device    52.1 GB/s on 511 GPUs, 41.0 GB/s on one

Good::

    host_to_device    51.8 to 52.4 GB/s on 512 GPUs
"""

from speccheck.validator.comparison.outliers import Noise, outliers, rates_of
from speccheck.validator.comparison.verdicts import (
    OutlierAdvice,
    outlier_verdicts,
)
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Numbers, Verdicts, rule


class Limits(Numbers):
    """How far below the median a rate may lie."""

    deviations: float
    scale: float
    fewest_nodes: int
    fewest_values: int
    group_share: float
    below_median: float


@rule(clause="HW-167", confidence="calibrated")
def slower_than_the_fleet(fleet: Fleet, limit: Limits) -> Verdicts:
    """Compare each rate with its median over all nodes."""
    noise = Noise(*(getattr(limit, name) for name in Noise._fields))
    advice = OutlierAdvice(
        remedy="Measure {nodes} again (speccheck preflight --tier 2); drain it if it "
        "stays slow, and compare links, clocks and temperatures with a peer.",
        cost="every step waits for the slowest GPU of all",
        action="ISOLATE",
        group_share=limit.group_share,
    )
    result = outliers(fleet, rates_of(fleet, limit.below_median), noise)
    yield from outlier_verdicts(result, advice)
