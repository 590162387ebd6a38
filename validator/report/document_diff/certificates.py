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
    Compared,
    Difference,
    Scalar,
    Side,
    in_both,
    of_tables,
)
from speccheck.validator.report.document_diff.numbers import Number, differing_numbers

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
) -> Compared:
    """Everything that one says and the other does not, or says otherwise."""
    numbers = _numbers(a), _numbers(b)
    clauses = [{one.clause for one in found.clauses} for found in (a, b)]
    fields = [{*found.type.fields} for found in (a, b)]
    return Compared(
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


def _side(found: Certificate, file: str) -> Side:
    synthetic = found.synthetic.by if found.synthetic else ""
    release = found.verifier.tool.version
    return Side(file, found.instance_type, found.validity.created, release, synthetic)


def _levels(a: Certificate, b: Certificate) -> Iterator[Difference]:
    before, after = ({one.track: one for one in found.tracks} for found in (a, b))
    for name in dict.fromkeys((*before, *after)):
        if name not in before or name not in after:
            yield _lonely(name, before.get(name), after.get(name))
            continue
        one, other = before[name], after[name]
        if one.level != other.level:
            fell = (other.level or _NOBODY) < (one.level or _NOBODY)
            yield Difference(
                "levels",
                name,
                "fell" if fell else "rose",
                one.level or _NONE,
                other.level or _NONE,
                note=_why(other if fell else one, was=not fell),
            )


def _lonely(name: str, before: Track | None, after: Track | None) -> Difference:
    """A track that only one edition has."""
    a, b = (one.level or _NONE if one else None for one in (before, after))
    return Difference("levels", name, "went" if before else "came", a, b)


def _why(track: Track, *, was: bool) -> str:
    told = [
        f"{one.clause}: {one.reason}" if one.clause else one.reason
        for one in track.denied
    ]
    more = len(told) - _MOST_REASONS
    text = "; ".join(told[:_MOST_REASONS]) + (f"; {more} more" if more > 0 else "")
    return f"was denied: {text}" if was and text else text


def _clauses(a: Certificate, b: Certificate) -> Iterator[Difference]:
    before, after = ({one.clause: one for one in found.clauses} for found in (a, b))
    for name in dict.fromkeys((*before, *after)):
        one, other = before.get(name), after.get(name)
        if one is None or other is None:
            yield _other_clause(name, one, other)
            continue
        if one.outcome != other.outcome:
            a_, b_ = one.outcome, other.outcome
            note = _reason(other) or other.title
            yield Difference("clauses", name, "changed", a_, b_, note=note)
        if one.level != other.level:
            subject = f"{name} level"
            yield Difference("clauses", subject, "changed", one.level, other.level)
        levels = one.certification_level, other.certification_level
        if levels[0] != levels[1]:
            subject = f"{name} certification level"
            yield Difference("clauses", subject, "changed", *levels)


def _other_clause(
    name: str, before: ClauseResult | None, after: ClauseResult | None
) -> Difference:
    """A clause that only one of the two was held to."""
    a, b = (one.outcome if one else None for one in (before, after))
    titles = [one.title for one in (before, after) if one]
    change: Change = "went" if before else "came"
    return Difference("clauses", name, change, a, b, note=titles[0])


def _reason(found: ClauseResult) -> str:
    """The first judgement that makes the clause what it is."""
    for one in found.judgements:
        is_it = one.outcome == found.outcome or (
            one.waived and found.outcome == "waived"
        )
        if is_it and one.message:
            where = f"{one.specimen}: " if one.specimen else ""
            return f"{where}{one.message}"
    return ""


def _coverage(found: Certificate) -> dict[str, Scalar]:
    told: dict[str, Scalar] = dict(found.coverage.model_dump())
    for one in found.tracks:
        told[f"{one.track} judged"] = one.coverage
    return {
        name: f"{one:.1%}" if isinstance(one, float) else one
        for name, one in told.items()
    }


def _judged_by(found: Certificate) -> dict[str, Scalar]:
    tool, edition = found.verifier.tool, found.edition
    return {
        "instance type": found.instance_type,
        "synthetic": found.synthetic.by if found.synthetic else "no",
        "edition": edition.id,
        "edition stage": edition.stage,
        "edition sha256": edition.sha256[:_SHORT],
        "edition is pinned": edition.is_pinned,
        "tailoring file": edition.tailoring_file or _NONE,
        "speccheck": tool.version,
        "rules": tool.rules,
        "program sha256": tool.rules_sha256[:_SHORT],
        "plugins": ", ".join(tool.plugins) or _NONE,
        "profiles": ", ".join(found.profiles),
        "expected machines": found.expected_machines,
        "verifier": found.verifier.id,
        "key": found.verifier.key_id[:_SHORT],
        "self-attested": found.verifier.self_attested,
    }


def _tailoring(found: Certificate) -> dict[str, Scalar]:
    return {
        f"tailored {one.clause} {one.number}": (
            f"{one.own_value} ({one.reason}; {one.owner}, until {one.expires})"
        )
        for one in found.edition.tailoring
    }


def _waivers(found: Certificate) -> dict[str, Scalar]:
    return {
        f"{one.clause} {one.subject}".strip(): (
            f"{one.reason}; {one.owner}, until {one.expires}"
        )
        for one in found.waivers
    }


def _identity(a: Certificate, b: Certificate) -> Iterator[Difference]:
    """Fields of the type; first those whose change ends the validity."""
    names = {one.name for found in (a, b) for one in found.validity.invalidators}
    fields = [
        {name: _text(one) for name, one in found.type.fields.items()}
        for found in (a, b)
    ]
    found = [
        one._replace(matters=True, note="what was measured before says nothing of it")
        if one.subject in names
        else one
        for one in of_tables("identity", *fields)
    ]
    yield from sorted(found, key=lambda one: not one.matters)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _numbers(found: Certificate) -> dict[Hashable, Number]:
    """By name and conditions; by which way it took where that tells two apart."""
    times = Counter(map(_key, found.measurements))
    return {
        _key(one) if times[_key(one)] == 1 else _whole_key(one): _number(one)
        for one in found.measurements
    }


def _key(one: Measured) -> Hashable:
    told = [pair for pair in one.conditions.items() if pair[0] not in _NOT_COMPARED]
    return one.name, one.unit, tuple(sorted(map(_as_text, told)))


def _whole_key(one: Measured) -> Hashable:
    return one.name, one.unit, tuple(sorted(map(_as_text, one.conditions.items())))


def _as_text(pair: tuple[str, object]) -> tuple[str, str]:
    return pair[0], str(pair[1])


def _number(one: Measured) -> Number:
    told = conditions_of(one.conditions, without=("path", "runs", "tool", "gpu"))
    name = ", ".join((one.name, *told))
    return Number(name, one.unit, one.count, one.median, one.p5, one.most, one.spread)


def _specimens(found: Certificate) -> dict[str, Scalar]:
    """Machines by name; whether they are the same is another question."""
    return dict.fromkeys((one.name for one in found.specimens), "looked at")


def _other_machines(a: Certificate, b: Certificate) -> Iterator[str]:
    """Machines of one name of which nothing is in both."""
    before, after = (
        {one.name: set(map(str, one.identity.values())) for one in found.specimens}
        for found in (a, b)
    )
    names = [one for one in before if one in after and not before[one] & after[one]]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" * (len(names) > _MOST_NAMES)
        yield _SALTED.format(names=", ".join(names[:_MOST_NAMES]) + more)


def _evidence(found: Certificate) -> dict[str, Scalar]:
    return {one.path: one.sha256[:_SHORT] for one in found.evidence}


def _varying(found: Certificate) -> dict[str, Scalar]:
    return {
        "created": found.validity.created,
        "valid until": found.validity.not_after,
        "run": found.run_id,
    }
