"""Rules on measured collectives: what is missing never makes a verdict of its own."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from slow_cases import few
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.run.run import run
from speccheck.validator.sources.context import Context

GIBIBYTE = 2**30
RULE = "all_reduce_below_floor"
Snapshot = dict[str, Any]
AZURE, NVL72 = "azure-nd96isr-h100-v5", "gcp-a4x"
# Leaves whose absence says nothing against a figure: a tool may not tell them.
_MAY_LACK = {"wrong_values", "placement", "tool", "backend"}


def collective(gigabytes: float, **leaves: object) -> Snapshot:
    return {
        "tool": "nccl-tests",
        "backend": "nccl",
        "collective": "all_reduce",
        "placement": "out_of_place",
        "gpu": "NVIDIA H100 80GB HBM3",
        "is_complete": True,
        "size_bytes": [8 * GIBIBYTE],
        "bus_bytes_per_second": [gigabytes * 1e9],
        "wrong_values": [0],
        **leaves,
    }


def across(gigabytes: float) -> Snapshot:
    """Return two nodes, whose adapters their type tells."""
    return {"collective_runs": [collective(gigabytes, ranks=16, nodes=2)]}


def inside(gigabytes: float, channels: int) -> Snapshot:
    """Return one node, of which the log of NCCL tells whether NVLS is there."""
    return {
        "collective_runs": [collective(gigabytes, ranks=8, nodes=1)],
        "communicators": [{"ranks": 8, "nodes": 1, "nvls_channels": channels}],
    }


def rack(gigabytes: float, joined: str) -> Snapshot:
    """Return four trays of a rack, joined by NVLink or not."""
    item = collective(gigabytes, ranks=16, nodes=4, gpu="NVIDIA GB200")
    return {
        "collective_runs": [item],
        "variables_in_force": [{"name": "NCCL_MNNVL_ENABLE", "value": joined}],
        "communicators": [{"ranks": 16, "nvls_channels": 16}],
    }


CASES = {
    "two nodes, well": (across(372), AZURE, "pass"),
    "two nodes, slow": (across(291), AZURE, "fail"),
    "rings in a node, well": (inside(366, 0), None, "pass"),
    "rings in a node, slow": (inside(280, 0), None, "fail"),
    "NVLS in a node, well": (inside(478, 16), None, "pass"),
    "NVLS in a node, slow": (inside(366, 16), None, "fail"),
    "rack over NVLink, well": (rack(882, "1"), NVL72, "pass"),
    "rack over NVLink, slow": (rack(191, "1"), NVL72, "fail"),
    "rack over the network": (rack(191, "0"), NVL72, "pass"),
}


def judged(
    folder: Path, document: Snapshot, instance: str | None, rule: str = RULE
) -> Finding:
    path = folder / "run.json"
    whole = {"schema": "speccheck-snapshot/1", **document}
    path.write_text(json.dumps(whole), encoding="utf-8")
    request = Request(
        arguments=(str(path),),
        judging=Judging(
            context=Context(instance=instance), selection=Selection(select=(rule,))
        ),
        use="preflight",
        full=True,
    )
    (plan,) = run(request).plans
    (found,) = (finding.finding for finding in plan.findings)
    return found


def without_a_leaf(document: Snapshot) -> Iterator[tuple[str, Snapshot]]:
    """Yield the same without a leaf, or with one that could not be read."""
    for kind, parts in document.items():
        for leaf in parts[0]:
            for missing in (None, {"status": "failed", "message": "torn"}):
                changed = deepcopy(document)
                if missing is None:
                    del changed[kind][0][leaf]
                else:
                    changed[kind][0][leaf] = missing
                yield f"{kind}.{leaf}", changed


EVERYDAY = [*CASES][::3]


@pytest.mark.parametrize("name", CASES)
def test_the_case_itself(name: str, tmp_path: Path) -> None:
    document, instance, outcome = CASES[name]
    assert judged(tmp_path, document, instance).outcome == outcome


@pytest.mark.parametrize("name", few(CASES, EVERYDAY.__contains__))
def test_what_is_missing_leaves_a_verdict_as_it_is_or_open(
    name: str, tmp_path: Path
) -> None:
    document, instance, outcome = CASES[name]
    open_verdicts = {"unknown", "not_applicable"}
    for leaf, changed in without_a_leaf(document):
        found = judged(tmp_path, changed, instance).outcome
        assert found in {outcome, *open_verdicts}, leaf
        if leaf.partition(".")[2] in _MAY_LACK:
            assert found == outcome, leaf
    assert judged(tmp_path, document, None).outcome in {outcome, *open_verdicts}


@pytest.mark.parametrize("name", few(CASES, EVERYDAY.__contains__))
def test_faster_is_never_worse_until_it_is_impossible(
    name: str, tmp_path: Path
) -> None:
    document, instance, _ = CASES[name]
    order = ["fail", "unknown", "pass"]
    reached = 0
    changed = deepcopy(document)
    for gigabytes in range(20, 480, 20):
        changed["collective_runs"][0]["bus_bytes_per_second"] = [gigabytes * 1e9]
        found = order.index(judged(tmp_path, changed, instance).outcome)
        ceiling = judged(tmp_path, changed, instance, "bandwidth_above_ceiling")
        if ceiling.outcome != "pass":
            break
        assert found >= reached, gigabytes
        reached = found


def test_in_certification_the_floor_is_higher(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    document = {"schema": "speccheck-snapshot/1", **across(340)}
    path.write_text(json.dumps(document), encoding="utf-8")
    outcomes = {}
    for use in ("ci", "preflight", "certify"):
        request = Request(
            arguments=(str(path),),
            judging=Judging(
                context=Context(instance=AZURE), selection=Selection(select=(RULE,))
            ),
            use=use,
        )
        (plan,) = run(request).plans
        outcomes[use] = plan.findings[0].finding.outcome
    assert outcomes == {"ci": "pass", "preflight": "pass", "certify": "fail"}
