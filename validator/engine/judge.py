"""Judges plans by one composed edition: rules give verdicts, which become findings."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Protocol

from speccheck.validator.editions.compose import ComposedEdition, JudgedClause
from speccheck.validator.editions.edition import OwnNumber
from speccheck.validator.engine.applicability import (
    APPLIES,
    Applicability,
    Mentioned,
    applicability_of,
    lacking,
)
from speccheck.validator.engine.rule_index import ListedRule
from speccheck.validator.engine.selection import weight_of
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.plan import UNSEEN, Doubts, TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import (
    MissingEvidence,
    Value,
    is_of_branch,
)
from speccheck.validator.rule import Numbers, Rule, Verdict

_NO_RULE = Verdict("unknown", "no rule judges this clause yet")
_WHOLE_NODE = "node"  # subject of a rule that judges no part by itself


class JobContext(Record):
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


class BoundRule(Record):
    """A rule with its arguments: what it says of one plan, or of the parts of a node.

    Attributes:
        of: the rule as it judges its clause.
        rule: the same, imported.
        arguments: of its function; a part is put in its place before it is judged.
        evidence: of the plan, with the leaves that are looked at in vain.
        at: the place of the part among the arguments.
        parts: of the node, where it judges one after another.
        by_edition: the same by the edition's own numbers, where some are tailored.

    """

    of: "ClauseRule"
    rule: Rule
    arguments: list[object]
    evidence: Evidence
    at: int = -1
    parts: _Parts | None = None
    by_edition: "BoundRule | list[Finding] | None" = None

    @property
    def pieces(self) -> int:
        """How many parts it judges; 1 for all at once."""
        return 1 if self.parts is None else len(self.parts.shown)

    def judge_piece(self, number: int) -> list[Finding]:
        """Return what the rule says of one part, or of all at once."""
        rule, doubts = self.rule, self.evidence.by_kind.get(Doubts)
        subject = _WHOLE_NODE if rule.scope == "node" else ""
        if self.parts is not None:
            part = self.arguments[self.at] = self.parts.shown[number]
            subject = part.title
        if doubts is not None:
            doubts.forget()
        verdicts: list[Verdict] = []
        findings: list[Finding] | None = None
        try:
            verdicts.extend(rule.function(*self.arguments))
        except MissingEvidence as missing:
            if verdicts:
                verdicts.append(_missing(missing))
            else:
                findings = self.of.undecided(missing)
        except Exception as error:  # noqa: BLE001 - one broken rule must not stop a run
            verdicts.append(_broken(rule, error))
        if findings is None:
            if doubts is not None and doubts.seen:
                verdicts = _doubted(verdicts, doubts)
            judged = self.of.judged
            findings = [
                finding_of(judged, rule, verdict, self.evidence) for verdict in verdicts
            ]
            findings = assuming(findings, () if doubts is None else doubts.assumed)
        if subject:
            findings = [finding._replace(subject=subject) for finding in findings]
        if self.by_edition is None:
            return findings
        return self._beside_edition(self.by_edition, findings, number)

    def _beside_edition(
        self, bound: "BoundRule | list[Finding]", findings: list[Finding], number: int
    ) -> list[Finding]:
        """Return findings by own numbers beside those by the edition's."""
        from speccheck.validator.engine.tailoring import (  # noqa: PLC0415 - of few
            beside_edition,
            values_text,
        )

        of = self.of
        values = values_text(of.tailored(self.rule), of.own_numbers)
        released = None if isinstance(bound, list) else bound.judge_piece(number)
        return beside_edition(values, findings, released, of.silent[0])

    def passes(self, number: int) -> bool:
        """Return whether the rule says of a part, or of all, that it holds.

        That is `judge_piece` without its findings, for callers that have no use for
        these. Nothing passes unseen by numbers that are not the edition's.
        """
        if self.by_edition is not None:
            return False
        if self.parts is not None:
            self.arguments[self.at] = self.parts.shown[number]
        doubts = self.evidence.by_kind.get(Doubts)
        if doubts is not None:
            doubts.forget()
        try:
            outcomes = [
                verdict.outcome for verdict in self.rule.function(*self.arguments)
            ]
        except Exception:  # noqa: BLE001 - `judge_piece` says what it is
            return False
        if doubts is not None and doubts.seen:
            return False
        return bool(outcomes) and outcomes.count("pass") == len(outcomes)

    def rest(self) -> list[Finding]:
        """Return what is said of parts that may be there, and are not known."""
        parts = self.parts
        if parts is None or parts.count.is_known:
            return []
        missing = MissingEvidence(parts.count.name, parts.count.note)
        return self.of.undecided(missing)


