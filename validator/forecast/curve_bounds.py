"""What a curve is held against, size by size, and what others published of its kind."""

from collections.abc import Iterable, Iterator

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


class Bounds(Record):
    """What a curve is held against.

    basis: on what the floors rest, or why there are none.
    """

    bounds: tuple[Bound, ...] = ()
    basis: str = ""
    published: tuple[Published, ...] = ()


def bounds_of(run: CollectiveRun, about: Conditions, sizes: Iterable[int]) -> Bounds:
    """What a run should reach at these sizes."""
    if not is_of_gpus(run):
        return Bounds(basis=f"nothing is expected of {run.backend.value}")
    found: list[Bound] = []
    basis = ""
    try:
        if collective_of(run) is None:
            return Bounds(basis=f"no readings of {run.collective.value}")
        for size in sizes:
            one = prospect(run, about, size, None)
            found.append(_bound(size, one))
            basis = one.reason or _basis(one)
        published = tuple(_published(run, about))
    except MissingEvidence as missing:
        return Bounds(basis=f"needs {missing.name}: {missing.reason}")
    return Bounds(tuple(found), basis, published)


def _bound(size: int, found: Prospect) -> Bound:
    tops = [one.ceiling for one in found.possible]
    known = [one for one in tops if one is not None]
    ceiling = max(known) if known and len(known) == len(tops) else None
    if found.reason:
        return Bound(size, ceiling, None, None)
    return Bound(size, ceiling, found.highest.warn_below, found.lowest.fail_below)


def _basis(found: Prospect) -> str:
    """That of the lowest floor, and what would tell more where several are open."""
    if not found.open:
        return found.highest.basis
    opened = "; ".join(found.open)
    return f"{found.lowest.basis}, or {found.highest.basis}; not known: {opened}"


def _published(run: CollectiveRun, about: Conditions) -> Iterator[Published]:
    """Readings of the same GPUs, collective, ranks and nodes."""
    gpu = run.gpu.value or about.cluster.accelerator.value
    readings = about.published.of_gpu(gpu) if gpu else None
    if readings is None or not readings.id:
        return
    for curve in about.published.curves(readings.id):
        same = (curve.collective, curve.ranks) == (collective_of(run), run.ranks.value)
        if same and curve.domains in {1, nodes_of(run)}:
            for size, rate in curve.points:
                yield Published(size, rate, curve.source)
