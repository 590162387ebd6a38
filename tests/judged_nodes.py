"""Judges snapshots that exist in memory only: what each rule says of each part."""

from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.judges import Judges
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.node.node import KINDS, MEASURED
from speccheck.validator.evidence.node.part import Part
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.documents.document import Document, SourceNode
from speccheck.validator.sources.files import FileStatus, ReadFile
from speccheck.validator.sources.formats.snapshot import READER
from speccheck.validator.sources.reader import Source

Snapshot = dict[str, Any]
Verdict = tuple[str, str, str]  # clause, rule, outcome
Leaf = tuple[str, str]  # kind, name
# What is measured has tests of its own.
OF_MACHINES = {kind: part for kind, part in KINDS.items() if kind not in MEASURED}
_LOOKS_AT_NOTHING = "secret_in_file"  # a rule on texts of files
NAME = "node.json"


@cache
def _judges(rules: tuple[str, ...]) -> Judges:
    request = Request(
        arguments=(NAME,), judging=Judging(selection=Selection(select=rules))
    )
    return Judges(request)


@cache
def _source() -> Source:
    return Source(NAME, "{}", "json")


def findings(snapshot: Mapping[str, Any], rules: tuple[str, ...] = ()) -> list[Finding]:
    """Return the findings about a snapshot, of these rules or of all."""
    document = Document(
        name=NAME, language="json", text="{}", data=snapshot, find_nodes=_no_nodes
    )
    file = ReadFile(
        FileStatus(NAME), _source(), READER.format, "node", (READER.read(document),)
    )
    evidence = assemble([file], Context())
    judge = _judges(rules).of(
        evidence.plan, scopes=evidence.scopes, measured=evidence.measured
    )
    return judge(evidence)


def _no_nodes() -> SourceNode:
    raise AssertionError(NAME)


def verdicts(
    snapshot: Mapping[str, Any], rules: tuple[str, ...] = ()
) -> Counter[Verdict]:
    """Return how often each rule says what of a snapshot."""
    found = findings(snapshot, rules)
    return Counter((finding.clause, finding.rule, finding.outcome) for finding in found)


def failing(snapshot: Mapping[str, Any]) -> set[str]:
    """Return the rules that break, or fail as a warning or an error."""
    return {
        finding.rule
        for finding in findings(snapshot)
        if finding.outcome == "error"
        or (finding.outcome == "fail" and finding.level != "info")
    }


def leaves(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each leaf that the first part of its kind has."""
    for kind in KINDS:
        found = snapshot.get(kind)
        part = found[0] if isinstance(found, list) and found else found
        if isinstance(part, dict):
            for leaf in part:
                yield kind, leaf


def without(snapshot: Snapshot, kind: str, leaf: str, *, of_all: bool) -> Snapshot:
    """Return the snapshot without a leaf, of the first or all parts of a kind."""
    copied, parts = _copied(snapshot, kind, of_all=of_all)
    for part in parts:
        part.pop(leaf, None)
    return copied


def having(
    snapshot: Snapshot, kind: str, leaf: str, value: object, *, of_all: bool
) -> Snapshot:
    """Return the snapshot with another value of a leaf."""
    copied, parts = _copied(snapshot, kind, of_all=of_all)
    for part in parts:
        part[leaf] = value
    return copied


def _copied(
    snapshot: Snapshot, kind: str, *, of_all: bool
) -> tuple[Snapshot, list[dict[str, Any]]]:
    """Return a copy in which only parts of that kind and changed ones are new."""
    found = deepcopy(snapshot[kind])
    parts = found if isinstance(found, list) else [found]
    return {**snapshot, kind: found}, parts if of_all else parts[:1]


class Readers:
    """Which rules look at which leaf of a machine: no other can change its mind."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._common: set[Leaf] = set()
        self._of_rule: dict[str, set[Leaf]] = {}
        with _looks() as seen:
            findings(snapshot, (_LOOKS_AT_NOTHING,))
            self._common.update(seen)  # what every judgement reads before its rules
        for rule in rule_entries():
            if rule.scope != "plan":
                with _looks() as seen:
                    findings(snapshot, (rule.name,))
                    self._of_rule[rule.name] = seen - self._common

    def of(self, kind: str, leaf: str) -> tuple[str, ...] | None:
        """Return the rules that look at a leaf; all, (), where facts follow from it.

        None where nobody does.
        """
        if (kind, leaf) in self._common:
            return ()
        found = (rule for rule, seen in self._of_rule.items() if (kind, leaf) in seen)
        return tuple(sorted(found)) or None


@contextmanager
def _looks() -> Generator[set[Leaf]]:
    """Yield the leaves that are read meanwhile."""
    seen: set[Leaf] = set()
    read = Part.__getattr__  # of each leaf once: it is kept then

    def watched(part: Part, field: str) -> Value[Any]:
        seen.add((part.kind, field))
        return read(part, field)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Part, "__getattr__", watched)
        yield seen
