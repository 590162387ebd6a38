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
    CertificateOrder,
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
    JudgedClauseResult,
    KitEvidence,
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
from speccheck.validator.engine.tailoring import tailored
from speccheck.validator.evidence.finding import Finding, Waiver
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.rule import by_clause
from speccheck.validator.signing.envelope import Statement

_NOWHERE = Place("", "", ())


def contradictions(
    certificate: Certificate, edition: Edition, terms: UseTerms
) -> Iterator[str]:
    """Yield what the certificate says that does not follow from what it is made of.

    Args:
        certificate: the certificate.
        edition: that it names.
        terms: of certification, of that edition.

    """
    fields = {name: str(value) for name, value in certificate.type.fields.items()}
    if type_digest(fields) != certificate.type.sha256:
        yield "the digest of the type is not that of its fields"
    results: list[JudgedClauseResult] = []
    for clause_result in certificate.clauses:
        clause = edition.clauses.get(clause_result.clause)
        if clause is None:
            yield f"{clause_result.clause} is no clause of edition {edition.id}"
            continue
        texts = clause_result.certification_level, tuple(clause_result.tracks)
        if texts != (clause.certification_level, clause.tracks):
            yield (
                f"{clause_result.clause}: level and tracks are not those of the edition"
            )
        outcome = _outcome(clause_result)
        if outcome != clause_result.outcome:
            yield (
                f"{clause_result.clause} is {clause_result.outcome}; its "
                f"judgements make it {outcome}"
            )
        results.append(JudgedClauseResult(clause, clause_result.level, outcome, ()))
    yield from _missing(certificate, edition)
    yield from _of_tracks(certificate, edition, terms, results)
    yield from _of_coverage(certificate, results)
    for quantity in certificate.measurements:
        if not _is_ordered(quantity):
            yield f"{quantity.name}: least, p5, median and most are not in order"
    yield from _of_validity(certificate, terms)


def _outcome(clause_result: ToldClause) -> str:
    if not clause_result.judgements:
        return "not_applicable"
    return by_clause(
        [_finding(clause_result, judgement) for judgement in clause_result.judgements]
    )[0].outcome


def _finding(clause_result: ToldClause, judgement: Judgement) -> Finding:
    return Finding(
        clause=clause_result.clause,
        title=clause_result.title,
        clause_level=clause_result.level,
        rule=judgement.rule,
        level=judgement.level,
        outcome=judgement.outcome,
        message=judgement.message,
        waiver=Waiver("waiver", _NOWHERE) if judgement.waived else None,
    )


def _missing(certificate: Certificate, edition: Edition) -> Iterator[str]:
    """Yield the musts of the core that the certificate omits; all are required."""
    texts = {clause.clause for clause in certificate.clauses}
    left_out = sorted(
        clause.id
        for clause in edition.clauses.values()
        if clause.status == "core" and clause.level == "must" and clause.id not in texts
    )
    fleets = {text for text in left_out if "fleet" in edition.clauses[text].evidence}
    if left_out := [text for text in left_out if text not in fleets]:
        yield f"musts of the edition are left out: {', '.join(left_out[:5])}"


def _of_tracks(
    certificate: Certificate,
    edition: Edition,
    terms: UseTerms,
    results: Sequence[JudgedClauseResult],
) -> Iterator[str]:
    floor = terms.coverage_floor or 0.0
    result = {track.track: track for track in certificate.tracks}
    obstacles = {
        Obstacle(denied.level, denied.reason, (track.track,))
        for track in certificate.tracks
        for denied in track.denied
        if not denied.clause and not denied.outcome
    }
    for grant in grants(edition, results, floor, tuple(obstacles)):
        track = result.pop(grant.track, None)
        if track is None:
            yield f"track {grant.track} is left out"
        elif track.level != grant.level:
            certified_level, given = track.level or "no level", grant.level or "none"
            yield f"track {grant.track} has {certified_level}; its clauses give {given}"
        elif (track.required, track.passed) != (grant.required, grant.passed):
            yield f"track {grant.track}: its numbers are not those of its clauses"
    for name in result:
        yield f"{name} is no track of edition {edition.id}"


def _of_coverage(
    certificate: Certificate, results: Sequence[JudgedClauseResult]
) -> Iterator[str]:
    weighed = [result for result in results if result.level != "may"]
    share = coverage(weighed)
    if (certificate.coverage.required, certificate.coverage.share) != (
        len(weighed),
        share,
    ):
        yield "the coverage is not that of the clauses"


def _is_ordered(measured: Measured) -> bool:
    return measured.least <= measured.p5 <= measured.median <= measured.most


