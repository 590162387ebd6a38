"""Every leaf of a measurement that a verdict rests on is one that somebody writes.

A rule on a leaf that no reader and no bench writes would be undecided for ever, and its
fixtures, written by hand, would not tell.
"""

from functools import cache
from pathlib import Path

from speccheck.validator.evidence.node.node import KINDS, MEASURED
from test_node_leaves import ROOT, names_read

_VALIDATOR = ROOT / "validator"
JUDGES = (
    *sorted((ROOT / "rules").rglob("*.py")),
    *sorted((_VALIDATOR / "forecast").glob("*.py")),
    *sorted((_VALIDATOR / "straggler_search").glob("*.py")),
    *sorted((_VALIDATOR / "evidence" / "measurement").glob("*.py")),
    *sorted((_VALIDATOR / "measurements").glob("*.py")),
)
WRITERS = (
    *sorted((_VALIDATOR / "sources").rglob("*.py")),
    *sorted((ROOT / "probes").rglob("*.py")),
)


def _module(kind: str) -> str:
    return KINDS[kind].__module__


def _imports(path: Path, kind: str) -> bool:
    return f"from {_module(kind)} import" in path.read_text("utf-8")


@cache
def _written() -> frozenset[str]:
    return frozenset(name for path in WRITERS for name in names_read(path))


def _read(kind: str) -> dict[str, str]:
    """Return the leaves that judges read, each with a module that does."""
    read: dict[str, str] = {}
    for path in JUDGES:
        is_own = f"{_module(kind)}.py".endswith(path.stem + ".py")
        if is_own or _imports(path, kind):
            leaves = names_read(path) & KINDS[kind].__annotations__.keys()
            read.update(dict.fromkeys(leaves, path.stem))
    return read


def test_what_is_read_of_a_measurement_is_written() -> None:
    read = {kind: _read(kind) for kind in sorted(MEASURED)}
    assert all(read.values())
    wrong = [
        f"{kind}.{leaf}, which {module} reads"
        for kind, modules in read.items()
        for leaf, module in modules.items()
        if leaf not in _written()
    ]
    assert not wrong, "\n".join(wrong)


def test_no_leaf_of_a_measurement_is_written_by_nobody() -> None:
    wrong = [
        f"{kind}.{leaf}"
        for kind in sorted(MEASURED)
        for leaf in KINDS[kind].__annotations__.keys() - _written()
    ]
    assert not wrong, "\n".join(wrong)
