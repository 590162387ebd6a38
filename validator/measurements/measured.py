"""All that was measured of one plan, as reports show it."""

from collections.abc import Iterable, Iterator
from statistics import median
from typing import TYPE_CHECKING, Literal

from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
    Communicator,
    Communicators,
    path_of,
    path_words,
    uses_nccl,
)
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.measurement.device import (
    CopyTest,
    CopyTests,
    MatrixProducts,
    RdmaTransfer,
    RdmaTransfers,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.forecast.collective_series import (
    CurveBounds,
    all_points,
    bounds_of,
    seconds_at,
)
from speccheck.validator.models.curve import Curve, CurvePoint, curve

if TYPE_CHECKING:
    from speccheck.validator.measurements.telemetry import MeasuredTelemetry


RateUnit = Literal["bytes_per_second", "bits_per_second", "flops_per_second"]
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
    held_to: CurveBounds = CurveBounds()
    path: str = ""

    @property
    def curve(self) -> Curve:
        """That of the best placement."""
        return self.placed[0].curve


def measured_curves(evidence: Evidence) -> tuple[MeasuredCurve, ...]:
    """Return the curves of all measured collectives, in the order of their runs."""
    collective_runs = evidence.get(CollectiveRuns)
    if collective_runs is None:
        return ()
    groups: dict[_Key, list[CollectiveRun]] = {}
    for run in collective_runs.shown:
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
    return tuple(leaf.value for leaf in leaves)


def _measured(runs: list[CollectiveRun], about: Conditions | None) -> MeasuredCurve:
    first = runs[0]
    placed = sorted(_placed(runs), key=_peak_of, reverse=True)
    sizes = [point.size_bytes for point in placed[0].curve.points]
    return MeasuredCurve(
        collective=first.collective.value or "",
        ranks=first.ranks.value,
        nodes=first.nodes.value,
        hosts=tuple(text for text in first.hosts.value or () if text),
        gpu=first.gpu.value or "",
        tool=first.tool.value or "",
        runs=-(-len(runs) // len(placed)),
        unfinished=next(filter(None, map(_unfinished, runs)), ""),
        files=tuple(dict.fromkeys(_files(runs))),
        placed=tuple(placed),
        held_to=bounds_of(first, about, sizes) if about else CurveBounds(),
        path=_path(first, about) if about else "",
    )


def _placed(runs: Iterable[CollectiveRun]) -> Iterator[PlacedCurve]:
    by_placement: dict[str, list[CollectiveRun]] = {}
    for run in runs:
        by_placement.setdefault(run.placement.value or "", []).append(run)
    for placement, alike in by_placement.items():
        points = [point for run in alike for point in _points(run)]
        yield PlacedCurve(placement, curve(points), tuple(_spread(points)))


def _spread(points: Iterable[CurvePoint]) -> Iterator[tuple[float, float, float]]:
    rates: dict[int, list[float]] = {}
    for point in points:
        rates.setdefault(point.size_bytes, []).append(point.bus_bytes_per_second)
    for size, numbers in sorted(rates.items()):
        if len(numbers) > 1:
            yield float(size), min(numbers), max(numbers)


def _peak_of(placed_curve: PlacedCurve) -> float:
    peak = placed_curve.curve.peak
    return peak.bus_bytes_per_second if peak else 0.0


def _path(run: CollectiveRun, about: Conditions) -> str:
    """Return which way the bytes took, in words; empty where NCCL moved none."""
    if not uses_nccl(run):
        return ""
    path = path_of(run, about.communicators.shown)
    return path.words if path.is_proven else f"path not proven: {path.words}"


def _points(run: CollectiveRun) -> Iterator[CurvePoint]:
    for point in all_points(run):
        yield CurvePoint(point.size_bytes, seconds_at(run, point.at), point.bus)


def _unfinished(run: CollectiveRun) -> str:
    if run.is_complete.value is not False:
        return ""
    return run.ended_by.value or "it ended before its end"


def _files(runs: Iterable[CollectiveRun]) -> Iterator[str]:
    for run in runs:
        yield from (place.file for place in run.size_bytes.places)


class MeasuredPath(Record):
    """Communicators of as many ranks, of one release, over one network.

    Attributes:
        communicators: how many there are.
        ranks, nodes: of each; None where the log does not tell.
        nccl_version, network: empty where the log does not tell.
        words: the connections, and what adds up on the way.

    """

    communicators: int
    ranks: int | None
    nodes: int | None
    nccl_version: str
    network: str
    words: tuple[str, ...]


def measured_paths(evidence: Evidence) -> tuple[MeasuredPath, ...]:
    """Return the ways of all communicators that connect several ranks."""
    communicators = evidence.get(Communicators)
    if communicators is None:
        return ()
    groups: dict[tuple[object, ...], list[Communicator]] = {}
    for communicator in communicators.shown:
        if communicator.ranks.value != 1:
            leaves = (
                communicator.ranks,
                communicator.nodes,
                communicator.nccl_version,
                communicator.network,
            )
            groups.setdefault(tuple(leaf.value for leaf in leaves), []).append(
                communicator
            )
    return tuple(_paths_path(alike) for alike in groups.values())


def _paths_path(alike: list[Communicator]) -> MeasuredPath:
    first = alike[0]
    return MeasuredPath(
        communicators=len(alike),
        ranks=first.ranks.value,
        nodes=first.nodes.value,
        nccl_version=first.nccl_version.or_else(""),
        network=first.network.or_else(""),
        words=(path_words(alike), *_sums(first)),
    )


def _sums(communicator: Communicator) -> Iterator[str]:
    """Yield what adds up in switches, and whether NVLink reaches other nodes."""
    if communicator.nvls_channels.is_known:
        yield f"NVLS channels: {communicator.nvls_channels.value}"
    if communicator.links_by_collnet.value:
        yield f"in-network reduction: {communicator.links_by_collnet.value} connections"
    if communicator.is_mnnvl.value:
        yield "NVLink reaches other nodes"
    if communicator.is_complete.value is False:
        yield "not all of its ranks finished their start"


_WAYS = {
    "host_to_device": "host to GPU",
    "device_to_host": "GPU to host",
    "device_to_device": "GPU to GPU",
    "local": "within a GPU",
}
_Rates = dict[str, float]


class RatesOfParts(Record):
    """The rate of each part, by its name."""

    title: str
    unit: RateUnit
    rates: _Rates


class MeasuredRates(Record):
    """One kind of measurement over the parts of a machine.

    Attributes:
        title: what was done, in words.
        unit: of the rates.
        parts: how many, or how many pairs of them.
        least, median, most: rates.
        slowest: the part with the least rate.

    """

    title: str
    unit: RateUnit
    parts: int
    least: float
    median: float
    most: float
    slowest: str


def measured_rates(evidence: Evidence) -> tuple[MeasuredRates, ...]:
    """Return the spans of all copies, products and transfers, in the order measured."""
    return tuple(map(_span, rates_of_parts(evidence)))


def rates_of_parts(evidence: Evidence) -> Iterator[RatesOfParts]:
    """Yield all copies, products and transfers part by part, in the order measured."""
    part_rates: list[RatesOfParts] = []
    copies, products = evidence.get(CopyTests), evidence.get(MatrixProducts)
    transfers = evidence.get(RdmaTransfers)
    if copies is not None:
        part_rates += _copies(copies)
    if products is not None:
        part_rates += _products(products)
    if transfers is not None:
        part_rates += _transfers(transfers)
    return (item for item in part_rates if item.rates)


def _copies(tests: CopyTests) -> Iterator[RatesOfParts]:
    for test in tests.shown:
        yield RatesOfParts(_title(test), "bytes_per_second", _of_copies(test))


def _title(test: CopyTest) -> str:
    way = _WAYS.get(test.direction.value or "", test.name.value or "copies")
    words = [f"copies {way}" if way in _WAYS.values() else way]
    if test.is_bidirectional.value:
        words.append("both ways")
    if test.is_all_at_once.value:
        words.append("all at once")
    if test.operation.value:
        words.append(test.operation.value)
    if test.method.value:
        words.append(f"by {test.method.value.replace('_', ' ')}")
    return ", ".join(words)


def _of_copies(test: CopyTest) -> _Rates:
    """Return the rate of each GPU, or pair.

    A GPU with itself is none of a table of pairs.
    """
    ends = test.from_gpu.or_else(()), test.to_gpu.or_else(())
    rates = test.bytes_per_second.or_else(())
    if not len(ends[0]) == len(ends[1]) == len(rates):
        return {}
    is_of_pairs = test.direction.value == "device_to_device"
    return {
        _ends(source, target): rate
        for source, target, rate in zip(*ends, rates, strict=True)
        if rate and not (is_of_pairs and source == target)
    }


def _ends(source: int | None, target: int | None) -> str:
    if source is None or target is None or source == target:
        return f"GPU {target if source is None else source}"
    return f"GPU {source} to GPU {target}"


def _products(products: MatrixProducts) -> Iterator[RatesOfParts]:
    by_title: dict[str, _Rates] = {}
    for matrix_product in products.shown:
        rate = matrix_product.flops_per_second.value
        shape = " x ".join(
            f"{side.value}"
            for side in (
                matrix_product.rows,
                matrix_product.columns,
                matrix_product.depth,
            )
        )
        title = f"products of {matrix_product.data_type.value or 'matrices'}, {shape}"
        if rate:
            by_title.setdefault(title, {})[matrix_product.title] = rate
    for title, rates in by_title.items():
        yield RatesOfParts(title, "flops_per_second", rates)


def _transfers(transfers: RdmaTransfers) -> Iterator[RatesOfParts]:
    by_title: dict[str, _Rates] = {}
    for number, rdma_transfer in enumerate(transfers.shown):
        best = max(_known(rdma_transfer), default=0.0)
        memory = (
            f", buffers of the {rdma_transfer.memory.value}"
            if rdma_transfer.memory.value
            else ""
        )
        name = rdma_transfer.device.value or f"transfer {number}"
        if best:
            kind = rdma_transfer.name.value or rdma_transfer.operation.value
            title = f"{kind or 'transfers'}{memory}"
            by_title.setdefault(title, {})[name] = 8 * best
    for title, rates in by_title.items():
        yield RatesOfParts(title, "bits_per_second", rates)


def _known(transfer: RdmaTransfer) -> Iterable[float]:
    rates = transfer.average_bytes_per_second.or_else(())
    return (rate for rate in rates if rate)


def _span(result: RatesOfParts) -> MeasuredRates:
    rates = result.rates
    values = rates.values()
    return MeasuredRates(
        result.title,
        result.unit,
        len(rates),
        min(values),
        median(values),
        max(values),
        min(rates, key=lambda rate: rates[rate]),
    )


class Measurements(Record):
    """Curves of collectives, rates of parts, ways of the bytes, and what there is.

    telemetry: what the logs of a run hold; None without such logs.
    """

    kinds: tuple[str, ...]
    curves: tuple[MeasuredCurve, ...]
    rates: tuple[MeasuredRates, ...]
    paths: tuple[MeasuredPath, ...]
    telemetry: "MeasuredTelemetry | None" = None


def measured_of(kinds: tuple[str, ...], evidence: Evidence) -> Measurements:
    """Return the measurements of a plan, by its evidence that has some."""
    return Measurements(
        kinds,
        measured_curves(evidence),
        measured_rates(evidence),
        measured_paths(evidence),
        _telemetry(evidence) if "run_logs" in kinds else None,
    )


def _telemetry(evidence: Evidence) -> "MeasuredTelemetry | None":
    from speccheck.validator.measurements.telemetry import (  # noqa: PLC0415 - logs of runs
        measured_telemetry,
    )

    return measured_telemetry(evidence)
