"""A GPU that copies slower than the other GPUs of its node.

Why it hurts: it holds every floor and is still the straggler of each step. A part that
was well and begins to fail shows first as a difference from its peers.

What passes: GPUs near the median of the node. Of pairs, the median of what a GPU sends
counts, and of what it receives: so a layout in which some pairs are nearer than others
does not matter.

Where it does not apply: fewer than four GPUs, copies both ways or all at once, and
copies by kernels. Where more GPUs are slower than the share of the clause, the layout
of the node may be why: half of them reach the host through the other processor.

Source: the median absolute deviation, as oracle-quickstart/oci-hpc and Megatron-LM
find outliers.

Bad::

    host_to_device_memcpy_ce   # 55.4  55.4  55.3  50.1 GB/s

Good::

    host_to_device_memcpy_ce   # 55.4  55.4  55.3  55.2 GB/s
"""

from collections.abc import Iterator
from statistics import median

from speccheck.rules.hardware._copies import (
    LOCAL,
    PEER,
    WAYS,
    Copy,
    copies_of,
    direction_of,
    is_by_copy_engine,
    is_one_way,
    unseen,
)
from speccheck.validator.evidence.measurement.device import CopyTest
from speccheck.validator.models.bus_bandwidth import GIGA
from speccheck.validator.models.peers import peers_of
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Distance(Numbers):
    """How far below its peers a GPU may be, and of how many that is said."""

    deviations: float
    below_median: float
    group_share: float


@rule(clause="HW-152", confidence="calibrated")
def copies_slower_than_peers(test: CopyTest, limit: Distance) -> Verdicts:
    """Compare the GPUs of a test with each other."""
    direction = direction_of(test)
    if not (is_one_way(test) if direction == LOCAL else is_by_copy_engine(test)):
        return
    copies = copies_of(test)
    has_slow = is_compared = False
    for does, rates in _by_gpu(copies, direction):
        few = limit.group_share * len(rates)
        if few < 1:
            continue
        usual = peers_of(list(rates.values()), limit.deviations, limit.below_median)
        slow = [gpu for gpu, rate in rates.items() if rate < usual.least]
        if len(slow) > few:
            continue
        is_compared = True
        for gpu in slow:
            has_slow = True
            yield fail(
                f"GPU {gpu} {does} {rates[gpu] / GIGA:,.1f} GB/s, "
                f"{1 - usual.share(rates[gpu]):.0%} below the median of its peers, "
                f"{usual.median / GIGA:,.1f} GB/s; it should be above "
                f"{usual.least / GIGA:,.1f} GB/s",
                at=test.bytes_per_second,
                measured=rates[gpu] / GIGA,
                required=usual.least / GIGA,
                action="MONITOR",
            )
    if is_compared and (missing := unseen(copies, test)):
        raise missing
    if is_compared and not has_slow:
        yield passed(at=test.bytes_per_second)


def _by_gpu(
    copies: list[Copy], direction: str
) -> Iterator[tuple[str, dict[int, float]]]:
    """Yield what is compared, and the rate of each GPU."""
    if direction != PEER:
        yield f"copies {WAYS[direction]}", _medians(copies, of_sources=False)
        return
    yield "sends", _medians(copies, of_sources=True)
    yield "receives", _medians(copies, of_sources=False)


def _medians(copies: list[Copy], *, of_sources: bool) -> dict[int, float]:
    result: dict[int, list[float]] = {}
    for copy_ in copies:
        gpu = copy_.source if of_sources or copy_.target is None else copy_.target
        if gpu is not None and copy_.bytes_per_second is not None:
            result.setdefault(gpu, []).append(copy_.bytes_per_second)
    return {gpu: median(rates) for gpu, rates in sorted(result.items())}
