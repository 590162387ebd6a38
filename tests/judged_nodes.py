"""Judges snapshots that exist in memory only: what each rule says of each part."""

from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from speccheck.validator.assemble import assemble
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.node.node import KINDS
from speccheck.validator.run import PlanJudge, Request
from speccheck.validator.selection import Selection
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.documents.document import Document, SourceNode
from speccheck.validator.sources.files import FileStatus, ReadFile
from speccheck.validator.sources.formats.snapshot import READER
from speccheck.validator.sources.source import Source

Snapshot = dict[str, Any]
Verdict = tuple[str, str, str]  # clause, rule, outcome
NAME = "node.json"


@cache
def _judge(rules: tuple[str, ...]) -> PlanJudge:
    request = Request(arguments=(NAME,), selection=Selection(select=rules))
    return PlanJudge(request, proposes=False)


@cache
def _source() -> Source:
    return Source(NAME, "{}", "json")


def findings(snapshot: Mapping[str, Any], rules: tuple[str, ...] = ()) -> list[Finding]:
    """The findings about a snapshot, of these rules or of all."""
    document = Document(
        name=NAME, language="json", text="{}", data=snapshot, find_nodes=_no_nodes
    )
    file = ReadFile(
        FileStatus(NAME), _source(), READER.format, "node", (READER.read(document),)
    )
    evidence = assemble([file], Context())
    judge = _judge(rules).judge_of(evidence.plan, scopes=evidence.scopes)
    return judge(evidence.by_type)


def _no_nodes() -> SourceNode:
    raise AssertionError(NAME)


def verdicts(
    snapshot: Mapping[str, Any], rules: tuple[str, ...] = ()
) -> Counter[Verdict]:
    """How often each rule says what of a snapshot."""
    found = findings(snapshot, rules)
    return Counter((one.clause, one.rule, one.outcome) for one in found)


def failing(snapshot: Mapping[str, Any]) -> set[str]:
    """The rules that break, or fail as a warning or an error."""
    return {
        one.rule
        for one in findings(snapshot)
        if one.outcome == "error" or (one.outcome == "fail" and one.level != "info")
    }


def leaves(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """The kind and the name of each leaf that the first part of its kind has."""
    for kind in KINDS:
        found = snapshot.get(kind)
        part = found[0] if isinstance(found, list) and found else found
        if isinstance(part, dict):
            for leaf in part:
                yield kind, leaf


def without(snapshot: Snapshot, kind: str, leaf: str, *, of_all: bool) -> Snapshot:
    """The snapshot without a leaf, of the first part or of all parts of a kind."""
    copied, parts = _copied(snapshot, kind, of_all=of_all)
    for part in parts:
        part.pop(leaf, None)
    return copied


def having(
    snapshot: Snapshot, kind: str, leaf: str, value: object, *, of_all: bool
) -> Snapshot:
    """The snapshot with another value of a leaf."""
    copied, parts = _copied(snapshot, kind, of_all=of_all)
    for part in parts:
        part[leaf] = value
    return copied


def _copied(
    snapshot: Snapshot, kind: str, *, of_all: bool
) -> tuple[Snapshot, list[dict[str, Any]]]:
    """A copy in which only the parts of that kind are new, and those to change."""
    found = deepcopy(snapshot[kind])
    parts = found if isinstance(found, list) else [found]
    return {**snapshot, kind: found}, parts if of_all else parts[:1]
