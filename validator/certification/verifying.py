"""Verifies a certificate: signature, dates, digests, arithmetic, and judged again."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from speccheck.validator.certification.certificate_model import (
    Certificate,
    Judgement,
    Measured,
)
from speccheck.validator.certification.certificate_model import (
    ClauseResult as ToldClause,
)
from speccheck.validator.certification.certifying import (
    INSTANCE,
    Order,
    certify,
    terms_of,
)
from speccheck.validator.certification.granting import (
    Obstacle,
    coverage,
    grants,
    type_digest,
    type_fields,
)
from speccheck.validator.certification.judging import (
    ClauseResult,
    Evidence,
    read_evidence,
)
from speccheck.validator.certification.kit import KitError
from speccheck.validator.certification.statement import judged_part, program_digest
from speccheck.validator.editions.edition import (
    Edition,
    UnknownEdition,
    UseTerms,
    load_edition,
)
from speccheck.validator.engine.tailoring.told import tailored
from speccheck.validator.evidence.finding import Finding, Waiver
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.rule.clause_outcome import by_clause
from speccheck.validator.signing.envelope import Statement

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


Outcome = Literal["pass", "fail", "unknown", "not asked"]
_CLOCKS_APART = timedelta(minutes=10)
_MOST_TOLD = 5


class Step(Record):
    """One thing that was looked at.

    unknown: it could not be. not asked: nobody gave what it takes.
    """

    name: str
    outcome: Outcome
    message: str


def steps(
    statement: Statement,
    found: Certificate,
    now: datetime,
    evidence_folder: str | None,
    *,
    takes_synthetic: bool = False,
) -> Iterator[Step]:
    """All that is verified after the signature, in this order.

    Args:
        statement: that was signed.
        found: its predicate.
        now: UTC.
        evidence_folder: the kit that it was made of; None where it is not at hand.
        takes_synthetic: a certificate of machines that do not exist will do.

    Raises KitError, or SeveralJobs.

    """
    yield _subject(statement, found)
    if found.synthetic is not None and not takes_synthetic:
        told = f"{found.synthetic.files} files were made up by {found.synthetic.by}"
        text = f"{told}: this certifies nothing; --synthetic takes it all the same"
        yield Step("real", "unknown", text)
    yield _dates(found, now)
    edition = _edition(found)
    yield edition
    yield _tool(found)
    if edition.outcome != "pass":
        why = "not without the edition that it names"
        yield Step("arithmetic", "unknown", why)
        yield Step("judged again", "unknown", why)
        return
    yield _arithmetic(found)
    if evidence_folder is None:
        why = "nobody gave the evidence: --evidence DIR"
        yield Step("evidence", "not asked", why)
        yield Step("judged again", "not asked", why)
        return
    yield from _by_evidence(statement, found, evidence_folder)


def _subject(statement: Statement, found: Certificate) -> Step:
    told = statement.subject_name, statement.subject_sha256
    if told != (found.instance_type, found.type.sha256):
        return Step("subject", "fail", "the statement names another type of machine")
    text = f"{found.instance_type}, type {found.type.sha256[:16]}"
    return Step("subject", "pass", text)


def _dates(found: Certificate, now: datetime) -> Step:
    validity = found.validity
    start, end = map(datetime.fromisoformat, (validity.not_before, validity.not_after))
    if now > end:
        days = (now - end).days
        text = f"expired on {validity.not_after}, {days} days ago"
        return Step("dates", "unknown", text)
    if now < start - _CLOCKS_APART:
        text = f"not valid before {validity.not_before}, and now is {now:%FT%TZ}"
        return Step("dates", "unknown", f"{text}: a clock is wrong")
    return Step("dates", "pass", f"valid until {validity.not_after}")


def _edition(found: Certificate) -> Step:
    told = found.edition
    try:
        ours = load_edition(told.id)
    except UnknownEdition as error:
        return Step("edition", "unknown", str(error))
    if ours.sha256 != told.sha256:
        text = (
            f"edition {told.id} of the certificate is {told.sha256[:16]}, that of this "
            f"speccheck {ours.sha256[:16]}: verify with the release that issued it"
        )
        return Step("edition", "unknown", text)
    return Step("edition", "pass", f"{told.id}, sha256 {told.sha256[:16]}")


def _tool(found: Certificate) -> Step:
    tool = found.verifier.tool
    if tool.rules_sha256 == program_digest():
        return Step("program", "pass", f"judged by this speccheck, {tool.version}")
    # That is no fault: whether the verdict comes out again is seen by judging again.
    told = f"{tool.version}, {tool.rules_sha256[:16]}"
    return Step("program", "pass", f"judged by another build of speccheck ({told})")


def _arithmetic(found: Certificate) -> Step:
    edition = load_edition(found.edition.id)
    terms = terms_of(found.edition.id)
    problems = [*contradictions(found, edition, terms)]
    if problems:
        return Step("arithmetic", "fail", "; ".join(problems[:_MOST_TOLD]))
    count = sum(len(one.judgements) for one in found.clauses)
    text = f"levels and coverage follow from {count:,} judgements"
    return Step("arithmetic", "pass", text)


def _by_evidence(
    statement: Statement, found: Certificate, folder: str
) -> Iterator[Step]:
    created = datetime.fromisoformat(found.validity.created)
    terms = terms_of(found.edition.id)
    expected = found.expected_machines
    evidence = read_evidence(folder, created, terms.evidence_age_days, expected)
    problems = [*_differences(found, evidence)]
    if problems:
        told = "; ".join(problems[:_MOST_TOLD])
        yield Step("evidence", "fail", told)
        text = "not from evidence that is not what was judged"
        yield Step("judged again", "fail", text)
        return
    count = len(found.evidence)
    yield Step("evidence", "pass", f"{count} files, each with its SHA-256")
    yield _again(statement.predicate, found, evidence)


def _differences(found: Certificate, evidence: Evidence) -> Iterator[str]:
    told = {one.path: one.sha256 for one in found.evidence}
    there = {one.path: one.sha256 for one in evidence.files}
    unread = {one.path for one in evidence.kit.problems}
    for path in sorted({*told, *there}):
        if path not in there:
            what = "cannot be read" if path in unread else "is missing"
            yield f"{path} {what}"
        elif path not in told:
            yield f"{path} was not judged"
        elif told[path] != there[path]:
            yield f"{path} was changed: {there[path][:16]}, not {told[path][:16]}"


def _again(
    predicate: Mapping[str, Any],
    found: Certificate,
    evidence: Evidence,
) -> Step:
    order = Order(
        f"{INSTANCE}{found.instance_type}",
        found.edition.id,
        found.edition.is_pinned,
        tuple(found.asked_profiles),
        bool(found.verifier.tool.plugins),
        _own_numbers(found, evidence),
    )
    fresh = certify(order, evidence)
    part = judged_part(fresh)
    part["edition"] = {
        **predicate["edition"],
        "tailoring": tailored(fresh.judgements.edition),
    }
    part["type"] = {"fields": dict(fresh.type_fields), "sha256": found.type.sha256}
    differing = [name for name, value in part.items() if predicate.get(name) != value]
    if differing:
        told = "; ".join(_told(predicate, part, differing))
        return Step("judged again", "fail", f"comes out otherwise: {told}")
    count = len(found.clauses)
    text = f"the verdicts on {count} clauses come out again"
    return Step("judged again", "pass", text)


def _own_numbers(found: Certificate, evidence: Evidence) -> str:
    """The file of own numbers that was used, in the kit; empty for none."""
    path = found.edition.tailoring_file
    if path.startswith(("/", "..")) or "/.." in path:
        message = f"{path}: own numbers must lie with the evidence"
        raise KitError(message)
    return os.path.join(evidence.kit.folder, path) if path else ""


def _told(
    predicate: Mapping[str, Any], part: Mapping[str, Any], names: Sequence[str]
) -> Iterator[str]:
    """What differs: clauses by name, else the part of the certificate."""
    if "clauses" in names:
        then = {one["clause"]: one["outcome"] for one in predicate["clauses"]}
        now = {one["clause"]: one["outcome"] for one in part["clauses"]}
        flipped = [
            f"{name} was {then.get(name)}, is {now.get(name)}"
            for name in sorted({*then, *now})
            if then.get(name) != now.get(name)
        ]
        yield from flipped[:_MOST_TOLD]
        if not flipped:
            yield "what judgements say"
    yield from (one for one in names if one != "clauses")


def live_step(found: Certificate, content: Mapping[str, object]) -> Step:
    """Lay a machine beside the type, by the content of its snapshot."""
    told = {name: str(value) for name, value in found.type.fields.items()}
    there = type_fields(content)
    other = [
        f"{name} is {there[name] or 'empty'}, certified is {value or 'empty'}"
        for name, value in told.items()
        if name in there and there[name] != value
    ]
    unseen = [name for name in told if name not in there]
    if other:
        return Step("this machine", "fail", "; ".join(other[:_MOST_TOLD]))
    if unseen:
        text = f"not known of it: {', '.join(unseen[:_MOST_TOLD])}"
        more = f" and {len(unseen) - _MOST_TOLD} more" if unseen[_MOST_TOLD:] else ""
        return Step("this machine", "unknown", text + more)
    return Step("this machine", "pass", f"is of the type, by {len(told)} fields")
