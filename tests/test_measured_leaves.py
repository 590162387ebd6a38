"""Every leaf of a measurement that a verdict rests on is one that somebody writes.

A rule on a leaf that no reader and no bench writes would be undecided for ever, and its
fixtures, written by hand, would not tell.
"""

from pathlib import Path

import pytest

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


@pytest.mark.parametrize("kind", sorted(MEASURED))
def test_what_is_read_of_a_measurement_is_written(kind: str) -> None:
    written = {name for path in WRITERS for name in names_read(path)}
    read: dict[str, str] = {}
    for path in JUDGES:
        own = f"{_module(kind)}.py".endswith(path.stem + ".py")
        if own or _imports(path, kind):
            found = names_read(path) & KINDS[kind].__annotations__.keys()
            read.update(dict.fromkeys(found, path.stem))
    assert read, kind
    assert {leaf: by for leaf, by in read.items() if leaf not in written} == {}


@pytest.mark.parametrize("kind", sorted(MEASURED))
def test_no_leaf_of_a_measurement_is_written_by_nobody(kind: str) -> None:
    written = {name for path in WRITERS for name in names_read(path)}
    assert KINDS[kind].__annotations__.keys() - written == set()
