"""Runs of the same collective on the same machines, and what they measured together."""

from collections.abc import Iterable, Iterator
from statistics import median_high

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.bandwidth import (
    Prospect,
    collective_of,
    is_of_gpus,
    nodes_of,
    prospect,
)
from speccheck.validator.models.bus_bandwidth import GIGA
from speccheck.validator.models.expectation import shown_bytes

_LARGEST = 2  # sizes of which the better one counts


class Point(Record):
    """Bus bandwidth at one size, bytes per second, and the run that it is of."""

    size_bytes: int
    bus: float
    run: CollectiveRun
    at: int  # its position in the lists of the run


class Series(Record):
    """All runs of one collective, on the same machines and by the same algorithm."""

    runs: tuple[CollectiveRun, ...]

    @property
    def first(self) -> CollectiveRun:
        """Its collective, ranks and hosts are those of all."""
        return self.runs[0]

    @property
    def title(self) -> str:
        """What people call it: `all_reduce over 16 GPUs in 2 nodes`."""
        collective_run = self.first
        ranks = collective_run.ranks.or_else("an unknown number of")
        title = f"{collective_run.collective.or_else('a collective')} over {ranks} GPUs"
        if collective_run.nodes.is_known or collective_run.hosts.is_known:
            nodes = nodes_of(collective_run)
            title += f" in {nodes} node{'s' if nodes > 1 else ''}"
        if collective_run.algorithm.is_known:
            title += f" by {collective_run.algorithm.value}"
        return title

    @property
    def ended(self) -> tuple[CollectiveRun, ...]:
        """Those that did not die; all where nothing is said of it."""
        return tuple(run for run in self.runs if run.is_complete.value is not False)

    def best(self, least_bytes: int) -> Point | None:
        """Return the best of the two largest sizes from `least_bytes` on.

        The better placement of buffers counts, and of repeated runs the median: of two
        the better one, because one failure is not enough. Runs that died count only
        where no other did better.
        """
        by_placement: dict[str | None, list[Point]] = {}
        for run in self.ended or self.runs:
            largest = sorted(
                _points(run, least_bytes), key=lambda item: item.size_bytes
            )
            if largest:
                point = max(largest[-_LARGEST:], key=lambda item: item.bus)
                by_placement.setdefault(run.placement.value, []).append(point)
        return max(
            (_middle(points) for points in by_placement.values()),
            key=lambda item: item.bus,
            default=None,
        )

    @property
    def repeats(self) -> int:
        """How many runs there are, placements of buffers not counted."""
        runs = self.ended or self.runs
        placements = [run.placement.value for run in runs]
        return max(placements.count(placement) for placement in placements)


def _middle(points: list[Point]) -> Point:
    rate = median_high([point.bus for point in points])
    return next(point for point in points if point.bus == rate)


def _points(run: CollectiveRun, least_bytes: int) -> Iterator[Point]:
    """Yield the points; lists of different lengths and times of zero give none."""
    sizes, rates = run.size_bytes.or_else(()), run.bus_bytes_per_second.or_else(())
    if len(sizes) != len(rates):
        return
    for at, (size, bus) in enumerate(zip(sizes, rates, strict=True)):
        is_known = size is not None and bus is not None and size >= least_bytes
        if is_known and seconds_at(run, at) != 0:
            yield Point(size or 0, bus or 0.0, run, at)


def seconds_at(run: CollectiveRun, position: int) -> float | None:
    """Return the time at one position of the lists of a run; None if not known."""
    times = run.seconds.or_else(())
    return times[position] if position < len(times) else None


def all_points(run: CollectiveRun) -> tuple[Point, ...]:
    """Return every size that was measured."""
    return tuple(_points(run, 0))


def steady_rates(series: Series, least_bytes: int) -> tuple[int, list[float]]:
    """Return the largest size that all runs have, and what each reached there.

    Of runs with two placements of buffers, those of the first run's alone.
    """
    placement = series.first.placement.value
    runs = [
        collective_run
        for collective_run in series.ended
        if collective_run.placement.value == placement
    ]
    rates = [
        {at.size_bytes: at.bus for at in _points(run, least_bytes)} for run in runs
    ]
    shared = set.intersection(*map(set, rates)) if rates else set()
    if not shared:
        return 0, []
    size = max(shared)
    return size, [rate[size] for rate in rates]


