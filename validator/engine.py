"""Judges the evidence of plans: rules give verdicts, verdicts become findings."""

from collections.abc import Iterable, Mapping, Sequence
from types import UnionType
from typing import Any, Protocol

from speccheck.validator.evidence.doubt import Doubts
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.training_plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.gate import (
    OPEN,
    EvidenceByType,
    Gate,
    Spoken,
    condition_gate,
    lacking,
    unknown_gate,
)
from speccheck.validator.rule import Confidence, ListedRule, Numbers, Rule, Verdict
from speccheck.validator.spec.compose import ComposedEdition, JudgedClause
from speccheck.validator.verdicts import broken, doubted, missing_verdict, no_source
from speccheck.validator.weights import weight_of

_WHOLE_NODE = "node"  # subject of a rule that judges no part by itself
_NO_RULE = Verdict("unknown", "no rule judges this clause yet")


def judge(
    evidence: EvidenceByType,
    edition: ComposedEdition,
    rules: Mapping[str, Sequence[ListedRule]],
) -> list[Finding]:
    """Judge one plan by every selected clause, as a `Judge` does."""
    return Judge(edition, rules)(evidence)


class Judge:
    """Judges plans by one composed edition.

    What does not depend on a plan is made once: numbers of clauses, and the findings of
    clauses and rules that do not apply, most of all findings.
    """

    __slots__ = ("_clauses", "_edition")

    def __init__(
        self, edition: ComposedEdition, rules: Mapping[str, Sequence[ListedRule]]
    ) -> None:
        """Take the edition to judge by.

        Args:
            edition: the clauses with levels and numbers of the profiles in force.
            rules: by clause id; a clause is looked up when it first applies.

        """
        self._edition = edition
        # Clauses of which no plan changes what is said stand here as their findings.
        self._clauses: list[_ClauseJudge | list[Finding]] = []
        for judged in edition.clauses:
            # Without a rule nothing is told of a clause that needs a live machine.
            is_told = not judged.live_only or judged.clause.id in rules
            if judged.is_selected and is_told:
                self._add(_ClauseJudge(judged, edition, rules))

    def _add(self, clause: "_ClauseJudge") -> None:
        if clause.always_closed is None:
            self._clauses.append(clause)
            return
        if not self._clauses or not isinstance(self._clauses[-1], list):
            self._clauses.append([])
        last = self._clauses[-1]
        if isinstance(last, list):
            last += clause.closed(clause.always_closed)

    def __call__(self, evidence: EvidenceByType) -> list[Finding]:
        """Judge one plan.

        Args:
            evidence: by type; holds at least the TrainingPlan and its sections.

        Returns:
            Findings in the order of the clauses. One that applies and has no rule is
            unknown; one that needs a live node can fail by files, and never pass.

        """
        plan = evidence[TrainingPlan]
        if not isinstance(plan, TrainingPlan):
            raise TypeError(plan)
        under = _Under(
            plan.value("cluster.nodes").value,
            plan.value("precision.compute_dtype").value,
        )
        about = _About(
            plan.value("run.framework").value,
            Spoken(plan, evidence.get(Environment)),
        )
        gates: dict[tuple[str, ...], Gate] = {(): OPEN}
        findings: list[Finding] = []
        for clause in self._clauses:
            if isinstance(clause, list):
                findings += clause
                continue
            gate = gates.get(clause.applies_when)
            if gate is None:
                gate = self._gate(clause.applies_when, plan, gates)
            if gate.applies:
                findings += clause.findings(evidence, under, about)
            else:
                findings += clause.closed(gate)
        return findings

    def _gate(
        self,
        applies_when: tuple[str, ...],
        plan: TrainingPlan,
        gates: dict[tuple[str, ...], Gate],
    ) -> Gate:
        """The gate of conditions, kept for the other clauses that have them."""
        missing: tuple[str, ...] = ()
        for name in applies_when:
            gate = gates.get((name,))
            if gate is None:
                gate = condition_gate(
                    self._edition.conditions[name], plan, self._edition
                )
                gates[(name,)] = gate
            if not gate.applies and not gate.missing:
                break
            missing += gate.missing
        else:
            gate = unknown_gate(missing) if missing else OPEN
        gates[applies_when] = gate
        return gate


class _Under(Record):
    """What the numbers of a clause may depend on, beside profiles."""

    nodes: int | None
    precision: str | None


class _About(Record):
    """What tells which rules concern a plan."""

    framework: str | None
    spoken: Spoken


