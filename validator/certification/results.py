"""What all machines, measurements and files together say of each clause."""

from collections.abc import Iterable

from speccheck.validator.clause_outcome import by_clause
from speccheck.validator.evidence.finding import ClauseLevel, Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.spec.edition import Clause, Edition

LEVELS = ("L1", "L2", "L3")


class Judged(Record):
    """A finding, and the machine that it is about; empty for the job or all of them."""

    specimen: str
    finding: Finding


class ClauseResult(Record):
    """One clause with all that was found. outcome: the worst of it, or waived."""

    clause: Clause
    level: ClauseLevel
    outcome: str
    judged: tuple[Judged, ...]


def clause_results(edition: Edition, judged: Iterable[Judged]) -> list[ClauseResult]:
    """The clauses of findings, in the order of the edition."""
    found: dict[str, list[Judged]] = {}
    for one in judged:
        found.setdefault(one.finding.clause, []).append(one)
    return [
        _result(edition.clauses[clause], found[clause])
        for clause in edition.clauses
        if clause in found
    ]


def _result(clause: Clause, judged: list[Judged]) -> ClauseResult:
    outcome = by_clause(one.finding for one in judged)[0]
    level = judged[0].finding.clause_level
    return ClauseResult(clause, level, outcome.outcome, tuple(judged))
