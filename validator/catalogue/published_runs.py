"""What was published of types of machines: runs of collectives, by default settings."""

from functools import cache
from typing import Any

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.record import Record


class PublishedRun(Record):
    """One run.

    points: message size and bus bandwidth in bytes per second; a size of None was not
    published. nvls: None where nobody says. nvlink_domains: of machines that NVLink
    joins; 0 where it joins the GPUs of one alone.
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
    """The runs of a type of machine, by its id in the catalogue; none for many."""
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
