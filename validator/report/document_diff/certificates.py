"""What differs between two certificates: levels, clauses, identity, numbers."""

from collections import Counter
from collections.abc import Hashable, Iterator
from itertools import chain

from speccheck.validator.certification.certificate_model import (
    Certificate,
    ClauseResult,
    Measured,
    Track,
)
from speccheck.validator.report.certificate_text import conditions_of
from speccheck.validator.report.document_diff.compared import (
    Change,
    ComparedDocuments,
    Difference,
    Scalar,
    Side,
    in_both,
    of_tables,
)
from speccheck.validator.report.document_diff.numbers import (
    ComparedNumber,
    differing_numbers,
)

_NOBODY = ""
_NONE = "none"
_SHORT = 16  # digits of a digest
# Two runs of one measurement differ in these, and are the same measurement.
_NOT_COMPARED = frozenset({"path", "runs"})
_MOST_REASONS = 3
_SALTED = (
    "whether {names} are the same machines: no digest of what names a machine is in "
    "both, which other machines have, or the same with another salt"
)
_MOST_NAMES = 4


def compare_certificates(
    a: Certificate, b: Certificate, files: tuple[str, str]
) -> ComparedDocuments:
    """Compare all that one says and the other does not, or says otherwise."""
    numbers = _numbers(a), _numbers(b)
    clauses = [
        {clause.clause for clause in certificate.clauses} for certificate in (a, b)
    ]
    fields = [{*certificate.type.fields} for certificate in (a, b)]
    return ComparedDocuments(
        "certificate",
        _side(a, files[0]),
        _side(b, files[1]),
        tuple(
            chain(
                _levels(a, b),
                _clauses(a, b),
                of_tables("coverage", _coverage(a), _coverage(b)),
                of_tables("judged_by", _judged_by(a), _judged_by(b)),
                of_tables("judged_by", _tailoring(a), _tailoring(b)),
                of_tables("waivers", _waivers(a), _waivers(b)),
                _identity(a, b),
                differing_numbers(*numbers),
                of_tables("specimens", _specimens(a), _specimens(b)),
                of_tables("evidence", _evidence(a), _evidence(b)),
                of_tables("varying", _varying(a), _varying(b)),
            )
        ),
        in_both(*clauses) + in_both(*fields) + in_both(*numbers),
        tuple(_other_machines(a, b)),
    )


def _side(certificate: Certificate, file: str) -> Side:
    synthetic = certificate.synthetic.by if certificate.synthetic else ""
    release = certificate.verifier.tool.version
    return Side(
        file,
        certificate.instance_type,
        certificate.validity.created,
        release,
        synthetic,
    )


def _levels(a: Certificate, b: Certificate) -> Iterator[Difference]:
    before, after = (
        {item.track: item for item in certificate.tracks} for certificate in (a, b)
    )
    for name in dict.fromkeys((*before, *after)):
        if name not in before or name not in after:
            yield _lonely(name, before.get(name), after.get(name))
            continue
        track, other = before[name], after[name]
        if track.level != other.level:
            fell = (other.level or _NOBODY) < (track.level or _NOBODY)
            yield Difference(
                "levels",
                name,
                "fell" if fell else "rose",
                track.level or _NONE,
                other.level or _NONE,
                note=_why(other if fell else track, was=not fell),
            )


def _lonely(name: str, before: Track | None, after: Track | None) -> Difference:
    """Return the difference of a track that only one edition has."""
    a, b = (track.level or _NONE if track else None for track in (before, after))
    return Difference("levels", name, "went" if before else "came", a, b)


def _why(track: Track, *, was: bool) -> str:
    texts = [
        f"{denied.clause}: {denied.reason}" if denied.clause else denied.reason
        for denied in track.denied
    ]
    more = len(texts) - _MOST_REASONS
    text = "; ".join(texts[:_MOST_REASONS]) + (f"; {more} more" if more > 0 else "")
    return f"was denied: {text}" if was and text else text


def _clauses(a: Certificate, b: Certificate) -> Iterator[Difference]:
    before, after = (
        {clause.clause: clause for clause in certificate.clauses}
        for certificate in (a, b)
    )
    for name in dict.fromkeys((*before, *after)):
        clause_result, other = before.get(name), after.get(name)
        if clause_result is None or other is None:
            yield _other_clause(name, clause_result, other)
            continue
        if clause_result.outcome != other.outcome:
            a_, b_ = clause_result.outcome, other.outcome
            note = _reason(other) or other.title
            yield Difference("clauses", name, "changed", a_, b_, note=note)
        if clause_result.level != other.level:
            subject = f"{name} level"
            yield Difference(
                "clauses", subject, "changed", clause_result.level, other.level
            )
        levels = clause_result.certification_level, other.certification_level
        if levels[0] != levels[1]:
            subject = f"{name} certification level"
            yield Difference("clauses", subject, "changed", *levels)


def _other_clause(
    name: str, before: ClauseResult | None, after: ClauseResult | None
) -> Difference:
    """Return the difference of a clause that only one of the two was held to."""
    a, b = (
        clause_result.outcome if clause_result else None
        for clause_result in (before, after)
    )
    titles = [clause_result.title for clause_result in (before, after) if clause_result]
    change: Change = "went" if before else "came"
    return Difference("clauses", name, change, a, b, note=titles[0])