def _of_validity(certificate: Certificate, terms: UseTerms) -> Iterator[str]:
    validity = certificate.validity
    longest = timedelta(days=terms.validity_days or 0)
    start, end = map(datetime.fromisoformat, (validity.not_before, validity.not_after))
    if terms.validity_days and end - start > longest:
        yield f"it would be valid longer than the {longest.days} days of the edition"


Outcome = Literal["pass", "fail", "unknown", "not asked"]
_CLOCKS_APART = timedelta(minutes=10)
_MOST_SHOWN = 5


class VerificationStep(Record):
    """One thing that was looked at.

    unknown: it could not be. not asked: nobody gave what it takes.
    """

    name: str
    outcome: Outcome
    message: str


def steps(
    statement: Statement,
    certificate: Certificate,
    now: datetime,
    evidence_folder: str | None,
    *,
    takes_synthetic: bool = False,
) -> Iterator[VerificationStep]:
    """Yield all that is verified after the signature, in this order.

    Args:
        statement: that was signed.
        certificate: its predicate.
        now: UTC.
        evidence_folder: the kit that it was made of; None where it is not at hand.
        takes_synthetic: a certificate of machines that do not exist will do.

    Raises KitError, or SeveralJobs.

    """
    yield _subject(statement, certificate)
    if certificate.synthetic is not None and not takes_synthetic:
        result = (
            f"{certificate.synthetic.files} files were made up by "
            f"{certificate.synthetic.by}"
        )
        text = f"{result}: this certifies nothing; --synthetic takes it all the same"
        yield VerificationStep("real", "unknown", text)
    yield _dates(certificate, now)
    edition = _edition(certificate)
    yield edition
    yield _tool(certificate)
    if edition.outcome != "pass":
        why = "not without the edition that it names"
        yield VerificationStep("arithmetic", "unknown", why)
        yield VerificationStep("judged again", "unknown", why)
        return
    yield _arithmetic(certificate)
    if evidence_folder is None:
        why = "nobody gave the evidence: --evidence DIR"
        yield VerificationStep("evidence", "not asked", why)
        yield VerificationStep("judged again", "not asked", why)
        return
    yield from _by_evidence(statement, certificate, evidence_folder)


def _subject(statement: Statement, certificate: Certificate) -> VerificationStep:
    texts = statement.subject_name, statement.subject_sha256
    if texts != (certificate.instance_type, certificate.type.sha256):
        return VerificationStep(
            "subject", "fail", "the statement names another type of machine"
        )
    text = f"{certificate.instance_type}, type {certificate.type.sha256[:16]}"
    return VerificationStep("subject", "pass", text)


def _dates(certificate: Certificate, now: datetime) -> VerificationStep:
    validity = certificate.validity
    start, end = map(datetime.fromisoformat, (validity.not_before, validity.not_after))
    if now > end:
        days = (now - end).days
        text = f"expired on {validity.not_after}, {days} days ago"
        return VerificationStep("dates", "unknown", text)
    if now < start - _CLOCKS_APART:
        text = f"not valid before {validity.not_before}, and now is {now:%FT%TZ}"
        return VerificationStep("dates", "unknown", f"{text}: a clock is wrong")
    return VerificationStep("dates", "pass", f"valid until {validity.not_after}")


def _edition(certificate: Certificate) -> VerificationStep:
    certificate_edition = certificate.edition
    try:
        ours = load_edition(certificate_edition.id)
    except UnknownEdition as error:
        return VerificationStep("edition", "unknown", str(error))
    if ours.sha256 != certificate_edition.sha256:
        text = (
            f"edition {certificate_edition.id} of the certificate is "
            f"{certificate_edition.sha256[:16]}, that of this "
            f"speccheck {ours.sha256[:16]}: verify with the release that issued it"
        )
        return VerificationStep("edition", "unknown", text)
    return VerificationStep(
        "edition",
        "pass",
        f"{certificate_edition.id}, sha256 {certificate_edition.sha256[:16]}",
    )


def _tool(certificate: Certificate) -> VerificationStep:
    tool = certificate.verifier.tool
    if tool.rules_sha256 == program_digest():
        return VerificationStep(
            "program", "pass", f"judged by this speccheck, {tool.version}"
        )
    # That is no fault: whether the verdict comes out again is seen by judging again.
    text = f"{tool.version}, {tool.rules_sha256[:16]}"
    return VerificationStep(
        "program", "pass", f"judged by another build of speccheck ({text})"
    )


def _arithmetic(certificate: Certificate) -> VerificationStep:
    edition = load_edition(certificate.edition.id)
    terms = terms_of(certificate.edition.id)
    problems = [*contradictions(certificate, edition, terms)]
    if problems:
        return VerificationStep("arithmetic", "fail", "; ".join(problems[:_MOST_SHOWN]))
    count = sum(len(clause.judgements) for clause in certificate.clauses)
    text = f"levels and coverage follow from {count:,} judgements"
    return VerificationStep("arithmetic", "pass", text)


