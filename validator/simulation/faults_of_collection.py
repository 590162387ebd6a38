"""Faults of the collection: the machine is well, and what came of looking is not."""

from speccheck.validator.simulation.changes import (
    Change,
    earlier,
    of_version,
    unchanged,
)
from speccheck.validator.simulation.fault import Delivery, Fault


def _delivered(delivery: Delivery, text: str) -> Fault:
    return Fault(text, lambda: unchanged, is_fleet=True, delivery=delivery)


def _stale(hours: float) -> Change:
    return earlier(hours)


def _newer(version: int) -> Change:
    return of_version(version)


FAULTS: dict[str, Fault] = {
    "missing": _delivered("missing", "no snapshot came"),
    "damaged": _delivered("damaged", "a snapshot that breaks off"),
    "empty": _delivered("empty", "an empty file, or an empty line"),
    "twice": _delivered("twice", "two snapshots of one host, 90 s apart"),
    "killed_rank": _delivered(
        "killed", "killed while it wrote: part of a temporary file is left"
    ),
    "stale": Fault(
        "a snapshot of days before", _stale, values={"hours": 49.0}, is_fleet=True
    ),
    "newer_version": Fault(
        "a snapshot of a later version", _newer, values={"version": 2}, is_fleet=True
    ),
}
