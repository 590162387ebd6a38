"""Loads what collectives were measured to reach, when a rule first asks."""

from functools import cache
from typing import Any

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.catalogue.hardware import resolve_accelerator
from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.measurement.bandwidth import (
    BandwidthTables,
    GpuReadings,
    PublishedBandwidth,
    PublishedCurve,
)


@cache
def published_bandwidth() -> PublishedBandwidth:
    """The catalogue, the same one each time."""
    return PublishedBandwidth(_tables)


def _tables() -> BandwidthTables:
    curves = _catalogue()["curves"]
    return BandwidthTables(readings_of, tuple(_curve(*one) for one in curves.items()))


def _curve(name: str, row: Any) -> PublishedCurve:  # noqa: ANN401 - JSON
    return PublishedCurve(
        id=name,
        domain=row["domain"],
        collective=row["collective"],
        domains=row["domains"],
        ranks=row["ranks"],
        algorithm=row["algorithm"],
        source=row["source"],
        points=tuple((size, rate) for size, rate in row["points"]),
    )


@cache
def readings_of(name: str) -> GpuReadings | None:
    """The readings of a GPU; None for a name that does not tell which it is."""
    try:
        found = resolve_accelerator(name)
    except UnknownName:
        return None
    rows = [_row(one) for one in found.candidates or (found.id or "",)]
    # Boards of different memory have the same links.
    return rows[0] if all(one == rows[0] for one in rows) else None


def _row(gpu: str) -> GpuReadings:
    catalogue = _catalogue()
    links = catalogue["link_bytes"].get(gpu)
    row = catalogue["gpus"].get(gpu)
    if row is None:
        return GpuReadings(link_bytes=links)
    return GpuReadings(
        id=row["id"],
        gpus=row["gpus"],
        link_bytes=links,
        cap=row.get("all_reduce_cap"),
        ring=row.get("ring_reference"),
        nvls=row.get("nvls_reference"),
        shares={int(size): share for size, share in row["shares"]},
        source=row["source"],
    )


@cache
def _catalogue() -> Any:  # noqa: ANN401 - JSON
    return read_compiled("bandwidth")
