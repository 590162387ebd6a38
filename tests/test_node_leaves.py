"""Every leaf that a rule reads is one that a probe writes, or a reader of captures.

A rule on a leaf that nothing writes would be undecided for ever, and its fixtures,
written by hand, would not tell.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from captured import (
    DCGMI,
    GPU,
    IBSTAT,
    IBV_DEVINFO,
    LSPCI,
    TOPO,
    TOPOLOGY,
    nvidia_smi,
)
from judged_nodes import OF_MACHINES
from machine_files import XID, build, healthy
from nvml_stand_in import StandIn
from probed import content
from speccheck.probes.collect import snapshot
from speccheck.validator.evidence.node.node import KINDS
from speccheck.validator.sources.files import read_file

ROOT = Path(__file__).resolve().parents[1]
# What reads parts of a node on the way to a verdict.
JUDGES = (
    *sorted((ROOT / "rules").rglob("*.py")),
    *sorted((ROOT / "validator" / "evidence" / "node").glob("*.py")),
    *sorted((ROOT / "validator" / "sources" / "joining").glob("*.py")),
)
# A machine whose management library answers all that it may be asked.
TELLING = ("gpu.field.170=2", "gpu.field.171=1", "gpu.nvmlDeviceGetMigMode.code=0")
CAPTURES = {
    "node.xml": nvidia_smi(GPU),
    "ibstat.txt": IBSTAT,
    "ibv_devinfo.txt": IBV_DEVINFO,
    "topo.txt": TOPO,
    "topology.xml": TOPOLOGY,
    "lspci.txt": LSPCI,
    "dcgmi.txt": DCGMI,
}
_ON_THIS_MACHINE = ("paths", "cuda", "mrc_library")
_A_JOB = {"paths": ("checkpoint", "/nowhere/checkpoints", "data", "/")}
Leaf = tuple[str, str]


def leaves_of(parts: Any) -> Iterator[Leaf]:  # noqa: ANN401 - JSON
    """Yield kind and name of each leaf, those without a value among them."""
    for kind in KINDS:
        found = parts.get(kind)
        for part in found if isinstance(found, list) else [found]:
            if isinstance(part, dict) and "status" not in part:
                yield from ((kind, leaf) for leaf in part)


@cache
def names_read(path: Path) -> frozenset[str]:
    """Return the attributes that a module takes, and names in its own texts."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return frozenset(found)


def rules_by_leaf() -> dict[Leaf, list[str]]:
    """Return the modules that read each leaf, by name: too many rather than few."""
    found: dict[Leaf, list[str]] = {}
    for path in JUDGES:
        names = names_read(path)
        for kind, part in OF_MACHINES.items():
            for leaf in part.__annotations__:
                if leaf in names:
                    found.setdefault((kind, leaf), []).append(path.stem)
    return found


@pytest.fixture
def written(stand_in: StandIn, tmp_path: Path) -> set[Leaf]:
    """Return what the probes write of stand-ins, and readers of captures of theirs."""
    files, links = healthy()
    lines = XID.format(code=79, rest="GPU has fallen off the bus.")
    files["/dev/kmsg"] = f"4,900,5000100000,-;{lines}\n"
    machine = build(tmp_path / "machine", files, links)
    found = {*leaves_of(content(machine))}
    found.update(leaves_of(snapshot(arguments=_A_JOB, probes=_ON_THIS_MACHINE)))
    found.update(leaves_of(stand_in.snapshot(*TELLING)))
    for name, text in CAPTURES.items():
        capture = tmp_path / name
        capture.write_text(text, encoding="utf-8")
        status, read = read_file(str(capture))
        assert status.state == "judged", status.message
        for reading in read[0].readings:
            if reading.node is not None:
                found.update(leaves_of(reading.node.data))
    return found


def test_every_leaf_that_a_rule_reads_is_written(written: set[Leaf]) -> None:
    lacking = {
        f"{kind}.{leaf}": modules
        for (kind, leaf), modules in rules_by_leaf().items()
        if (kind, leaf) not in written
    }
    assert lacking == {}


def test_what_is_written_is_a_leaf_of_its_part(written: set[Leaf]) -> None:
    unknown = [
        f"{kind}.{leaf}"
        for kind, leaf in sorted(written)
        if leaf not in KINDS[kind].__annotations__
    ]
    assert unknown == []


def test_leaves_are_found_by_attribute_and_by_name() -> None:
    found = rules_by_leaf()
    assert "nvlink_slow" in found["gpus", "nvlink_speed_mbyte_per_second"]
    assert "nvlink_unlike_others" in found["gpus", "nvlink_replays"]