def _by_evidence(
    statement: Statement, certificate: Certificate, folder: str
) -> Iterator[VerificationStep]:
    created = datetime.fromisoformat(certificate.validity.created)
    terms = terms_of(certificate.edition.id)
    expected = certificate.expected_machines
    evidence = read_evidence(folder, created, terms.evidence_age_days, expected)
    problems = [*_differences(certificate, evidence)]
    if problems:
        result = "; ".join(problems[:_MOST_SHOWN])
        yield VerificationStep("evidence", "fail", result)
        text = "not from evidence that is not what was judged"
        yield VerificationStep("judged again", "fail", text)
        return
    count = len(certificate.evidence)
    yield VerificationStep("evidence", "pass", f"{count} files, each with its SHA-256")
    yield _again(statement.predicate, certificate, evidence)


def _differences(certificate: Certificate, evidence: KitEvidence) -> Iterator[str]:
    result = {
        evidence_file.path: evidence_file.sha256
        for evidence_file in certificate.evidence
    }
    there = {file.path: file.sha256 for file in evidence.files}
    unread = {problem.path for problem in evidence.kit.problems}
    for path in sorted({*result, *there}):
        if path not in there:
            what = "cannot be read" if path in unread else "is missing"
            yield f"{path} {what}"
        elif path not in result:
            yield f"{path} was not judged"
        elif result[path] != there[path]:
            yield f"{path} was changed: {there[path][:16]}, not {result[path][:16]}"


def _again(
    predicate: Mapping[str, Any],
    certificate: Certificate,
    evidence: KitEvidence,
) -> VerificationStep:
    order = CertificateOrder(
        f"{INSTANCE}{certificate.instance_type}",
        certificate.edition.id,
        certificate.edition.is_pinned,
        tuple(certificate.asked_profiles),
        bool(certificate.verifier.tool.plugins),
        _own_numbers(certificate, evidence),
    )
    fresh = certify(order, evidence)
    part = judged_part(fresh)
    part["edition"] = {
        **predicate["edition"],
        "tailoring": tailored(fresh.judgements.edition),
    }
    part["type"] = {
        "fields": dict(fresh.type_fields),
        "sha256": certificate.type.sha256,
    }
    differing = [name for name, value in part.items() if predicate.get(name) != value]
    if differing:
        result = "; ".join(_difference_text(predicate, part, differing))
        return VerificationStep(
            "judged again", "fail", f"comes out otherwise: {result}"
        )
    count = len(certificate.clauses)
    text = f"the verdicts on {count} clauses come out again"
    return VerificationStep("judged again", "pass", text)


def _own_numbers(certificate: Certificate, evidence: KitEvidence) -> str:
    """Return the file of own numbers that was used, in the kit; empty for none."""
    path = certificate.edition.tailoring_file
    if path.startswith(("/", "..")) or "/.." in path:
        message = f"{path}: own numbers must lie with the evidence"
        raise KitError(message)
    return os.path.join(evidence.kit.folder, path) if path else ""


def _difference_text(
    predicate: Mapping[str, Any], part: Mapping[str, Any], names: Sequence[str]
) -> Iterator[str]:
    """Yield what differs: clauses by name, else the part of the certificate."""
    if "clauses" in names:
        then = {item["clause"]: item["outcome"] for item in predicate["clauses"]}
        now = {item["clause"]: item["outcome"] for item in part["clauses"]}
        flipped = [
            f"{name} was {then.get(name)}, is {now.get(name)}"
            for name in sorted({*then, *now})
            if then.get(name) != now.get(name)
        ]
        yield from flipped[:_MOST_SHOWN]
        if not flipped:
            yield "what judgements say"
    yield from (name for name in names if name != "clauses")


def live_step(
    certificate: Certificate, content: Mapping[str, object]
) -> VerificationStep:
    """Lay a machine beside the type, by the content of its snapshot."""
    result = {name: str(value) for name, value in certificate.type.fields.items()}
    there = type_fields(content)
    other = [
        f"{name} is {there[name] or 'empty'}, certified is {value or 'empty'}"
        for name, value in result.items()
        if name in there and there[name] != value
    ]
    unseen = [name for name in result if name not in there]
    if other:
        return VerificationStep("this machine", "fail", "; ".join(other[:_MOST_SHOWN]))
    if unseen:
        text = f"not known of it: {', '.join(unseen[:_MOST_SHOWN])}"
        more = f" and {len(unseen) - _MOST_SHOWN} more" if unseen[_MOST_SHOWN:] else ""
        return VerificationStep("this machine", "unknown", text + more)
    return VerificationStep(
        "this machine", "pass", f"is of the type, by {len(result)} fields"
    )
