"""Runs one rule on the evidence of a plan, or on each part of a node."""

from collections.abc import Iterable
from types import UnionType
from typing import Any, Protocol

from speccheck.validator.editions.compose import ComposedEdition, JudgedClause
from speccheck.validator.editions.edition import Clause
from speccheck.validator.engine.applicability import EvidenceByType, lacking
from speccheck.validator.engine.severity import weight_of
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.plan import Doubts
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.rule import Confidence, ListedRule, Numbers, Rule, Verdict
from speccheck.validator.rule.verdicts import (
    broken,
    doubted,
    missing_verdict,
    no_source,
)

_WHOLE_NODE = "node"  # subject of a rule that judges no part by itself


class Under(Record):
    """What the numbers of a clause may depend on, beside profiles."""

    nodes: int | None
    precision: str | None


class _Part(Protocol):
    kind: str
    title: str


class _Parts(Protocol):
    """Those that are known; there may be more where their count is not."""

    part: _Part
    shown: tuple[_Part, ...]
    count: Value[int]


class Asked(Record):
    """A rule with its evidence.

    arguments: of the rule; a part is put in its place before it is asked about that.
    doubts: the leaves of the plan that it takes for unstated. at: the place of the part
    among the arguments. parts: of the node, where it judges one after another.
    by_edition: the same by the numbers of the edition itself, where some are tailored.
    """

    rule: Rule
    arguments: list[object]
    doubts: object
    at: int = -1
    parts: "_Parts | None" = None
    by_edition: "Asked | list[Finding] | None" = None

    @property
    def pieces(self) -> int:
        """How often it is asked."""
        return 1 if self.parts is None else len(self.parts.shown)


