"""Machines that differ in what a test says, and what `speccheck diff` says of them."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema

from json_schemas import SCHEMAS
from speccheck.validator.simulation.healthy import healthy_node

Snapshot = dict[str, Any]
Run = Callable[..., tuple[int, str, str]]
DAY = 86_400.0


def machine() -> Snapshot:
    return healthy_node("dgx-h100")


def a_day_later(node: Snapshot) -> Snapshot:
    """Return the same machine, untouched but for the clock."""
    later = copy.deepcopy(node)
    later["taken"] = "2026-11-22T18:00:00Z"
    later["host"]["uptime_seconds"] += DAY
    return later


def another(node: Snapshot) -> Snapshot:
    """Return another machine of the same type, whose digests have the same salt."""
    other = copy.deepcopy(node)
    other["host"]["name"] = "node-18"
    for number, gpu in enumerate(other["gpus"]):
        gpu["uuid"] = f"GPU-other-{number}"
        gpu["serial"] = f"other {number}"
    for number, device in enumerate(other["rdma_devices"]):
        device["node_guid"] = f"0000:0000:0000:{number:04x}"
    return other


def written(name: str, node: Snapshot) -> str:
    Path(name).write_text(json.dumps(node), "utf-8")
    return name


def compared(run: Run, a: Snapshot, b: Snapshot, *words: str) -> dict[str, Any]:
    """Return the JSON document, held to its schema."""
    names = written("a.json", a), written("b.json", b)
    code, out, err = run(*names, "--output", "json", *words)
    assert (code, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    jsonschema.Draft202012Validator(SCHEMAS["diff"]()).validate(document)
    return document


def said(document: dict[str, Any], key: str = "differences") -> list[tuple[Any, ...]]:
    return [
        (
            item["group"],
            item["leaf"],
            item["part"],
            item["change"],
            item["a"],
            item["b"],
        )
        for item in document[key]
    ]


def salted(node: Snapshot, salt: str) -> Snapshot:
    """Return a snapshot as `speccheck probe` writes it with that salt."""
    digested = copy.deepcopy(node)
    digested["host"]["name"] = f"hashed:{salt}-name"
    for number, gpu in enumerate(digested["gpus"]):
        gpu["uuid"] = f"hashed:{salt}-uuid-{number}"
        gpu["serial"] = f"hashed:{salt}-serial-{number}"
    for number, device in enumerate(digested["rdma_devices"]):
        device["node_guid"] = f"hashed:{salt}-guid-{number}"
    for number, interface in enumerate(digested["network_interfaces"]):
        interface["address"] = f"hashed:{salt}-address-{number}"
    return digested
