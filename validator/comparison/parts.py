"""The parts of lists, known again by their names and addresses, and never by place."""

from collections.abc import Mapping, Sequence

from speccheck.validator.evidence.node.node import PART_KEYS
from speccheck.validator.evidence.record import Record

Leaves = Mapping[str, object]
_KEYS: dict[str, tuple[str, ...]] = {
    **PART_KEYS,
    "kernel_events": ("event", "code", "pci_address", "device"),
    "collective_runs": (
        "collective",
        "backend",
        "placement",
        "ranks",
        "nodes",
        "round",
    ),
    "copy_tests": (
        "name",
        "direction",
        "method",
        "operation",
        "size_bytes",
        "is_bidirectional",
        "is_all_at_once",
    ),
    "matrix_products": ("gpu_index", "data_type", "rows", "columns", "depth"),
    "rdma_transfers": ("device", "name", "operation", "memory", "is_bidirectional"),
    "diagnostic_results": ("category", "name", "gpu_index"),
    "communicators": ("ranks", "nodes"),
    "variables_in_force": ("name",),
}
_WORDS = {"gpus": "GPU "}


class Paired(Record):
    """A part of either snapshot, or of one of them alone; title: for people."""

    title: str
    a: Leaves | None
    b: Leaves | None


def paired(kind: str, mine: Sequence[Leaves], other: Sequence[Leaves]) -> list[Paired]:
    """The parts of both lists; of equal keys, the first goes with the first."""
    left, right = _by_key(kind, mine), _by_key(kind, other)
    return [
        Paired(_title(kind, key), left.get(key), right.get(key))
        for key in dict.fromkeys((*left, *right))
    ]


def keys_of(kind: str) -> tuple[str, ...]:
    """The leaves by which a part of that kind is known again."""
    return _KEYS.get(kind, ())


def _by_key(kind: str, listed: Sequence[Leaves]) -> dict[tuple[str, ...], Leaves]:
    found: dict[tuple[str, ...], Leaves] = {}
    counts: dict[tuple[str, ...], int] = {}
    for leaves in listed:
        key = tuple(_word(name, leaves.get(name)) for name in keys_of(kind))
        count = counts[key] = counts.get(key, 0) + 1
        found[(*key, "" if count == 1 else f"#{count}")] = leaves
    return found


def _word(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else ""
    return str(value) if isinstance(value, str | int | float) else ""


def _title(kind: str, key: tuple[str, ...]) -> str:
    if kind == "variables":
        return key[0]  # the name is that of the leaf
    words = [one for one in key if one]
    if kind == "kernel_events":
        words = words[1:]  # the event is that of the leaf
    elif kind == "rdma_ports":
        words.insert(1, "port")
    if not words:
        return "" if kind == "kernel_events" else f"{kind} without a name"
    return _WORDS.get(kind, "") + " ".join(words)