class _ClauseJudge:
    """Judges plans by one clause."""

    __slots__ = (
        "_closed",
        "_edition",
        "_judged",
        "_rules",
        "_rules_by_clause",
        "_unjudged",
        "always_closed",
        "applies_when",
    )

    def __init__(
        self,
        judged: JudgedClause,
        edition: ComposedEdition,
        rules: Mapping[str, Sequence[ListedRule]],
    ) -> None:
        self.applies_when = judged.clause.applies_when
        reason = judged.not_applicable
        self.always_closed = Gate(applies=False, reason=reason) if reason else None
        self._judged = judged
        self._edition = edition
        self._rules_by_clause = rules
        self._rules: list[_RuleJudge] | None = None  # until the clause first applies
        self._closed: dict[Gate, list[Finding]] = {}
        self._unjudged: list[Finding] | None = None  # what is said without a rule

    def closed(self, gate: Gate) -> list[Finding]:
        """What is said of a plan to which the clause does not, or may not, apply."""
        found = self._closed.get(gate)
        if found is None:
            verdict = Verdict("not_applicable", gate.reason)
            if gate.missing and not self._listed():
                verdict = _NO_RULE  # whatever is missing would not help
            elif gate.missing:
                verdict = Verdict("unknown", gate.reason, missing=gate.missing)
            found = [_finding(self._judged, None, verdict)]
            if self._judged.live_only:
                found = self._kept(found)
            self._closed[gate] = found
        return found

    def findings(
        self, evidence: EvidenceByType, under: _Under, about: _About
    ) -> list[Finding]:
        """What the rules of the clause say of a plan."""
        if self._rules is None:
            self._rules = [
                _RuleJudge(one, self._judged, self._edition) for one in self._listed()
            ]
        if not self._rules:
            if self._unjudged is None:
                self._unjudged = [_finding(self._judged, None, _NO_RULE)]
            return self._unjudged
        found: list[Finding] = []
        for rule in self._rules:
            is_for_it = not rule.frameworks or about.framework in rule.frameworks
            if is_for_it and (not rule.about or about.spoken.has_any(rule.about)):
                found += rule.findings(evidence, under)
            else:
                found += rule.silent
        return self._kept(found) if self._judged.live_only else found

    def _listed(self) -> Sequence[ListedRule]:
        return self._rules_by_clause.get(self._judged.clause.id, ())

    def _kept(self, findings: list[Finding]) -> list[Finding]:
        """Of a clause that needs a live machine, failures only."""
        return [one for one in findings if one.outcome in {"fail", "error"}]


class _RuleJudge:
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
        self.silent = [_finding(judged, rule, Verdict("not_applicable", ""))]
        self._unknown: dict[tuple[str, str], list[Finding]] = {}
        self._numbers: dict[_Under, Numbers] = {}

    def findings(self, evidence: EvidenceByType, under: _Under) -> list[Finding]:
        """What the rule says of a plan, or of each part of a node."""
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
                said = self._said(rule, arguments, doubts)
                if rule.scope == "node":
                    said = [one._replace(subject=_WHOLE_NODE) for one in said]
                return said or self.silent
            at = rule.each_at + (-1 < rule.numbers_at <= rule.each_at)
            parts = _parts(arguments[at])
        except MissingEvidence as missing:
            return self._kept_unknown(missing)
        except Exception as error:  # noqa: BLE001 - one broken rule must not stop a run
            return [_finding(self._judged, rule, broken(rule, error))]
        found: list[Finding] = []
        for part in parts.shown:
            arguments[at] = part
            of_part = self._said(rule, arguments, doubts)
            found += (one._replace(subject=part.title) for one in of_part)
        if not parts.count.is_known:
            found += self._kept_unknown(
                MissingEvidence(parts.count.name, parts.count.note)
            )
        return found or self.silent

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
        return [_finding(self._judged, rule, one) for one in verdicts]

    def _kept_unknown(self, missing: MissingEvidence) -> list[Finding]:
        """The finding of a missing fact, made once for all plans that lack it."""
        lack = missing.name, missing.reason
        found = self._unknown.get(lack)
        if found is None:
            found = [_finding(self._judged, self._listed, missing_verdict(missing))]
            self._unknown[lack] = found
        return found

    def _arguments(
        self, rule: Rule, evidence: EvidenceByType, under: _Under
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

    def _numbers_under(self, wanted: type[Numbers], under: _Under) -> Numbers:
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


class _Part(Protocol):
    title: str


class _Parts(Protocol):
    """Those that are known; there may be more where their count is not."""

    shown: tuple[_Part, ...]
    count: Value[int]


def _parts(found: object) -> _Parts:
    """The parts of a node that a rule judges one by one."""
    parts: Any = found
    told: _Parts = parts
    return told


def _finding(
    judged: JudgedClause, rule: ListedRule | None, verdict: Verdict
) -> Finding:
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
        note=verdict.note,
        confidence=confidence,
        action=verdict.action,
        fix=verdict.fix,
    )