def series_of(runs: Iterable[CollectiveRun]) -> tuple[Series, ...]:
    """Return the runs, those of the same collective, ranks and hosts together."""
    result: dict[object, list[CollectiveRun]] = {}
    for run in runs:
        key = (
            run.collective.value,
            run.ranks.value,
            run.nodes.value,
            _machines(run),
            run.gpu.value,
            run.algorithm.value,
            run.backend.value,
        )
        result.setdefault(key, []).append(run)
    return tuple(Series(tuple(collective_runs)) for collective_runs in result.values())


def _machines(run: CollectiveRun) -> object:
    """Return the hosts; without names, runs of another file may be of others."""
    if run.hosts.is_known:
        return run.hosts.value
    return tuple(place.file for place in run.bus_bytes_per_second.places)


def shown(point: Point) -> str:
    """Return `362 GB/s at 1 GiB`."""
    return f"{point.bus / GIGA:.4g} GB/s at {shown_bytes(point.size_bytes)}"


def microseconds(seconds: float) -> str:
    """Return `21.4 us`."""
    return f"{seconds * 1e6:.3g} us"


class Bound(Record):
    """What messages of one size should reach, bytes per second; None: not known.

    The ceiling is that of the best way that the bytes may have taken; the floors are
    the highest that may give a warning and the lowest that may fail.
    """

    size_bytes: int
    ceiling: float | None
    warn_below: float | None
    fail_below: float | None


class Published(Record):
    """A published reading of the same kind: bytes, bytes per second, of whom."""

    size_bytes: int
    bus_bytes_per_second: float
    source: str


class CurveBounds(Record):
    """What a curve is held against.

    basis: on what the floors rest, or why there are none.
    """

    bounds: tuple[Bound, ...] = ()
    basis: str = ""
    published: tuple[Published, ...] = ()


def bounds_of(
    run: CollectiveRun, about: Conditions, sizes: Iterable[int]
) -> CurveBounds:
    """Return what a run should reach at these sizes."""
    if not is_of_gpus(run):
        return CurveBounds(basis=f"nothing is expected of {run.backend.value}")
    bounds: list[Bound] = []
    basis = ""
    try:
        if collective_of(run) is None:
            return CurveBounds(basis=f"no readings of {run.collective.value}")
        for size in sizes:
            result = prospect(run, about, size, None)
            bounds.append(_bound(size, result))
            basis = result.reason or _basis(result)
        published = tuple(_published(run, about))
    except MissingEvidence as missing:
        return CurveBounds(basis=f"needs {missing.name}: {missing.reason}")
    return CurveBounds(tuple(bounds), basis, published)


def _bound(size: int, result: Prospect) -> Bound:
    tops = [expectation.ceiling for expectation in result.possible]
    known = [top for top in tops if top is not None]
    ceiling = max(known) if known and len(known) == len(tops) else None
    if result.reason:
        return Bound(size, ceiling, None, None)
    return Bound(size, ceiling, result.highest.warn_below, result.lowest.fail_below)


def _basis(result: Prospect) -> str:
    """Return what the lowest floor rests on, and what would decide between several."""
    if not result.open:
        return result.highest.basis
    opened = "; ".join(result.open)
    return f"{result.lowest.basis}, or {result.highest.basis}; not known: {opened}"


def _published(run: CollectiveRun, about: Conditions) -> Iterator[Published]:
    """Yield the readings of the same GPUs, collective, ranks and nodes."""
    gpu = run.gpu.value or about.cluster.accelerator.value
    readings = about.published.of_gpu(gpu) if gpu else None
    if readings is None or not readings.id:
        return
    for curve in about.published.curves(readings.id):
        same = (curve.collective, curve.ranks) == (collective_of(run), run.ranks.value)
        if same and curve.domains in {1, nodes_of(run)}:
            for size, rate in curve.points:
                yield Published(size, rate, curve.source)
