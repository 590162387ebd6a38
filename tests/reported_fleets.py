"""Fleets that report as a test says, and `speccheck fleet` on them."""

import copy
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from speccheck.validator.simulation.healthy import healthy_node

Snapshot = dict[str, Any]
Fleet = dict[str, Snapshot]
Run = Callable[..., tuple[int, str, str]]


def healthy_fleet(count: int, taken: str = "2026-01-21T18:00:00Z") -> Fleet:
    """Return the machines of one type that all report, as Slurm starts them."""
    node_list = f"n[01-{count:02d}]"
    fleet: Fleet = {}
    item = json.dumps(healthy_node("dgx-h100"))
    for rank in range(count):
        name = f"n{rank + 1:02d}"
        node = json.loads(item)
        node["taken"] = taken
        node["host"]["name"] = name
        for number, gpu in enumerate(node["gpus"]):
            gpu["uuid"] = f"GPU-{name}-{number}"
            gpu["serial"] = f"{name} {number}"
        for number, device in enumerate(node["rdma_devices"]):
            device["node_guid"] = f"{name}-{number}"
        for number, interface in enumerate(node["network_interfaces"]):
            interface["address"] = f"{name}-address-{number}"
        node["launch"] = {
            "engine": "slurm",
            "job": "7",
            "node": name,
            "rank": rank,
            "nodes": count,
            "node_list": node_list,
        }
        fleet[name] = node
    return fleet


def the_day_after(fleet: Fleet) -> Fleet:
    """Return the same machines 24 hours later, untouched but for the clock."""
    later = copy.deepcopy(fleet)
    for node in later.values():
        node["taken"] = "2026-01-22T18:00:00Z"
        node["host"]["uptime_seconds"] += 86_400.0
    return later


def kept(folder: str, fleet: Fleet) -> str:
    """Write a fleet, a file a node."""
    Path(folder).mkdir()
    for name, node in fleet.items():
        Path(folder, f"{name}.json").write_text(json.dumps(node), "utf-8")
    return folder


def result_lines(path: str, names: Iterable[str], **facts: str) -> str:
    """Return the result lines of some nodes that go, with these facts."""
    {leaf.replace("__", "."): value for leaf, value in facts.items()}
    lines = (
        json.dumps(
            {
                "schema": "speccheck-node-result/1",
                "node": name,
                "taken": "2026-01-20T18:00:00Z",
                "verdict": "go",
                "exit_code": 0,
                "counts": {},
                "findings": [],
                "facts": {
                    leaf.replace("__", "."): value for leaf, value in facts.items()
                },
            }
        )
        for name in names
    )
    Path(path).write_text("\n".join(lines) + "\n", "utf-8")
    return path
