"""Whether a certificate follows from its own judgements, without the evidence."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from speccheck.validator.certification.certificate_model import (
    Certificate,
    Judgement,
    Measured,
)
from speccheck.validator.certification.certificate_model import (
    ClauseResult as ToldClause,
)
from speccheck.validator.certification.grants import Obstacle, coverage, grants
from speccheck.validator.certification.identity import type_digest
from speccheck.validator.certification.results import ClauseResult
from speccheck.validator.editions.edition import Edition, UseTerms
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.value import Place
from speccheck.validator.evidence.waiver import Waiver
from speccheck.validator.rule import by_clause

_NOWHERE = Place("", "", ())


def contradictions(
    found: Certificate, edition: Edition, terms: UseTerms
) -> Iterator[str]:
    """What the certificate says that does not follow from what it is made of.

    Args:
        found: the certificate.
        edition: that it names.
        terms: of certification, of that edition.

    """
    fields = {name: str(value) for name, value in found.type.fields.items()}
    if type_digest(fields) != found.type.sha256:
        yield "the digest of the type is not that of its fields"
    results: list[ClauseResult] = []
    for one in found.clauses:
        clause = edition.clauses.get(one.clause)
        if clause is None:
            yield f"{one.clause} is no clause of edition {edition.id}"
            continue
        told = one.certification_level, tuple(one.tracks)
        if told != (clause.certification_level, clause.tracks):
            yield f"{one.clause}: level and tracks are not those of the edition"
        outcome = _outcome(one)
        if outcome != one.outcome:
            yield f"{one.clause} is {one.outcome}; its judgements make it {outcome}"
        results.append(ClauseResult(clause, one.level, outcome, ()))
    yield from _missing(found, edition)
    yield from _of_tracks(found, edition, terms, results)
    yield from _of_coverage(found, results)
    for quantity in found.measurements:
        if not _is_ordered(quantity):
            yield f"{quantity.name}: least, p5, median and most are not in order"
    yield from _of_validity(found, terms)


def _outcome(told: ToldClause) -> str:
    if not told.judgements:
        return "not_applicable"
    return by_clause([_finding(told, one) for one in told.judgements])[0].outcome


def _finding(told: ToldClause, one: Judgement) -> Finding:
    return Finding(
        clause=told.clause,
        title=told.title,
        clause_level=told.level,
        rule=one.rule,
        level=one.level,
        outcome=one.outcome,
        message=one.message,
        waiver=Waiver("waiver", _NOWHERE) if one.waived else None,
    )


def _missing(found: Certificate, edition: Edition) -> Iterator[str]:
    """Every core clause is required of everybody: none may be left out."""
    told = {one.clause for one in found.clauses}
    left_out = sorted(
        one.id
        for one in edition.clauses.values()
        if one.status == "core" and one.level == "must" and one.id not in told
    )
    fleets = {one for one in left_out if "fleet" in edition.clauses[one].evidence}
    if left_out := [one for one in left_out if one not in fleets]:
        yield f"musts of the edition are left out: {', '.join(left_out[:5])}"


def _of_tracks(
    found: Certificate,
    edition: Edition,
    terms: UseTerms,
    results: Sequence[ClauseResult],
) -> Iterator[str]:
    floor = terms.coverage_floor or 0.0
    told = {one.track: one for one in found.tracks}
    obstacles = {
        Obstacle(one.level, one.reason, (track.track,))
        for track in found.tracks
        for one in track.denied
        if not one.clause and not one.outcome
    }
    for grant in grants(edition, results, floor, tuple(obstacles)):
        track = told.pop(grant.track, None)
        if track is None:
            yield f"track {grant.track} is left out"
        elif track.level != grant.level:
            told_level, given = track.level or "no level", grant.level or "none"
            yield f"track {grant.track} has {told_level}; its clauses give {given}"
        elif (track.required, track.passed) != (grant.required, grant.passed):
            yield f"track {grant.track}: its numbers are not those of its clauses"
    for name in told:
        yield f"{name} is no track of edition {edition.id}"


def _of_coverage(found: Certificate, results: Sequence[ClauseResult]) -> Iterator[str]:
    weighed = [one for one in results if one.level != "may"]
    share = coverage(weighed)
    if (found.coverage.required, found.coverage.share) != (len(weighed), share):
        yield "the coverage is not that of the clauses"


def _is_ordered(one: Measured) -> bool:
    return one.least <= one.p5 <= one.median <= one.most


def _of_validity(found: Certificate, terms: UseTerms) -> Iterator[str]:
    validity = found.validity
    longest = timedelta(days=terms.validity_days or 0)
    start, end = map(datetime.fromisoformat, (validity.not_before, validity.not_after))
    if terms.validity_days and end - start > longest:
        yield f"it would be valid longer than the {longest.days} days of the edition"