class ClauseRule:
    """A rule of a clause, with the numbers of that clause."""

    __slots__ = (
        "_as_released",
        "_edition",
        "_listed",
        "_numbers",
        "_rule",
        "_undecided",
        "frameworks",
        "judged",
        "own_numbers",
        "silent",
        "triggers",
    )

    def __init__(
        self,
        rule: ListedRule,
        judged: JudgedClause,
        edition: ComposedEdition,
        own_numbers: Mapping[str, OwnNumber],
    ) -> None:
        """Take the rule, its clause, and where the numbers are.

        Args:
            rule: not imported yet.
            judged: its clause.
            edition: with own numbers, where there are some.
            own_numbers: of the clause, by name: what is tailored.

        """
        self._listed = rule
        self.frameworks = rule.frameworks
        self.triggers = rule.about
        self.judged = judged
        self.own_numbers = own_numbers
        self.silent = [finding_of(judged, rule, Verdict("not_applicable", ""))]
        self._edition = edition
        self._rule: Rule | None = None  # until a plan comes that it judges
        self._undecided: dict[tuple[str, str], list[Finding]] = {}
        self._numbers: dict[JobContext, Numbers] = {}
        self._as_released: ClauseRule | None = None
        if own_numbers:
            released = _as_released(edition, judged)
            self._as_released = ClauseRule(rule, judged, released, {})

    def bind(
        self, evidence: Evidence, context: JobContext
    ) -> "BoundRule | list[Finding]":
        """Return the rule with its arguments, or what is said without it."""
        needs = self._listed.needs
        lacks = lacking(evidence, needs) if needs else None
        if lacks is not None:
            return self.undecided(MissingEvidence(lacks.name, lacks.note))
        rule = self._rule
        if rule is None:
            rule = self._rule = self._listed.load()
        known = evidence.by_kind
        try:
            try:
                arguments = [known[kind] for kind, _ in rule.evidence]
            except KeyError:
                arguments = _with_gaps(rule, evidence)
            if rule.numbers is not None:
                arguments.insert(
                    rule.numbers_at, self._numbers_of(rule.numbers, context)
                )
            bound = BoundRule(self, rule, arguments, evidence)
            if rule.each_at >= 0:
                at = rule.each_at + (-1 < rule.numbers_at <= rule.each_at)
                bound = bound._replace(at=at, parts=arguments[at])
        except MissingEvidence as missing:
            return self.undecided(missing)
        except Exception as error:  # noqa: BLE001 - one broken rule must not stop a run
            return [finding_of(self.judged, rule, _broken(rule, error))]
        if self._as_released is None or not self.tailored(rule):
            return bound
        return bound._replace(by_edition=self._as_released.bind(evidence, context))

    def tailored(self, rule: Rule) -> list[str]:
        """Return the names of the own numbers that the rule reads."""
        if rule.numbers is None:
            return []
        return [
            name for name in rule.numbers.__annotations__ if name in self.own_numbers
        ]

    def undecided(self, missing: MissingEvidence) -> list[Finding]:
        """Return the finding of a missing fact, the same for all plans that lack it."""
        key = missing.name, missing.reason
        findings = self._undecided.get(key)
        if findings is None:
            findings = [finding_of(self.judged, self._listed, _missing(missing))]
            self._undecided[key] = findings
        return findings

    def _numbers_of(self, wanted: type[Numbers], context: JobContext) -> Numbers:
        result = self._numbers.get(context)
        if result is not None:
            return result
        clause = self.judged.clause.id
        known = self._edition.numbers(
            clause, nodes=context.nodes, precision=context.precision
        )
        numbers = {name: known[name] for name in wanted.__annotations__}
        for name, number in numbers.items():
            if number is None and not isinstance(
                wanted.__annotations__[name], UnionType
            ):
                reason = "the edition has no value for this cluster"
                missing = f"{clause}.{name}"
                raise MissingEvidence(missing, reason)
        result = self._numbers[context] = wanted(**numbers)
        return result


