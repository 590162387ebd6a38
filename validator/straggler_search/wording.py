"""A judgement in words, for reports and findings alike."""

from speccheck.validator.straggler_search.judgement import JudgedSets, Limits
from speccheck.validator.straggler_search.measured_sets import Comparable

_BINARY = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_GIGA = 1e9
_SMALL_RATE = 0.1 * _GIGA


def rate_words(bytes_per_second: float | None) -> str:
    """A rate in GB/s (10^9), with as many digits as tell slow links apart."""
    if bytes_per_second is None:
        return "-"
    digits = 4 if bytes_per_second < _SMALL_RATE else 1
    return f"{bytes_per_second / _GIGA:.{digits}f}"


def size_words(size: int) -> str:
    """A message size: `1 GiB`, `5,000 B`."""
    for unit, factor in _BINARY:
        if size >= factor and size % factor == 0:
            return f"{size // factor:,} {unit}"
    return f"{size:,} B"


def set_words(sets: Comparable) -> str:
    """What was measured: `all_reduce of 1 GiB over 2 nodes (16 ranks)`."""
    found = sets.conditions
    nodes = "1 node" if found.hosts == 1 else f"{found.hosts:,} nodes"
    ranks = f" ({found.ranks:,} ranks)" if found.ranks else ""
    return f"{found.collective} of {size_words(sets.size_bytes)} over {nodes}{ranks}"


def condition_words(sets: Comparable) -> str:
    """The rest of the conditions: `float32, out_of_place, nccl, by nccl-tests`."""
    found = sets.conditions
    parts = [found.data_type, found.placement, found.algorithm, found.backend]
    told = [one for one in parts if one]
    if found.tool:
        told.append(f"by {found.tool}")
    return ", ".join(told)


def undecided_words(one: JudgedSets, limits: Limits) -> str:
    """Why sets cannot be judged by their peers."""
    sets, size = len(one.sets.trials), one.sets.size_bytes
    if one.state == "split" and one.peers is not None:
        return (
            f"more than {limits.split_share:.0%} of {sets:,} sets are above "
            f"{rate_words(one.peers.most)} GB/s, where the median is "
            f"{rate_words(one.peers.median)}: either most nodes are slow, or some sets "
            "have shorter ways, as within a rack; measure in smaller sets"
        )
    if one.state == "noisy" and one.peers is not None:
        noise = limits.max_deviations * one.peers.deviation / one.peers.median
        return (
            f"{sets:,} sets spread too far: {limits.max_deviations:g} MAD are "
            f"{noise:.0%} of the median, and a slow node would hide in that; measure "
            "larger messages, longer, on an idle fabric"
        )
    if size < limits.smallest_message:
        return (
            f"messages of {size_words(size)} tell of latency; bandwidth is compared "
            f"from {size_words(limits.smallest_message)} on"
        )
    return (
        f"{sets:,} of such sets, of which some may not have ended; peers are judged "
        f"from {limits.fewest_sets} sets and as many nodes on"
    )
