"""What all rules of a clause say together."""

from collections.abc import Iterable

from speccheck.validator.evidence.finding import Finding, Outcome
from speccheck.validator.evidence.record import Record


class ClauseOutcome(Record):
    """One clause with what all its rules say together: an outcome, or waived."""

    clause: str
    clause_level: str
    outcome: str


_WAIVED = "waived"
_RANKS = {
    "error": 0,
    "fail": 1,
    "unknown": 2,
    _WAIVED: 3,
    "pass": 4,
    "not_applicable": 5,
}


def by_clause(findings: Iterable[Finding]) -> list[ClauseOutcome]:
    """The outcome of each clause: the worst of its findings; unknown beats pass.

    A must that only advice speaks against is in doubt: it neither holds nor fails. A
    waived failure hides none that is not waived, and nothing that is not known.
    """
    worst: dict[str, tuple[str, Finding]] = {}
    for finding in findings:
        outcome: str = finding.outcome
        if outcome == "fail":
            outcome = _WAIVED if finding.waiver else _weighed(finding)
        known = worst.get(finding.clause)
        if known is None or _RANKS[outcome] < _RANKS[known[0]]:
            worst[finding.clause] = outcome, finding
    return [
        ClauseOutcome(one.clause, one.clause_level, outcome)
        for outcome, one in worst.values()
    ]


def _weighed(failed: Finding) -> Outcome:
    """What a failure counts as: one that is only advice leaves a must in doubt."""
    is_doubt = failed.clause_level == "must" and failed.level != "error"
    return "unknown" if is_doubt else "fail"
