"""A shadow edition over the same evidence, of which only warnings come.

What fails by it and not by the edition that counts is a warning that names it, so that
a team meets the next edition before it binds. It is no error, changes no count of
clauses and no verdict; only `--fail-on warning` asks for its warnings.
"""

from collections.abc import Iterable, Iterator

from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.rule import by_clause
from speccheck.validator.run.judging import (
    JudgedPlan,
    PlanInputs,
    RunState,
    ShadowEdition,
    judge_plan,
)

_RANK = {"may": 0, "should": 1, "must": 2}
_Key = tuple[object, ...]


class ShadowJudging:
    """Judges plans by the shadow edition, after the one that counts."""

    def __init__(self, request: Request) -> None:
        """Load the edition; raises what `RunState` raises."""
        # Waivers count for it too; what comes of them is said of the first alone.
        self._state = RunState(
            request._replace(
                spec=request.warned or request.spec,
                warned=None,
                tailoring=None,
                edits=False,
                keeps_plans=False,
            ),
            proposes=False,
        )
        self._edition = self._state.judges.edition
        self._failures = 0
        self._unknown: set[str] = set()
        self._broken: set[str] = set()

    @property
    def summary(self) -> ShadowEdition:
        """What comes of all plans."""
        return ShadowEdition(
            self._edition, self._failures, len(self._unknown), len(self._broken)
        )

    def __call__(
        self, judged: JudgedPlan, inputs: PlanInputs, state: RunState
    ) -> JudgedPlan:
        """Return the plan with what the shadow edition gives more."""
        shadow = judge_plan(inputs.group, self._state, inputs.evidence).findings
        first = [finding.finding for finding in judged.findings]
        self._note_gaps(first, [located_finding.finding for located_finding in shadow])
        known = {_key(finding) for finding in first if finding.outcome == "fail"}
        loosened = {
            (finding.clause, finding.rule) for finding in first if finding.is_loosened
        }
        failed = {
            _key(located_finding.finding): located_finding
            for located_finding in shadow
            if located_finding.finding.outcome == "fail"
        }
        more = tuple(
            self._warning(located_finding)
            for located_finding in shadow
            if located_finding.finding.outcome == "fail"
            and _key(located_finding.finding) not in known
            and (located_finding.finding.clause, located_finding.finding.rule)
            not in loosened
        )
        self._failures += sum(
            located_finding.finding.waiver is None for located_finding in more
        )
        # What waives only failures of the shadow edition is not idle.
        used = {
            located_finding.finding.waiver
            for located_finding in more
            if located_finding.finding.waiver
        }
        waivers = state.waivers.get(inputs.judges.request.judging.policy)
        if used and waivers is not None:
            waivers.used.update(
                index
                for index, entry in enumerate(waivers.entries)
                if entry.waiver in used
            )
        findings = (*self._with_levels(judged.findings, failed), *more)
        return judged._replace(findings=findings)

    def _warning(self, located: LocatedFinding) -> LocatedFinding:
        finding = located.finding
        return located._replace(
            finding=_noted(
                finding, f"by edition {self._edition.id} alone, which only warns"
            )._replace(
                level="warning" if finding.level == "error" else finding.level,
                edition=self._edition.id,
            )
        )

    def _with_levels(
        self, given: Iterable[LocatedFinding], failed: dict[_Key, LocatedFinding]
    ) -> Iterator[LocatedFinding]:
        """Yield what both give, once; with a note where the shadow weighs it more."""
        for located in given:
            finding = located.finding
            other = failed.get(_key(finding)) if finding.outcome == "fail" else None
            level = other.finding.clause_level if other else finding.clause_level
            if _RANK[level] > _RANK[finding.clause_level]:
                note = f"a {level} of edition {self._edition.id}"
                yield located._replace(finding=_noted(finding, note))
            else:
                yield located

    def _note_gaps(self, first: list[Finding], shadow: list[Finding]) -> None:
        known = {
            clause_outcome.clause
            for clause_outcome in by_clause(first)
            if clause_outcome.outcome == "unknown"
        }
        self._unknown |= {
            clause_outcome.clause
            for clause_outcome in by_clause(shadow)
            if clause_outcome.outcome == "unknown"
            and clause_outcome.clause not in known
        }
        broken = {finding.rule for finding in first if finding.outcome == "error"}
        self._broken |= {
            finding.rule
            for finding in shadow
            if finding.outcome == "error" and finding.rule not in broken
        }


def _noted(finding: Finding, note: str) -> Finding:
    return finding._replace(note=f"{finding.note}; {note}" if finding.note else note)


def _key(finding: Finding) -> _Key:
    return finding.clause, finding.rule, finding.subject, finding.places
