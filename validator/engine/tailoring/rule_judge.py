"""Runs a rule by own numbers, and by the edition's beside them.

What the edition's own numbers would fail and own ones do not is marked: nobody is to
take it for conformance. What fails by own numbers alone says so as well.
"""

from collections.abc import Sequence

from speccheck.validator.editions.compose import ComposedEdition, JudgedClause
from speccheck.validator.engine.applicability import EvidenceByType
from speccheck.validator.engine.rule_judge import Asked, RuleJudge, Under, finding_of
from speccheck.validator.engine.tailoring.told import values_text
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.rule import ListedRule, Verdict


class TailoredRuleJudge(RuleJudge):
    """Runs one rule of a clause that has own numbers."""

    __slots__ = ("_as_released", "_own", "_values")

    def __init__(
        self, rule: ListedRule, judged: JudgedClause, edition: ComposedEdition
    ) -> None:
        """Take the rule, its clause, and the edition with own numbers."""
        super().__init__(rule, judged, edition)
        self._as_released = RuleJudge(rule, judged, _released(edition, judged))
        self._own = {
            one.number: one
            for one in edition.edition.tailoring
            if one.clause == judged.clause.id
        }
        self._values = ""

    def asked(self, evidence: EvidenceByType, under: Under) -> list[Finding] | Asked:
        """What the rule is asked about, by both kinds of numbers."""
        asked = super().asked(evidence, under)
        if isinstance(asked, list) or not self._concerns():
            return asked
        return asked._replace(by_edition=self._as_released.asked(evidence, under))

    def _concerns(self) -> bool:
        """Whether the rule reads one of the own numbers."""
        rule = self._rule
        if rule is None or rule.numbers is None:
            return False
        names = [name for name in rule.numbers.__annotations__ if name in self._own]
        self._values = values_text(names, self._own)
        return bool(names)

    def piece(self, asked: Asked, number: int) -> list[Finding]:
        """What it says of one part, with what the edition's numbers would say."""
        said = super().piece(asked, number)
        if asked.by_edition is None:
            return said
        if isinstance(asked.by_edition, list):
            return [self._noted(one, "the edition has no number here") for one in said]
        return self._beside(said, self._as_released.piece(asked.by_edition, number))

    def passes(self, asked: Asked, number: int) -> bool:
        """Nothing is taken as passed unseen, where numbers are not the edition's."""
        return asked.by_edition is None and super().passes(asked, number)

    def _beside(
        self, said: Sequence[Finding], by_edition: Sequence[Finding]
    ) -> list[Finding]:
        found = [self._usable(one, by_edition) for one in said]
        failed = {one.places for one in found if one.outcome == "fail"}
        strict = {one.places for one in by_edition if one.outcome == "fail"}
        lost = [
            one
            for one in by_edition
            if one.outcome == "fail" and one.places not in failed
        ]
        marked = [
            self._noted(one, "by the edition's own number it does not fail")
            if one.outcome == "fail" and one.places not in strict
            else one
            for one in found
        ]
        for one in lost:
            self._mark(marked, one)
        return marked

    def _mark(self, found: list[Finding], lost: Finding) -> None:
        """Mark what is said of the place in place of a failure; or say so besides."""
        text = f"loosened: by the edition's own number it fails: {lost.message}"
        open_ones = [
            index
            for index, one in enumerate(found)
            if one.outcome not in {"fail", "error"} and not one.is_loosened
        ]
        same = [index for index in open_ones if found[index].places == lost.places]
        if not open_ones:
            silent = Verdict("not_applicable", "by an own number it does not apply")
            other = finding_of(self._judged, self._rule, silent)
            found.append(other._replace(subject=lost.subject))
            open_ones = [len(found) - 1]
        at = (same or open_ones)[0]
        found[at] = self._noted(found[at], text)._replace(is_loosened=True)

    def _usable(self, one: Finding, by_edition: Sequence[Finding]) -> Finding:
        """A rule that breaks on an own number alone is no bug of the rule."""
        if one.outcome != "error" or any(o.outcome == "error" for o in by_edition):
            return one
        message = f"cannot be judged by {self._values}: {one.message}"
        return one._replace(outcome="unknown", message=message)

    def _noted(self, one: Finding, text: str) -> Finding:
        note = f"tailored, {self._values}; {text}"
        return one._replace(note=f"{one.note}; {note}" if one.note else note)


def _released(edition: ComposedEdition, judged: JudgedClause) -> ComposedEdition:
    """The edition with the clause as it was released."""
    own = edition.edition
    clause = own.clauses[judged.clause.id]
    numbers = {name: one.released or one for name, one in clause.numbers.items()}
    clauses = {**own.clauses, clause.id: clause._replace(numbers=numbers)}
    return edition._replace(edition=own._replace(clauses=clauses))
