"""Rules on logs: what a log does not tell makes none of them pass, or break."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nccl_logs import log
from slow_cases import few
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.run.judging import RunState
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
    """Return what a log tells, in the form of a snapshot."""
    capture = Capture("nccl.log", "NCCL log")
    assert add_communicators(capture, text)
    data = capture.node().data
    return {"schema": "speccheck-snapshot/1", "collective_runs": [RUN], **data}


Outcomes = Callable[[dict[str, Any]], dict[str, str]]


def judging(folder: Path, context: Context) -> Outcomes:
    """Return what gives, by rule, what it says of a snapshot."""
    path = folder / "run.json"
    request = Request(arguments=(str(path),), judging=Judging(context=context))
    state = RunState(request, proposes=False)

    def outcomes(content: dict[str, Any]) -> dict[str, str]:
        path.write_text(json.dumps(content), encoding="utf-8")
        (plan,) = run(request, state).plans
        return {row.finding.rule: row.finding.outcome for row in plan.findings}

    return outcomes


def changed(content: dict[str, Any], name: str, value: object) -> dict[str, Any]:
    """Return the same with a leaf of its communicators replaced; None drops it."""
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
    outcomes = judging(tmp_path, context)
    before = outcomes(content)
    assert (case == "healthy") == ("fail" not in before.values())
    for name in content["communicators"][0]:
        after = outcomes(changed(content, name, None))
        better = {
            rule
            for rule, outcome in after.items()
            if outcome == "pass" and before.get(rule) != "pass"
        }
        assert (name, better) == (name, set())
        assert (name, "error" in after.values()) == (name, False)


@pytest.mark.parametrize("case", few(CASES, {"healthy", "rack"}.__contains__))
def test_odd_values_break_no_rule(tmp_path: Path, case: str) -> None:
    text, context = CASES[case]
    content = told(text)
    outcomes = judging(tmp_path, context)
    for name in content["communicators"][0]:
        for value in ODD:
            odd = outcomes(changed(content, name, value))
            assert (name, value, "error" in odd.values()) == (name, value, False)
