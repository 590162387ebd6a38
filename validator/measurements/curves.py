"""What was measured, as curves for reports: repeated runs of one kind together."""

from collections.abc import Iterable, Iterator

from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
)
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.measurement.path import path_of, uses_nccl
from speccheck.validator.evidence.record import Record
from speccheck.validator.forecast.collective_series import all_points, seconds_at
from speccheck.validator.forecast.curve_bounds import Bounds, bounds_of
from speccheck.validator.models.curve import Curve, Point, curve

_Key = tuple[object, ...]


class PlacedCurve(Record):
    """Medians over the runs with one placement of buffers: out_of_place, in_place.

    placement is empty where nobody told it. spread: size, least and most bytes per
    second of all runs and nodes, where a size was measured more than once.
    """

    placement: str
    curve: Curve
    spread: tuple[tuple[float, float, float], ...] = ()


class MeasuredCurve(Record):
    """Runs of one collective over the same ranks.

    Attributes:
        collective: all_reduce, ...; empty where no tool told it.
        ranks, nodes: None where they are not known.
        hosts: of the ranks, where they were told.
        gpu, tool: as they were told; empty where they were not.
        runs: how many there are of the kind, placements not counted.
        unfinished: why a run did not end as it should; empty where all did.
        files: that they stand in.
        placed: by placement of buffers, the best first.
        held_to: what is expected at its sizes, and what others published.
        path: which way the bytes took, or that nothing proves it.

    """

    collective: str
    ranks: int | None
    nodes: int | None
    hosts: tuple[str, ...]
    gpu: str
    tool: str
    runs: int
    unfinished: str
    files: tuple[str, ...]
    placed: tuple[PlacedCurve, ...]
    held_to: Bounds = Bounds()
    path: str = ""

    @property
    def curve(self) -> Curve:
        """That of the best placement."""
        return self.placed[0].curve


def measured_curves(evidence: Evidence) -> tuple[MeasuredCurve, ...]:
    """The curves of all collectives that were measured, in the order of their runs."""
    found = evidence.get(CollectiveRuns)
    if found is None:
        return ()
    groups: dict[_Key, list[CollectiveRun]] = {}
    for run in found.shown:
        groups.setdefault(_key(run), []).append(run)
    about = evidence.get(Conditions)
    return tuple(_measured(runs, about) for runs in groups.values())


def _key(run: CollectiveRun) -> _Key:
    leaves = (
        run.collective,
        run.ranks,
        run.nodes,
        run.hosts,
        run.gpu,
        run.algorithm,
        run.data_type,
        run.backend,
        run.tool,
    )
    return tuple(one.value for one in leaves)


def _measured(runs: list[CollectiveRun], about: Conditions | None) -> MeasuredCurve:
    first = runs[0]
    placed = sorted(_placed(runs), key=_peak_of, reverse=True)
    sizes = [one.size_bytes for one in placed[0].curve.points]
    return MeasuredCurve(
        collective=first.collective.value or "",
        ranks=first.ranks.value,
        nodes=first.nodes.value,
        hosts=tuple(one for one in first.hosts.value or () if one),
        gpu=first.gpu.value or "",
        tool=first.tool.value or "",
        runs=-(-len(runs) // len(placed)),
        unfinished=next(filter(None, map(_unfinished, runs)), ""),
        files=tuple(dict.fromkeys(_files(runs))),
        placed=tuple(placed),
        held_to=bounds_of(first, about, sizes) if about else Bounds(),
        path=_path(first, about) if about else "",
    )


def _placed(runs: Iterable[CollectiveRun]) -> Iterator[PlacedCurve]:
    by_placement: dict[str, list[CollectiveRun]] = {}
    for run in runs:
        by_placement.setdefault(run.placement.value or "", []).append(run)
    for placement, alike in by_placement.items():
        points = [point for run in alike for point in _points(run)]
        yield PlacedCurve(placement, curve(points), tuple(_spread(points)))


def _spread(points: Iterable[Point]) -> Iterator[tuple[float, float, float]]:
    rates: dict[int, list[float]] = {}
    for one in points:
        rates.setdefault(one.size_bytes, []).append(one.bus_bytes_per_second)
    for size, found in sorted(rates.items()):
        if len(found) > 1:
            yield float(size), min(found), max(found)


def _peak_of(one: PlacedCurve) -> float:
    peak = one.curve.peak
    return peak.bus_bytes_per_second if peak else 0.0


def _path(run: CollectiveRun, about: Conditions) -> str:
    """Which way the bytes took, in words; empty where NCCL moved none."""
    if not uses_nccl(run):
        return ""
    found = path_of(run, about.communicators.shown)
    return found.words if found.is_proven else f"path not proven: {found.words}"


def _points(run: CollectiveRun) -> Iterator[Point]:
    for one in all_points(run):
        yield Point(one.size_bytes, seconds_at(run, one.at), one.bus)


def _unfinished(run: CollectiveRun) -> str:
    if run.is_complete.value is not False:
        return ""
    return run.ended_by.value or "it ended before its end"


def _files(runs: Iterable[CollectiveRun]) -> Iterator[str]:
    for run in runs:
        yield from (place.file for place in run.size_bytes.places)
