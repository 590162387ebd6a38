"""All-gather or reduce-scatter far behind all-reduce on the same machines.

Why it hurts: sharded training spends its traffic in these two. An all-reduce that adds
up in switches, or within the nodes, hides a slow path; these two do not.

What passes: next to an all-reduce by rings, the first share of the clause; next to one
that NCCL chose freely, the second, as NVLS and trees lift all-reduce alone. Between
nodes all-reduce counts up to the ceiling of the ring, which these two cannot exceed.

Where it does not apply: no all-reduce of the same ranks was measured at the clause's
size; collectives of hosts.

Source: H200 node, all-gather 361 and all-reduce 480 GB/s (stas00/ml-engineering); two
nodes of H100, 339 and 488 (NVIDIA/cluster-readiness-engine).

Bad::

    # 8 x H200, 16 GiB: all_reduce 480 GB/s, all_gather 240 GB/s

Good::

    # 8 x H200, 16 GiB: all_reduce 480 GB/s, all_gather 361 GB/s
"""

from collections.abc import Iterator

from speccheck.rules.communication._bandwidth import series_between_gpus
from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.forecast.bandwidth import ring_bound
from speccheck.validator.forecast.collective_series import Point, Series, shown
from speccheck.validator.models.bus_bandwidth import GIGA
from speccheck.validator.rule import (
    Numbers,
    Verdict,
    Verdicts,
    fail,
    passed,
    rule,
    unknown,
)


class Ratios(Numbers):
    """The least share of all-reduce, by its algorithm, and the sizes that tell."""

    ratio_to_ring: float
    ratio_to_default: float
    min_payload: int


@rule(clause="COMM-011", confidence="calibrated")
def gather_lags_all_reduce(
    runs: CollectiveRuns, about: Conditions, limit: Ratios
) -> Verdicts:
    """Hold each to the all-reduce of the same ranks."""
    reduces = list(series_between_gpus(runs, ("all_reduce",)))
    for series in series_between_gpus(runs, ("all_gather", "reduce_scatter")):
        own = series.best(limit.min_payload)
        text_lists = list(_beside(series, reduces, limit.min_payload))
        if own is None or not text_lists:
            continue
        for algorithm, other in text_lists:
            is_ring = algorithm.casefold() == "ring"
            ratio = limit.ratio_to_ring if is_ring else limit.ratio_to_default
            yield _verdict(series, own, other, ratio, about)


def _beside(
    series: Series, reduces: list[Series], least: int
) -> Iterator[tuple[str, Point]]:
    collective_run = series.first
    for other in reduces:
        who = other.first
        is_same = (who.ranks.value, who.nodes.value, who.hosts.value) == (
            collective_run.ranks.value,
            collective_run.nodes.value,
            collective_run.hosts.value,
        )
        point = other.best(least) if is_same else None
        if point is not None:
            yield who.algorithm.value or "", point


def _verdict(
    series: Series, own: Point, other: Point, ratio: float, about: Conditions
) -> Verdict:
    at = [own.run.bus_bytes_per_second, other.run.bus_bytes_per_second]
    bound = ring_bound(own.run, about)
    whole = other.bus if bound is None else min(other.bus, bound)
    text = f"{series.title}: {shown(own)}, and all-reduce {shown(other)}"
    measured = round(own.bus / whole, 2)
    if own.bus >= ratio * whole:
        return passed(text, at=at, measured=measured, required=ratio)
    nodes = own.run.nodes.value
    if bound is None and nodes != 1:
        return unknown(
            f"{text}: {own.bus / other.bus:.2f} of it; whether that is little depends "
            "on the adapters, which are not known",
            missing=["cluster.instance_type"],
            at=at,
        )
    return fail(
        f"{text}: {own.bus / whole:.2f} of {whole / GIGA:.4g} GB/s; at least "
        f"{ratio:g} of it should be, {ratio * whole / GIGA:.4g} GB/s",
        at=at,
        measured=measured,
        required=ratio,
    )
