"""Fleets of a few synthetic nodes in a folder, and `speccheck fleet` on them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.simulation.fleet import SimulatedFleet, healthy_nodes

Snapshot = dict[str, Any]


class Ended(NamedTuple):
    """How a run of the command ended."""

    code: int
    out: str
    error: str

    @property
    def data(self) -> dict[str, Any]:
        """What it wrote as JSON."""
        found: dict[str, Any] = json.loads(self.out)
        return found


Run = Callable[..., Ended]


def running(capsys: pytest.CaptureFixture[str], *words: str | Path | int) -> Ended:
    """Run `speccheck fleet`; nothing that it writes may command a terminal."""
    code = main(["fleet", *map(str, words)])
    found = capsys.readouterr()
    for text in (found.out, found.err):
        assert "Traceback" not in text
        assert not [item for item in text if not (item.isprintable() or item == "\n")]
    return Ended(code, found.out, found.err)


def nodes(count: int) -> dict[str, Snapshot]:
    """Return the healthy nodes by name."""
    made = healthy_nodes(SimulatedFleet(count, "dgx-h100", 1))
    return {item["launch"]["node"]: json.loads(json.dumps(item)) for item in made}


def kept(folder: Path, fleet: dict[str, Snapshot]) -> Path:
    """Write a file a node."""
    folder.mkdir(exist_ok=True)
    for name, node in fleet.items():
        (folder / f"{name}.json").write_text(json.dumps(node), "utf-8")
    return folder


def lines(path: Path, fleet: dict[str, Snapshot]) -> Path:
    """Write a line a node."""
    text = "".join(f"{json.dumps(item)}\n" for item in fleet.values())
    path.write_text(text, "utf-8")
    return path


def result(node: str, verdict: str = "go", **more: object) -> Snapshot:
    """Return the result line of a node."""
    codes = {"go": 0, "no-go": 1, "usage": 2, "inconclusive": 3, "bug": 4}
    return {
        "schema": "speccheck-node-result/1",
        "node": node,
        "verdict": verdict,
        "exit_code": codes.get(verdict, 4),
        "counts": {},
        "findings": [],
        "facts": {},
        **more,
    }


def renamed(node: Snapshot, name: str) -> Snapshot:
    """Return the same machine under another name, with parts of its own."""
    copy: Snapshot = json.loads(json.dumps(node))
    copy["launch"]["node"] = name
    for number, gpu in enumerate(copy["gpus"]):
        gpu["uuid"] = f"GPU-{name}-{number}"
        gpu["serial"] = f"{name} {number}"
    return copy