class _Terms(Record):
    """On which terms the rules of a clause are asked.

    Attributes:
        only_failures: what they say beside failures does not count.
        because: the least scale of the job, by which alone the clause applies.
        unless_failed: what is said where they find no failure; empty for their words.

    """

    only_failures: bool = False
    because: str = ""
    unless_failed: tuple[Finding, ...] = ()

    def counting(self, findings: list[Finding]) -> list[Finding]:
        """Return the findings that count, a failure with why it is one."""
        if self.only_failures or self.unless_failed:
            findings = _failures(findings)
        if not self.because:
            return findings
        return [
            finding._replace(note="; ".join(filter(None, (finding.note, self.because))))
            if finding.outcome == "fail" and self.because not in finding.message
            else finding
            for finding in findings
        ]


_PLAIN_TERMS = _Terms()
_FAILURES_ALONE = _Terms(only_failures=True)


class RuleCall(Record):
    """A rule to ask of a plan and many machines.

    Attributes:
        rule: what to bind to the evidence of a machine.
        context: of the job.
        terms: of its clause.

    """

    rule: ClauseRule
    context: JobContext
    terms: _Terms

    def counting(self, findings: list[Finding]) -> list[Finding]:
        """Return the findings that count."""
        return self.terms.counting(findings)


class _Clause:
    """A clause, with what is made once for all plans that it judges."""

    __slots__ = ("closed", "judged", "rules")

    def __init__(self, judged: JudgedClause) -> None:
        self.judged = judged
        self.rules: Sequence[ClauseRule] | None = None  # until it first applies
        # What is said of plans to which it does not, or may not, apply.
        self.closed: dict[Applicability, list[Finding]] = {}


