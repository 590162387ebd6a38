"""What was published of types of machines: runs of collectives, by default settings."""

from functools import cache
from typing import Any

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.record import Record


class PublishedRun(Record):
    """A published benchmark run of one collective.

    points: message size and bus bandwidth, in bytes and bytes per second; a size of
        None was not published.
    nvls: whether NVLink SHARP was used; None where that is not published.
    nvlink_domains: how many domains of several machines took part; 0 where NVLink
        joins only the GPUs of one machine.
    """

    id: str
    collective: str
    nodes: int
    ranks: int
    points: tuple[tuple[int | None, float], ...]
    source: str
    confidence: str
    nvls: bool | None = None
    nvlink_domains: int = 0
    note: str = ""


def published_runs(instance: str) -> tuple[PublishedRun, ...]:
    """Return the runs of a type of machine, by its id in the catalogue.

    None for many.
    """
    return tuple(
        PublishedRun(**row | {"points": tuple(map(tuple, row["points"]))})
        for row in _catalogue().get(instance, ())
    )


def published_types() -> tuple[str, ...]:
    """Return the types of which something was published, by id."""
    return tuple(sorted(_catalogue()))


@cache
def _catalogue() -> Any:  # noqa: ANN401 - JSON
    return read_compiled("published")
