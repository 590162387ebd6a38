"""A second edition over the same evidence, of which only warnings come.

What fails by it and not by the edition that counts is a warning that names it, so that
a team meets the next edition before it binds. It is no error, changes no count of
clauses and no verdict; only `--fail-on warning` asks for its warnings.
"""

from collections.abc import Iterable, Iterator

from speccheck.validator.engine.assemble import PlanEvidence
from speccheck.validator.engine.edition_in_use import SecondEdition
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.evidence.finding import Finding, Level
from speccheck.validator.rule.clause_outcome import by_clause
from speccheck.validator.run.plan_judge import JudgedPlan, OfAllPlans, PlanJudge
from speccheck.validator.sources.joining.grouping import PlanFiles

_CAPPED: dict[Level, Level] = {"error": "warning"}
_RANK = {"may": 0, "should": 1, "must": 2}
_Key = tuple[object, ...]


class Second:
    """Judges plans by the second edition, after the first has judged them."""

    def __init__(self, request: Request) -> None:
        """Load the edition; raises what `PlanJudge` raises."""
        # Waivers count for it too; that they do is told of the first alone.
        self._of_all = OfAllPlans()
        self._request = request._replace(
            spec=request.warned or request.spec,
            warned=None,
            tailoring=None,
            edits=False,
            keeps_plans=False,
        )
        self._judges: dict[Judging, PlanJudge] = {}
        self._found = 0
        self._unknown: set[str] = set()
        self._broken: set[str] = set()
        self._edition = self._judge_of(request.judging).edition

    @property
    def told(self) -> SecondEdition:
        """What came of all plans."""
        return SecondEdition(
            self._edition, self._found, len(self._unknown), len(self._broken)
        )

    def _judge_of(self, judging: Judging) -> PlanJudge:
        judge = self._judges.get(judging)
        if judge is None:
            request = self._request.judging_by(judging)
            judge = PlanJudge(request, proposes=False, shared=self._of_all)
            self._judges[judging] = judge
        return judge

    def beside(
        self,
        judged: JudgedPlan,
        group: PlanFiles,
        evidence: PlanEvidence,
        first: PlanJudge,
    ) -> JudgedPlan:
        """The plan with what the second edition gives more; first: who judged it."""
        second = self._judge_of(first.request.judging)
        found = second.judged(group, evidence).findings
        given = [one.finding for one in judged.findings]
        self._note_gaps(given, [one.finding for one in found])
        known = {_key(one) for one in given if one.outcome == "fail"}
        loosened = {(one.clause, one.rule) for one in given if one.is_loosened}
        more = tuple(
            self._warning(one)
            for one in found
            if one.finding.outcome == "fail"
            and _key(one.finding) not in known
            and (one.finding.clause, one.finding.rule) not in loosened
        )
        self._found += sum(one.finding.waiver is None for one in more)
        _note_used(first, more)
        raised = {
            _key(one.finding): one.finding
            for one in found
            if one.finding.outcome == "fail"
        }
        findings = (*self._with_levels(judged.findings, raised), *more)
        return judged._replace(findings=findings)

    def _warning(self, one: LocatedFinding) -> LocatedFinding:
        finding = one.finding
        note = f"by edition {self._edition.id} alone, which only warns"
        return one._replace(
            finding=finding._replace(
                level=_CAPPED.get(finding.level, finding.level),
                note=f"{finding.note}; {note}" if finding.note else note,
                edition=self._edition.id,
            )
        )

    def _with_levels(
        self, given: Iterable[LocatedFinding], raised: dict[_Key, Finding]
    ) -> Iterator[LocatedFinding]:
        """What both give, once; with a word where the second weighs it more."""
        for one in given:
            finding = one.finding
            other = raised.get(_key(finding)) if finding.outcome == "fail" else None
            if other and _RANK[other.clause_level] > _RANK[finding.clause_level]:
                note = f"a {other.clause_level} of edition {self._edition.id}"
                text = f"{finding.note}; {note}" if finding.note else note
                yield one._replace(finding=finding._replace(note=text))
            else:
                yield one

    def _note_gaps(self, given: list[Finding], found: list[Finding]) -> None:
        known = {o.clause for o in by_clause(given) if o.outcome == "unknown"}
        self._unknown |= {
            o.clause
            for o in by_clause(found)
            if o.outcome == "unknown" and o.clause not in known
        }
        broken = {one.rule for one in given if one.outcome == "error"}
        self._broken |= {
            one.rule
            for one in found
            if one.outcome == "error" and one.rule not in broken
        }


def _note_used(first: PlanJudge, more: Iterable[LocatedFinding]) -> None:
    """What waives only failures of the second edition is not idle."""
    waivers = {one.finding.waiver for one in more if one.finding.waiver}
    silence = first.silence
    if waivers and silence is not None:
        silence.used.update(
            index
            for index, entry in enumerate(silence.entries)
            if entry.waiver in waivers
        )


def _key(finding: Finding) -> _Key:
    return finding.clause, finding.rule, finding.subject, finding.places