class Judge:
    """Judges plans by one composed edition.

    What does not depend on a plan is made once: numbers of clauses, and the findings of
    clauses and rules that do not apply, most of all findings.
    """

    __slots__ = ("_clauses", "_rules", "composed")

    def __init__(
        self, edition: ComposedEdition, rules: Mapping[str, Sequence[ListedRule]]
    ) -> None:
        """Take the edition to judge by.

        Args:
            edition: the clauses with levels and numbers of the profiles in force.
            rules: by clause id; a clause is looked up when it first applies.

        """
        self.composed = edition
        self._rules = rules
        # Clauses of which no plan changes what is said stand here as their findings.
        self._clauses: list[_Clause | list[Finding]] = []
        for judged in edition.clauses:
            # Without a rule nothing is said of a clause that needs a live machine.
            is_silent = judged.live_only and judged.clause.id not in rules
            if not judged.is_selected or is_silent:
                continue
            clause = _Clause(judged)
            if not judged.not_applicable:
                self._clauses.append(clause)
                continue
            closed = self._closed(
                clause, Applicability(applies=False, reason=judged.not_applicable)
            )
            last = self._clauses[-1] if self._clauses else None
            if isinstance(last, list):
                last += closed
            else:
                self._clauses.append([*closed])

    def __call__(self, evidence: Evidence) -> list[Finding]:
        """Judge one plan.

        Args:
            evidence: holds at least the TrainingPlan and its sections.

        Returns:
            Findings in the order of the clauses. One that applies and has no rule is
            unknown; one that needs a live node can fail by files, and never pass.

        """
        context = _context(evidence[TrainingPlan])
        findings: list[Finding] = []
        for without_rules, rules, terms in self._by_clause(evidence):
            if not rules:
                findings += without_rules
                continue
            result = [*without_rules]
            for rule in rules:
                bound = rule.bind(evidence, context)
                if isinstance(bound, list):
                    result += bound
                    continue
                of_rule: list[Finding] = []
                for number in range(bound.pieces):
                    of_rule += bound.judge_piece(number)
                result += (of_rule + bound.rest()) or rule.silent
            findings += terms.counting(result) or terms.unless_failed
        return findings

    def calls(self, evidence: Evidence) -> tuple[list[Finding], list[RuleCall]]:
        """Return what is said without a rule, and the rules to ask.

        For callers that ask them of a plan and many machines: what a machine says
        changes neither, as long as the plan stays the same.
        """
        context = _context(evidence[TrainingPlan])
        findings: list[Finding] = []
        calls: list[RuleCall] = []
        for without_rules, rules, terms in self._by_clause(evidence):
            findings += (*without_rules, *terms.unless_failed)
            calls += (RuleCall(rule, context, terms) for rule in rules)
        return findings, calls

    def _by_clause(
        self, evidence: Evidence
    ) -> Iterator[tuple[list[Finding], Sequence[ClauseRule], _Terms]]:
        """Yield what is said of clauses without a rule, and the rules to ask."""
        plan = evidence[TrainingPlan]
        mentioned = Mentioned(plan, evidence.get(Environment))
        known: dict[tuple[str, ...], Applicability] = {(): APPLIES}
        for clause in self._clauses:
            if isinstance(clause, list):
                yield clause, (), _PLAIN_TERMS
                continue
            conditions = clause.judged.clause.applies_when
            applicability = known.get(conditions)
            if applicability is None:
                applicability = applicability_of(conditions, plan, self.composed, known)
            if applicability.applies or applicability.keeps_failures:
                yield self._of_rules(clause, applicability, mentioned)
            else:
                yield self._closed(clause, applicability), (), _PLAIN_TERMS

    def _of_rules(
        self, clause: _Clause, applicability: Applicability, mentioned: Mentioned
    ) -> tuple[list[Finding], Sequence[ClauseRule], _Terms]:
        """Return what is said without its rules, those to ask, and on which terms."""
        if clause.rules is None:
            clause.rules = self._clause_rules(clause.judged)
        silent: list[Finding] = []
        rules: list[ClauseRule] = []
        for rule in clause.rules:
            if mentioned.concerns(rule):
                rules.append(rule)
            else:
                silent += rule.silent
        if not clause.rules or (not applicability.applies and not rules):
            return self._closed(clause, applicability), (), _PLAIN_TERMS
        terms = _FAILURES_ALONE if clause.judged.live_only else _PLAIN_TERMS
        if not applicability.applies:
            closed = tuple(self._closed(clause, applicability))
            return [], rules, terms._replace(unless_failed=closed)
        if applicability.bounds:
            terms = terms._replace(because="; ".join(applicability.bounds))
        return _failures(silent) if terms.only_failures else silent, rules, terms

    def _closed(self, clause: _Clause, applicability: Applicability) -> list[Finding]:
        """Return what is said where a clause does not apply, or no rule judges it."""
        findings = clause.closed.get(applicability)
        if findings is None:
            judged, missing = clause.judged, applicability.missing
            verdict = Verdict("not_applicable", applicability.reason)
            if applicability.applies or (
                missing and not self._rules.get(judged.clause.id)
            ):
                verdict = _NO_RULE  # no fact that is missing would help
            elif missing:
                verdict = Verdict("unknown", applicability.reason, missing=missing)
            findings = [finding_of(judged, None, verdict)]
            if judged.live_only:
                findings = _failures(findings)
            clause.closed[applicability] = findings
        return findings

    def _clause_rules(self, judged: JudgedClause) -> Sequence[ClauseRule]:
        clause = judged.clause
        own: dict[str, OwnNumber] = {}
        if any(number.released for number in clause.numbers.values()):
            own = {
                number.number: number
                for number in self.composed.edition.tailoring
                if number.clause == clause.id
            }
        rules = self._rules.get(clause.id, ())
        return [ClauseRule(rule, judged, self.composed, own) for rule in rules]


def _context(plan: TrainingPlan) -> JobContext:
    return JobContext(
        plan.value("cluster.nodes").value, plan.value("precision.compute_dtype").value
    )


def _failures(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.outcome in {"fail", "error"}]


def _with_gaps(rule: Rule, evidence: Evidence) -> list[object]:
    """Return the evidence of a rule, None for what it may lack.

    Raises MissingEvidence for another kind: of parts, by what snapshots call them
    (`CollectiveRuns` are collective_runs).
    """
    known = evidence.by_kind
    for kind, may_lack in rule.evidence:
        if kind not in known and not may_lack:
            name = getattr(getattr(kind, "part", kind), "kind", "") or kind.__name__
            raise MissingEvidence(name, "no source gives it")
    return [known.get(kind) for kind, _ in rule.evidence]


def _as_released(edition: ComposedEdition, judged: JudgedClause) -> ComposedEdition:
    """Return the edition with the clause as it was released."""
    own = edition.edition
    clause = own.clauses[judged.clause.id]
    numbers = {
        name: number.released or number for name, number in clause.numbers.items()
    }
    clauses = {**own.clauses, clause.id: clause._replace(numbers=numbers)}
    return edition._replace(edition=own._replace(clauses=clauses))


def _broken(rule: Rule, error: Exception) -> Verdict:
    """Return the verdict of a rule that raised: our mistake, and none on the plan."""
    message = f"{rule.name} broke: {type(error).__name__}: {error}"
    return Verdict("error", message)


