"""Judges the evidence of plans: rules give verdicts, verdicts become findings."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.editions.compose import ComposedEdition, JudgedClause
from speccheck.validator.engine.applicability import (
    OPEN,
    EvidenceByType,
    Gate,
    Spoken,
    condition_gate,
    unknown_gate,
)
from speccheck.validator.engine.rule_judge import RuleJudge, Under, finding_of
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.rule import ListedRule, Verdict

_NO_RULE = Verdict("unknown", "no rule judges this clause yet")


class Question(Record):
    """A rule to ask about evidence.

    only_failures: what it says beside failures does not count.
    """

    rule: RuleJudge
    under: Under
    only_failures: bool

    def counting(self, findings: list[Finding]) -> list[Finding]:
        """Of what it says, what counts."""
        return _failures(findings) if self.only_failures else findings


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

    @property
    def composed(self) -> ComposedEdition:
        """What it judges by."""
        return self._edition

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
        under, about, plan = _of_plan(evidence)
        findings: list[Finding] = []
        for clause, gate in self._gated(plan):
            if isinstance(clause, list):
                findings += clause
            elif gate.applies:
                findings += clause.findings(evidence, under, about)
            else:
                findings += clause.closed(gate)
        return findings

    def questions(
        self, evidence: EvidenceByType
    ) -> tuple[list[Finding], list[Question]]:
        """What is found without a rule, and the rules to ask.

        For who asks them about a plan and many machines: what a machine says changes
        neither, as long as the plan stays the same.
        """
        under, about, plan = _of_plan(evidence)
        findings: list[Finding] = []
        questions: list[Question] = []
        for clause, gate in self._gated(plan):
            if isinstance(clause, list):
                findings += clause
            elif gate.applies:
                found, rules = clause.questions(about)
                findings += found
                questions += (Question(one, under, clause.is_live) for one in rules)
            else:
                findings += clause.closed(gate)
        return findings, questions

    def _gated(
        self, plan: TrainingPlan
    ) -> "Iterator[tuple[_ClauseJudge | list[Finding], Gate]]":
        """The clauses in order, each with whether it applies."""
        gates: dict[tuple[str, ...], Gate] = {(): OPEN}
        for clause in self._clauses:
            if isinstance(clause, list):
                yield clause, OPEN
                continue
            gate = gates.get(clause.applies_when)
            if gate is None:
                gate = self._gate(clause.applies_when, plan, gates)
            yield clause, gate

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


class _About(Record):
    """What tells which rules concern a plan."""

    framework: str | None
    spoken: Spoken


def _of_plan(evidence: EvidenceByType) -> tuple[Under, _About, TrainingPlan]:
    plan = evidence[TrainingPlan]
    if not isinstance(plan, TrainingPlan):
        raise TypeError(plan)
    under = Under(
        plan.value("cluster.nodes").value,
        plan.value("precision.compute_dtype").value,
    )
    about = _About(
        plan.value("run.framework").value,
        Spoken(plan, evidence.get(Environment)),
    )
    return under, about, plan


def _failures(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.outcome in {"fail", "error"}]


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
        "is_live",
    )

    def __init__(
        self,
        judged: JudgedClause,
        edition: ComposedEdition,
        rules: Mapping[str, Sequence[ListedRule]],
    ) -> None:
        self.applies_when = judged.clause.applies_when
        self.is_live = judged.live_only  # files alone can fail it, and never pass it
        reason = judged.not_applicable
        self.always_closed = Gate(applies=False, reason=reason) if reason else None
        self._judged = judged
        self._edition = edition
        self._rules_by_clause = rules
        self._rules: list[RuleJudge] | None = None  # until the clause first applies
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
            found = [finding_of(self._judged, None, verdict)]
            if self.is_live:
                found = _failures(found)
            self._closed[gate] = found
        return found

    def findings(
        self, evidence: EvidenceByType, under: Under, about: _About
    ) -> list[Finding]:
        """What the rules of the clause say of a plan."""
        said, asked = self.questions(about)
        found = [*said]
        for rule in asked:
            found += rule.findings(evidence, under)
        return _failures(found) if self.is_live else found

    def questions(self, about: _About) -> tuple[list[Finding], list[RuleJudge]]:
        """What is found without a rule, and its rules that concern a plan."""
        if self._rules is None:
            self._rules = self._rule_judges()
        if not self._rules:
            if self._unjudged is None:
                self._unjudged = [finding_of(self._judged, None, _NO_RULE)]
            return self._unjudged, []
        found: list[Finding] = []
        asked: list[RuleJudge] = []
        for rule in self._rules:
            is_for_it = not rule.frameworks or about.framework in rule.frameworks
            if is_for_it and (not rule.about or about.spoken.has_any(rule.about)):
                asked.append(rule)
            else:
                found += rule.silent
        return _failures(found) if self.is_live else found, asked

    def _rule_judges(self) -> list[RuleJudge]:
        kind = RuleJudge
        if any(one.released for one in self._judged.clause.numbers.values()):
            from speccheck.validator.engine.tailoring.rule_judge import (  # noqa: PLC0415 - of few
                TailoredRuleJudge,
            )

            kind = TailoredRuleJudge
        return [kind(one, self._judged, self._edition) for one in self._listed()]

    def _listed(self) -> Sequence[ListedRule]:
        return self._rules_by_clause.get(self._judged.clause.id, ())
