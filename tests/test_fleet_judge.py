"""Nodes judged by what is new to each rule, held to judging each node in full."""

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

from speccheck.validator.engine.judges import Judges
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.fleet.node_judge import NodeJudge
from speccheck.validator.report.node_outcome import NodeOutcome
from speccheck.validator.simulation.healthy import healthy_node
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.documents.document import ReadError

_REQUEST = Request((), use="preflight", judging=Judging(context=Context(nodes=64)))
_OTHERS: tuple[object, ...] = (
    None,
    True,
    0,
    1,
    1.0,
    -1,
    3,
    10**12,
    "other",
    [],
    [0, 1],
    {},
)


def _judge(judges: Judges) -> NodeJudge:
    return NodeJudge(judges, NodeOutcome("preflight", "error"))


def _told(judge: NodeJudge, node: dict[str, Any]) -> tuple[str, list[str], object]:
    try:
        found = judge(node)
    except ReadError as error:
        return "unread", [error.problem], None
    return found.verdict, _texts(found.findings), found.profile


def _texts(findings: Sequence[Finding]) -> list[str]:
    return sorted(
        f"{finding.rule} {finding.clause} {finding.outcome} {finding.subject} "
        f"{finding.message} {finding.places} {finding.missing}"
        for finding in findings
    )


def _changed(node: dict[str, Any], dice: random.Random) -> None:
    """Change some leaves, to values of any type; drop or double some parts."""
    for _ in range(dice.randrange(4)):
        kind = dice.choice([k for k, v in node.items() if isinstance(v, list | dict)])
        parts = node[kind]
        if isinstance(parts, list) and parts and dice.random() < 0.1:
            parts.pop(dice.randrange(len(parts)))
            continue
        if isinstance(parts, list) and parts and dice.random() < 0.05:
            parts.append(json.loads(json.dumps(dice.choice(parts))))
            continue
        part = dice.choice(parts) if isinstance(parts, list) and parts else parts
        if isinstance(part, dict) and part:
            leaf = dice.choice(sorted(part))
            if dice.random() < 0.1:
                del part[leaf]
            elif isinstance(part[leaf], int | float) and dice.random() < 0.6:
                part[leaf] = dice.choice((0, 1, 2, 5, 40, 90, 10**6, 0.5, 1.0, True))
            else:
                part[leaf] = dice.choice(_OTHERS)


@pytest.mark.parametrize(
    ("seed", "count"),
    [(4, 12), *(pytest.param(seed, 120, marks=pytest.mark.slow) for seed in range(4))],
)
def test_asking_what_is_new_gives_what_asking_everything_gives(
    seed: int, count: int
) -> None:
    """Whatever differs from node to node, and in whatever type."""
    dice = random.Random(seed)  # noqa: S311 - a test
    base = healthy_node("dgx-h100")
    plans = Judges(_REQUEST)
    judge = _judge(plans)
    for number in range(count):
        node = json.loads(json.dumps(base))
        for gpu in node["gpus"]:
            gpu["temperature_celsius"] = dice.randrange(30, 36)
            gpu["power_watts"] = dice.uniform(70, 90)
        node["host"]["uptime_seconds"] = dice.uniform(1e4, 1e6)
        _changed(node, dice)
        text = json.dumps(node)
        asked_all = _told(_judge(plans), json.loads(text))
        assert _told(judge, json.loads(text)) == asked_all, (number, text)