def _missing(evidence: MissingEvidence) -> Verdict:
    """Return the verdict of a rule that needs what is not known."""
    if evidence.name == UNSEEN:
        return Verdict("unknown", evidence.reason, missing=(UNSEEN,))
    message = f"needs {evidence.name}"
    if evidence.reason:
        message += f" ({evidence.reason})"
    return Verdict("unknown", message, missing=(evidence.name,))


def _doubted(verdicts: list[Verdict], doubts: Doubts) -> list[Verdict]:
    """Return the verdicts without a pass: the rule read a leaf that has no value.

    Nor with a failure for want of a variable where not all of them were seen: what
    fails by a variable that is set names its place.
    """
    kept = [
        verdict
        for verdict in verdicts
        if verdict.outcome not in {"pass", "fail"}
        or (verdict.outcome == "fail" and not doubts.is_for_want(verdict.places))
    ]
    if len(kept) == len(verdicts) or any(
        verdict.outcome == "unknown" for verdict in kept
    ):
        return kept
    leaf = next(iter(doubts.seen.values()))
    return [*kept, _missing(MissingEvidence(leaf.name, leaf.note))]


def assuming(findings: list[Finding], conditions: Collection[str]) -> list[Finding]:
    """Return findings whose failures say under which conditions they hold.

    What holds only under a condition, such as a variable that is not set, is no error:
    where the job is started, it may be otherwise.

    Args:
        findings: of one rule.
        conditions: of the leaves that it looked at, in words.

    """
    return [
        _assuming(finding, conditions) if finding.outcome == "fail" else finding
        for finding in findings
    ]


def _all_of(conditions: Iterable[str]) -> str:
    """Return conditions as one: `A and B are not set and line 3 runs`."""
    unset = " is not set"
    names = [text.removesuffix(unset) for text in conditions if text.endswith(unset)]
    others = [text for text in conditions if not text.endswith(unset)]
    if names:
        *most, last = names
        verb = "are not set" if most else "is not set"
        listed = f"{', '.join(most)} and {last}" if most else last
        others.insert(0, f"{listed} {verb}")
    return " and ".join(others)


def _assuming(finding: Finding, conditions: Collection[str]) -> Finding:
    of_places = dict.fromkeys(place.only_if for place in finding.places)
    stated = [condition for condition in of_places if condition]
    # A rule looks at more than it speaks of; an error rests on all of it.
    rests_on = conditions if finding.level == "error" or not finding.places else ()
    every = dict.fromkeys([*rests_on, *stated])
    # What stands together in one branch is wrong whenever it runs.
    if not every or (list(every) == list(of_places) and is_of_branch(*every)):
        return finding
    level = "warning" if finding.level == "error" else finding.level
    message = f"if {_all_of(every)}: {finding.message}"
    return finding._replace(level=level, message=message)


def programs_of(evidence: Evidence) -> Iterator[str]:
    """Yield the programs that a remedy may name: framework, engines, launcher."""
    plan = evidence[TrainingPlan]
    main = plan.value("run.framework").value
    if main is not None:
        yield main
    stated = evidence.get(StatedKeys)
    for file in () if stated is None else stated.files:
        if file.catalogue is not None:
            yield file.catalogue.family
    launcher = plan.value("recovery.launcher").value
    if launcher is not None:
        yield launcher


def finding_of(
    judged: JudgedClause,
    rule: ListedRule | None,
    verdict: Verdict,
    evidence: Evidence | None = None,
) -> Finding:
    """Return a verdict with what its clause and its rule say of it.

    Args:
        judged: the clause.
        rule: the rule that judged it; None where none did.
        verdict: what it says.
        evidence: of the plan, for a remedy in the words of its programs.

    """
    clause = judged.clause
    has_failed = verdict.outcome == "fail"
    remedy = verdict.remedy
    if has_failed and not remedy:
        remedy = clause.remedy
        if clause.remedies and evidence is not None:
            remedy = clause.remedy_for(programs_of(evidence))
    note = verdict.note
    if clause.deprecated is not None and has_failed:
        note = "; ".join(filter(None, (note, clause.deprecated.text)))
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
        remedy=remedy,
        missing=verdict.missing,
        note=note,
        confidence="exact" if rule is None else rule.confidence,
        action=verdict.action,
        fix=verdict.fix,
        hosts=verdict.hosts,
    )
