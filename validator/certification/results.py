"""What all machines, measurements and files together say of each clause."""

from collections.abc import Iterable, Mapping

from speccheck.validator.editions.edition import Clause, Edition
from speccheck.validator.evidence.finding import ClauseLevel, Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.rule import Scope, by_clause

LEVELS = ("L1", "L2", "L3")
_LEVEL_OF_SCOPE: dict[Scope, str] = {"node": "L2", "fleet": "L2", "measurement": "L3"}


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


def clause_results(
    edition: Edition, judged: Iterable[Judged], scopes: Mapping[str, Scope]
) -> list[ClauseResult]:
    """The clauses of findings, in the order of the edition.

    Args:
        edition: with the clauses.
        judged: all findings.
        scopes: of the rules, by name.

    """
    found: dict[str, list[Judged]] = {}
    for one in judged:
        found.setdefault(one.finding.clause, []).append(one)
    return [
        _result(edition.clauses[clause], found[clause], scopes)
        for clause in edition.clauses
        if clause in found
    ]


def _result(
    clause: Clause, all_judged: list[Judged], scopes: Mapping[str, Scope]
) -> ClauseResult:
    # What files can show needs no machine: a rule that would look at one as well, and
    # has none to look at, leaves the clause to the rules that judge files.
    beyond = [one for one in all_judged if _is_beyond(clause, one.finding, scopes)]
    judged = [one for one in all_judged if one not in beyond] or all_judged
    outcome = by_clause(one.finding for one in judged)[0]
    level = judged[0].finding.clause_level
    return ClauseResult(clause, level, outcome.outcome, tuple(judged))


def _is_beyond(clause: Clause, finding: Finding, scopes: Mapping[str, Scope]) -> bool:
    """Whether a rule found no evidence of a kind that the level does not ask for."""
    level = _LEVEL_OF_SCOPE.get(scopes.get(finding.rule, "plan"), LEVELS[0])
    lacks_a_kind = bool(finding.missing) and all("." not in o for o in finding.missing)
    is_unknown = finding.outcome == "unknown" and lacks_a_kind
    return is_unknown and level > clause.certification_level
