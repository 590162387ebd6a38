"""Rules on logs: what a log does not tell makes none of them pass, or break."""

import json
from pathlib import Path
from typing import Any

import pytest

from nccl_logs import log
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.run.run import run
from speccheck.validator.sources.capture import Capture
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.nccl_log import add_communicators

ODD: tuple[object, ...] = ("", -1, 0, 2**63, True, [], [None], [[]], None, {}, "Socket")
CASES = {
    "healthy": (log(), Context(instance="azure-nd96isr-h100-v5")),
    "sockets": (
        log(network="Socket", reach="", variables={"NCCL_COLLNET_ENABLE": "1"}),
        Context(instance="azure-nd96isr-h100-v5", nccl_version="2.21.5"),
    ),
    "host memory": (
        log(reach="", inside="SHM/direct/direct", has_multicast=False),
        Context(instance="azure-nd96isr-h100-v5"),
    ),
    "rack": (
        log(gpus=4, variables={"NCCL_ALGO": "Ring", "NCCL_NET_PLUGIN": "x"}),
        Context(instance="azure-nd128isr-gb200-v6"),
    ),
    "efa": (log(network="AWS Libfabric", reach=""), Context(instance="aws-p5")),
    "multipath": (log(), Context(fabric="mrc")),
}
RUN = {
    "collective": "all_reduce",
    "backend": "nccl",
    "ranks": 16,
    "nodes": 2,
    "size_bytes": [1073741824],
}


def told(text: str) -> dict[str, Any]:
    """What a log tells, in the form of a snapshot."""
    capture = Capture("nccl.log", "NCCL log")
    assert add_communicators(capture, text)
    data = capture.node().data
    return {"schema": "speccheck-snapshot/1", "collective_runs": [RUN], **data}


def outcomes(folder: Path, content: dict[str, Any], context: Context) -> dict[str, str]:
    """By rule, what it says."""
    path = folder / "run.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    (plan,) = run(
        Request(arguments=(str(path),), judging=Judging(context=context))
    ).plans
    return {one.finding.rule: one.finding.outcome for one in plan.findings}


def changed(content: dict[str, Any], name: str, value: object) -> dict[str, Any]:
    """The same, with a leaf of its communicators replaced; None takes it away."""
    parts = [dict(part) for part in content["communicators"]]
    for part in parts:
        part.pop(name)
        if value is not None:
            part[name] = value
    return {**content, "communicators": parts}


@pytest.mark.parametrize("case", CASES)
def test_a_leaf_that_is_not_told_turns_no_rule_into_a_pass(
    tmp_path: Path, case: str
) -> None:
    text, context = CASES[case]
    content = told(text)
    before = outcomes(tmp_path, content, context)
    assert (case == "healthy") == ("fail" not in before.values())
    for name in content["communicators"][0]:
        after = outcomes(tmp_path, changed(content, name, None), context)
        better = {
            rule
            for rule, outcome in after.items()
            if outcome == "pass" and before.get(rule) != "pass"
        }
        assert (name, better) == (name, set())
        assert (name, "error" in after.values()) == (name, False)


@pytest.mark.parametrize("case", CASES)
def test_odd_values_break_no_rule(tmp_path: Path, case: str) -> None:
    text, context = CASES[case]
    content = told(text)
    for name in content["communicators"][0]:
        for value in ODD:
            odd = outcomes(tmp_path, changed(content, name, value), context)
            assert (name, value, "error" in odd.values()) == (name, value, False)