class RuleJudge:
    """Runs one rule."""

    __slots__ = (
        "_edition",
        "_judged",
        "_kinds",
        "_listed",
        "_numbers",
        "_rule",
        "_unknown",
        "about",
        "frameworks",
        "silent",
    )

    def __init__(
        self, rule: ListedRule, judged: JudgedClause, edition: ComposedEdition
    ) -> None:
        self._listed = rule
        self.frameworks = rule.frameworks
        self.about = rule.about
        self._rule: Rule | None = None  # until a plan comes that it judges
        self._kinds: tuple[type, ...] = ()
        self._judged = judged
        self._edition = edition
        self.silent = [finding_of(judged, rule, Verdict("not_applicable", ""))]
        self._unknown: dict[tuple[str, str], list[Finding]] = {}
        self._numbers: dict[Under, Numbers] = {}

    def findings(self, evidence: EvidenceByType, under: Under) -> list[Finding]:
        """What the rule says of a plan, or of each part of a node."""
        asked = self.asked(evidence, under)
        if isinstance(asked, list):
            return asked
        found: list[Finding] = []
        for number in range(asked.pieces):
            found += self.piece(asked, number)
        return (found + self.rest(asked)) or self.silent

    def asked(self, evidence: EvidenceByType, under: Under) -> "list[Finding] | Asked":
        """What the rule is asked about, or what is found without asking it."""
        needed = lacking(evidence, self._listed.needs)
        if needed is not None:
            return self._kept_unknown(MissingEvidence(needed.name, needed.note))
        rule = self._rule
        if rule is None:
            rule = self._rule = self._listed.load()
            self._kinds = tuple(kind for kind, _ in rule.evidence)
        try:
            arguments = self._arguments(rule, evidence, under)
            doubts = evidence.get(Doubts)
            if rule.each_at < 0:
                return Asked(rule, arguments, doubts)
            at = rule.each_at + (-1 < rule.numbers_at <= rule.each_at)
            return Asked(rule, arguments, doubts, at, _parts(arguments[at]))
        except MissingEvidence as missing:
            return self._kept_unknown(missing)
        except Exception as error:  # noqa: BLE001 - one broken rule must not stop a run
            return [finding_of(self._judged, rule, broken(rule, error))]

    def piece(self, asked: "Asked", number: int) -> list[Finding]:
        """What it says of one part, or of all where it judges no parts."""
        rule, arguments, parts = asked.rule, asked.arguments, asked.parts
        if parts is None:
            said = self._said(rule, arguments, asked.doubts)
            if rule.scope == "node":
                return [one._replace(subject=_WHOLE_NODE) for one in said]
            return said
        part = parts.shown[number]
        arguments[asked.at] = part
        said = self._said(rule, arguments, asked.doubts)
        return [one._replace(subject=part.title) for one in said]

    def passes(self, asked: "Asked", number: int) -> bool:
        """Whether it says of one part, or of all, that it holds, and nothing else.

        That is `piece` without its findings, for who has no use for these.
        """
        if asked.parts is not None:
            asked.arguments[asked.at] = asked.parts.shown[number]
        doubts = asked.doubts
        if isinstance(doubts, Doubts):
            doubts.forget()
        try:
            said = [one.outcome for one in asked.rule.function(*asked.arguments)]
        except Exception:  # noqa: BLE001 - `piece` says what it is
            return False
        if isinstance(doubts, Doubts) and doubts.seen:
            return False
        return bool(said) and said.count("pass") == len(said)

    def rest(self, asked: "Asked") -> list[Finding]:
        """What it says of parts that may be there, and are not known."""
        parts = asked.parts
        if parts is None or parts.count.is_known:
            return []
        return self._kept_unknown(MissingEvidence(parts.count.name, parts.count.note))

    def _said(
        self, rule: Rule, arguments: Iterable[object], doubts: object
    ) -> list[Finding]:
        """What it says of one set of evidence; nothing where it does not apply."""
        verdicts: list[Verdict] = []
        if isinstance(doubts, Doubts):
            doubts.forget()
        try:
            verdicts.extend(rule.function(*arguments))
        except MissingEvidence as missing:
            if not verdicts:
                return self._kept_unknown(missing)
            verdicts.append(missing_verdict(missing))
        except Exception as error:  # noqa: BLE001 - one broken rule must not stop a run
            verdicts.append(broken(rule, error))
        if isinstance(doubts, Doubts) and doubts.seen:
            verdicts = doubted(verdicts, next(iter(doubts.seen.values())))
        return [finding_of(self._judged, rule, one) for one in verdicts]

    def _kept_unknown(self, missing: MissingEvidence) -> list[Finding]:
        """The finding of a missing fact, made once for all plans that lack it."""
        lack = missing.name, missing.reason
        found = self._unknown.get(lack)
        if found is None:
            found = [finding_of(self._judged, self._listed, missing_verdict(missing))]
            self._unknown[lack] = found
        return found

    def _arguments(
        self, rule: Rule, evidence: EvidenceByType, under: Under
    ) -> list[object]:
        try:
            arguments = [evidence[kind] for kind in self._kinds]
        except KeyError:
            arguments = self._where_some_lack(rule, evidence)
        if rule.numbers is not None:
            numbers = self._numbers.get(under)
            if numbers is None:
                numbers = self._numbers_under(rule.numbers, under)
                self._numbers[under] = numbers
            arguments.insert(rule.numbers_at, numbers)
        return arguments

    def _where_some_lack(self, rule: Rule, evidence: EvidenceByType) -> list[object]:
        for kind, optional in rule.evidence:
            if kind not in evidence and not optional:
                raise no_source(kind)
        return [evidence.get(kind) for kind in self._kinds]

    def _numbers_under(self, wanted: type[Numbers], under: Under) -> Numbers:
        clause = self._judged.clause.id
        known = self._edition.numbers(
            clause, nodes=under.nodes, precision=under.precision
        )
        numbers = {name: known[name] for name in wanted.__annotations__}
        for name, number in numbers.items():
            kind = wanted.__annotations__[name]
            if number is None and not isinstance(kind, UnionType):
                missing = f"{clause}.{name}"
                reason = "the edition has no value for this cluster"
                raise MissingEvidence(missing, reason)
        return wanted(**numbers)


def _parts(found: object) -> _Parts:
    """The parts of a node that a rule judges one by one."""
    parts: Any = found
    told: _Parts = parts
    return told


def finding_of(
    judged: JudgedClause, rule: ListedRule | None, verdict: Verdict
) -> Finding:
    """A verdict with what its clause and its rule say of it."""
    clause = judged.clause
    confidence: Confidence = "exact" if rule is None else rule.confidence
    return Finding(
        clause=clause.id,
        title=clause.title,
        clause_level=judged.level,
        rule="" if rule is None else rule.name,
        level=weight_of(judged, rule),
        outcome=verdict.outcome,
        message=verdict.message,
        places=verdict.places,
        measured=verdict.measured,
        required=verdict.required,
        cost=verdict.cost,
        remedy=verdict.remedy or (clause.remedy if verdict.outcome == "fail" else ""),
        missing=verdict.missing,
        note=_note(clause, verdict),
        confidence=confidence,
        action=verdict.action,
        fix=verdict.fix,
        hosts=verdict.hosts,
    )


def _note(clause: Clause, verdict: Verdict) -> str:
    """What is said beside; of a failure also that its clause will be withdrawn."""
    if clause.deprecated is None or verdict.outcome != "fail":
        return verdict.note
    return "; ".join(filter(None, (verdict.note, clause.deprecated.text)))
