"""What a node said of itself: the result line of its own pre-flight."""

from collections.abc import Iterator, Mapping
from sys import intern
from typing import Any, get_args

from speccheck.validator.evidence.finding import Action, Finding, Level
from speccheck.validator.evidence.fleet import FleetNode
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.reading import Report

VERDICTS = ("go", "no-go", "inconclusive", "usage", "bug")
_LEVELS = get_args(Level)
_ACTIONS = get_args(Action)
_MOST_FINDINGS = 200
_MOST_FACTS = 200
_MOST_TEXT = 500


class OwnResult(Record):
    """A node by its own word.

    facts: what all nodes should share. reason: why its verdict is what it is.
    """

    node: FleetNode
    facts: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    reason: str = ""


def own_result(report: Report) -> OwnResult:
    """The result of a line; of a verdict that nobody knows it is a bug."""
    content = report.content
    told = content.get("verdict")
    verdict = told if isinstance(told, str) and told in VERDICTS else "bug"
    node = FleetNode(
        name=report.name,
        file=report.file,
        taken=report.taken,
        verdict=verdict,
        is_whole=False,
        is_synthetic="synthetic" in content,
        release=_text(content.get("tool"), "version"),
    )
    facts = content.get("facts")
    return OwnResult(
        node,
        tuple(_facts(facts)) if isinstance(facts, dict) else (),
        tuple(_findings(content.get("findings"))),
        _text(content, "reason"),
    )


def _facts(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for leaf, value in [*facts.items()][:_MOST_FACTS]:
        if isinstance(value, str):
            yield intern(leaf[:_MOST_TEXT]), intern(value[:_MOST_TEXT])


def _findings(found: object) -> Iterator[Finding]:
    if not isinstance(found, list):
        return
    for one in found[:_MOST_FINDINGS]:
        level, action = _text(one, "level"), _text(one, "action")
        if level not in _LEVELS:
            continue
        yield Finding(
            clause=intern(_text(one, "clause")),
            title="",
            clause_level={"error": "must", "warning": "should"}.get(level, "may"),  # type: ignore[arg-type]
            rule=intern(_text(one, "rule")),
            level=level,  # type: ignore[arg-type]
            outcome="fail",
            message=_text(one, "message"),
            subject=_text(one, "subject"),
            action=action if action in _ACTIONS else None,  # type: ignore[arg-type]
        )


def _text(found: object, name: str) -> str:
    value = found.get(name) if isinstance(found, dict) else None
    return value[:_MOST_TEXT] if isinstance(value, str) else ""