def _reason(clause_result: ClauseResult) -> str:
    """Return the first judgement that makes the clause what it is."""
    for judgement in clause_result.judgements:
        is_it = judgement.outcome == clause_result.outcome or (
            judgement.waived and clause_result.outcome == "waived"
        )
        if is_it and judgement.message:
            where = f"{judgement.specimen}: " if judgement.specimen else ""
            return f"{where}{judgement.message}"
    return ""


def _coverage(certificate: Certificate) -> dict[str, Scalar]:
    result: dict[str, Scalar] = dict(certificate.coverage.model_dump())
    for track in certificate.tracks:
        result[f"{track.track} judged"] = track.coverage
    return {
        name: f"{value:.1%}" if isinstance(value, float) else value
        for name, value in result.items()
    }


def _judged_by(certificate: Certificate) -> dict[str, Scalar]:
    tool, edition = certificate.verifier.tool, certificate.edition
    return {
        "instance type": certificate.instance_type,
        "synthetic": certificate.synthetic.by if certificate.synthetic else "no",
        "edition": edition.id,
        "edition stage": edition.stage,
        "edition sha256": edition.sha256[:_SHORT],
        "edition is pinned": edition.is_pinned,
        "tailoring file": edition.tailoring_file or _NONE,
        "speccheck": tool.version,
        "rules": tool.rules,
        "program sha256": tool.rules_sha256[:_SHORT],
        "plugins": ", ".join(tool.plugins) or _NONE,
        "profiles": ", ".join(certificate.profiles),
        "expected machines": certificate.expected_machines,
        "verifier": certificate.verifier.id,
        "key": certificate.verifier.key_id[:_SHORT],
        "self-attested": certificate.verifier.self_attested,
    }


def _tailoring(certificate: Certificate) -> dict[str, Scalar]:
    return {
        f"tailored {tailored.clause} {tailored.number}": (
            f"{tailored.own_value} ({tailored.reason}; {tailored.owner}, until "
            f"{tailored.expires})"
        )
        for tailored in certificate.edition.tailoring
    }


def _waivers(certificate: Certificate) -> dict[str, Scalar]:
    return {
        f"{waiver.clause} {waiver.subject}".strip(): (
            f"{waiver.reason}; {waiver.owner}, until {waiver.expires}"
        )
        for waiver in certificate.waivers
    }


def _identity(a: Certificate, b: Certificate) -> Iterator[Difference]:
    """Yield the fields of the type; first those whose change ends the validity."""
    names = {
        invalidator.name
        for certificate in (a, b)
        for invalidator in certificate.validity.invalidators
    }
    fields = [
        {name: _text(field) for name, field in certificate.type.fields.items()}
        for certificate in (a, b)
    ]
    differences = [
        of_table._replace(
            matters=True, note="what was measured before says nothing of it"
        )
        if of_table.subject in names
        else of_table
        for of_table in of_tables("identity", *fields)
    ]
    yield from sorted(differences, key=lambda difference: not difference.matters)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _numbers(certificate: Certificate) -> dict[Hashable, ComparedNumber]:
    """Return the numbers by name and conditions, and by path if that sets two apart."""
    times = Counter(map(_key, certificate.measurements))
    return {
        _key(measurement)
        if times[_key(measurement)] == 1
        else _whole_key(measurement): _number(measurement)
        for measurement in certificate.measurements
    }


def _key(measured: Measured) -> Hashable:
    text_lists = [
        pair for pair in measured.conditions.items() if pair[0] not in _NOT_COMPARED
    ]
    return measured.name, measured.unit, tuple(sorted(map(_as_text, text_lists)))


def _whole_key(measured: Measured) -> Hashable:
    return (
        measured.name,
        measured.unit,
        tuple(sorted(map(_as_text, measured.conditions.items()))),
    )


def _as_text(pair: tuple[str, object]) -> tuple[str, str]:
    return pair[0], str(pair[1])


def _number(measured: Measured) -> ComparedNumber:
    texts = conditions_of(measured.conditions, without=("path", "runs", "tool", "gpu"))
    name = ", ".join((measured.name, *texts))
    return ComparedNumber(
        name,
        measured.unit,
        measured.count,
        measured.median,
        measured.p5,
        measured.most,
        measured.spread,
    )


def _specimens(certificate: Certificate) -> dict[str, Scalar]:
    """Return the machines by name; whether they are the same is another question."""
    return dict.fromkeys(
        (specimen.name for specimen in certificate.specimens), "looked at"
    )


def _other_machines(a: Certificate, b: Certificate) -> Iterator[str]:
    """Yield the machines of one name of which nothing is in both."""
    before, after = (
        {
            specimen.name: set(map(str, specimen.identity.values()))
            for specimen in certificate.specimens
        }
        for certificate in (a, b)
    )
    names = [
        text for text in before if text in after and not before[text] & after[text]
    ]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" * (len(names) > _MOST_NAMES)
        yield _SALTED.format(names=", ".join(names[:_MOST_NAMES]) + more)


def _evidence(certificate: Certificate) -> dict[str, Scalar]:
    return {
        evidence_file.path: evidence_file.sha256[:_SHORT]
        for evidence_file in certificate.evidence
    }


def _varying(certificate: Certificate) -> dict[str, Scalar]:
    return {
        "created": certificate.validity.created,
        "valid until": certificate.validity.not_after,
        "run": certificate.run_id,
    }
