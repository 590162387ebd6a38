"""Fixtures of rules on fleets: synthetic nodes, by what is odd about them.

profile, nodes: as of speccheck simulate (dgx-h100, 8). with: by nodes (node[0003-0004],
or all), leaves by their path, such as gpus.*.name; a null takes a part away, variables
are added, earlier_hours makes the report older. parts: by nodes, whole lists of a
snapshot; measured: leaves of those. absent: nodes that did not report. texts: what
stands in a file instead. names: how the node of a file calls itself instead. expect:
what --expect would say. hours_later: when the fleet is judged (1).
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import Any

from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.fleet.attendance import Expected
from speccheck.validator.fleet.reading import listing
from speccheck.validator.fleet.run import FleetWork, judge_fleet
from speccheck.validator.node.host_names import unfold
from speccheck.validator.simulation.fleet import SimulatedFleet, healthy_nodes

Snapshot = dict[str, Any]
FIELDS = frozenset(
    {
        *("profile", "nodes", "with", "parts", "measured", "absent", "texts"),
        *("names", "expect", "hours_later"),
    }
)
_HOUR = 3600


def go(_: Sequence[Finding]) -> str:
    """Return the verdict on every node: fixtures of fleets ask for none."""
    return "go"


def fleet_findings(
    given: Mapping[str, Any], request: Request, folder: Path
) -> tuple[Finding, ...]:
    """Write the reports of a fleet into a folder, and judge it."""
    assert given.keys() <= FIELDS, given.keys() - FIELDS
    fleet = SimulatedFleet(given.get("nodes", 8), given.get("profile", "dgx-h100"), 1)
    _write(given, fleet, folder)
    now = fleet.taken.timestamp() + given.get("hours_later", 1) * _HOUR
    found = listing([str(folder)])
    run = judge_fleet(
        FleetWork(request, (), go), found, _expected(given), now=now, cores=1
    )
    return run.of_fleet


def _expected(given: Mapping[str, Any]) -> Expected:
    text = given.get("expect")
    if text is None:
        return Expected()
    if isinstance(text, int):
        return Expected(text, (), "--expect")
    names = unfold(text)
    return Expected(len(names), names, "--expect")


def _write(given: Mapping[str, Any], fleet: SimulatedFleet, folder: Path) -> None:
    absent = set(unfold(given["absent"])) if "absent" in given else set()
    for node in healthy_nodes(fleet):
        name = node["launch"]["node"]
        _change(node, name, given.get("with", {}))
        for who, parts in given.get("parts", {}).items():
            if who == "all" or name in unfold(who):
                node.update(deepcopy(parts))
        _change(node, name, given.get("measured", {}))
        node["launch"]["node"] = given.get("names", {}).get(name, name)
        if name not in absent:
            (folder / f"{name}.json").write_text(json.dumps(node), encoding="utf-8")
    for file, text in given.get("texts", {}).items():
        (folder / file).write_text(text, encoding="utf-8")


def _change(node: Snapshot, name: str, given: Mapping[str, Any]) -> None:
    for who, leaves in given.items():
        if who == "all" or name in unfold(who):
            for path, value in leaves.items():
                change(node, path, value)


def change(node: Snapshot, path: str, value: object) -> None:
    """Set a leaf by its path; `variables` are added, a null takes a part away."""
    if path == "variables":
        assert isinstance(value, dict)
        for name, text in value.items():
            row = {"name": name, "value": str(text), "layer": "environment"}
            node["variables"].append(row)
        return
    if path == "earlier_hours":
        assert isinstance(value, int | float)
        taken = datetime.fromisoformat(node["taken"]).timestamp() - value * _HOUR
        then = datetime.fromtimestamp(taken, tz=fleet_zone(node))
        node["taken"] = then.isoformat()
        return
    *steps, last = path.split(".")
    for part in _parts(node, steps):
        if value is None:
            del part[int(last) if isinstance(part, list) else last]
        elif isinstance(part, list):
            part[int(last)] = value
        else:
            part[last] = value


def fleet_zone(node: Snapshot) -> Any:  # noqa: ANN401 - a tzinfo
    """Return the zone in which a snapshot was taken."""
    return datetime.fromisoformat(node["taken"]).tzinfo


def _parts(node: Snapshot, steps: Sequence[str]) -> list[Any]:
    found: list[Any] = [node]
    for step in steps:
        if step == "*":
            found = [item for part in found for item in part]
        else:
            found = [
                part[int(step)] if isinstance(part, list) else part[step]
                for part in found
            ]
    return found
