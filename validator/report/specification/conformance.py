"""What it takes to conform, use by use, and what a certificate asks."""

from collections.abc import Iterator

from speccheck.validator.editions.edition_models import (
    EditionSource,
    ProfileSource,
    TermSource,
)
from speccheck.validator.report.specification.blocks import (
    Block,
    Heading,
    Items,
    Line,
    Paragraph,
    line,
    table,
)

_UNKNOWN = {
    "listed": "is listed, and changes nothing as long as some must was judged",
    "inconclusive": "makes the result inconclusive",
    "denied": "denies the level",
}
_UNITS = {"d": "days", "ratio": "", "nodes": "machines"}
_TERMS = {
    "validity": ("Validity", "from the day on which the certificate was made"),
    "evidence_age": ("Age of evidence", "at most, on that day"),
    "coverage_floor": (
        "Coverage floor",
        "share of the musts and shoulds that apply, and were judged",
    ),
    "specimens": ("Specimens", "at least, of one type"),
}


def conformance(source: EditionSource) -> Iterator[Block]:
    """The chapter of conformance."""
    yield Heading(1, "Conformance", "conformance")
    uses = [one for one in source.profiles if one.id.startswith("use/")]
    yield Heading(2, "Uses", "conformance-uses")
    yield Paragraph(
        line(
            "A job, a machine or an instance type conforms to this edition for a use "
            "when every must that applies to it was judged and holds, under the "
            "profiles of the job, and nothing of what the use requires is unknown. A "
            "claim of conformance names edition, identity, profiles and use."
        )
    )
    yield table(
        "Uses",
        ("use", "evidence of levels", "a must without evidence", "edition named"),
        (_use(one) for one in uses),
    )
    for one in uses:
        if one.validity is not None or one.coverage_floor is not None:
            yield from _certificate(one)
    yield from _deviations()


def _use(profile: ProfileSource) -> tuple[Line, ...]:
    return (
        line(f"{profile.id}: {profile.title}"),
        line(", ".join(profile.certification_levels)),
        line(_UNKNOWN[profile.unknown_must or "listed"]),
        line(profile.edition_pin or ""),
    )


def _certificate(profile: ProfileSource) -> Iterator[Block]:
    yield Heading(2, "What a certificate asks", "certificate")
    yield Paragraph(
        line(
            "Certificates state tracks and levels. A track has level L1, L2 or L3 "
            "where every must of the track up to that level passes or does not apply "
            "under the profile of the instance type, none is unknown or failed, and "
            "the coverage floor is reached. A level is denied track by track: a track "
            "without evidence denies itself alone. A higher level includes the lower "
            "ones."
        )
    )
    rows: list[tuple[Line, ...]] = []
    for name, (title, text) in _TERMS.items():
        term: TermSource | None = getattr(profile, name)
        if term is not None:
            told = f"{term.confidence}: {term.source}"
            if term.confidence == "engineering-default":
                told = term.source
            rows.append(
                (
                    line(title),
                    line(f"{term.value:g} {_UNITS[term.unit]}".strip()),
                    line(text),
                    line(f"{told}. {term.note}" if term.note else told),
                )
            )
    yield table("Terms of a certificate", ("term", "value", "what", "source"), rows)
    yield Items(tuple(_asked(profile)))
    if profile.note:
        yield Paragraph(line(profile.note))


def _asked(profile: ProfileSource) -> Iterator[Line]:
    yield line("The edition is named with its identity; a draft certifies nothing.")
    if profile.bound_to:
        bound = ", ".join(profile.bound_to)
        yield line(f"A certificate is bound to: {bound}. Where one changes, it ends.")
    yield line(
        "It holds what was measured with its conditions, digests of all evidence, "
        "every verdict, and what could not be judged: whoever has the evidence can "
        "judge it again, and the verdicts must come out again."
    )
    yield line("Evidence of machines that do not exist is said to be synthetic in it.")


def _deviations() -> Iterator[Block]:
    yield Heading(2, "Waivers and own numbers", "deviations")
    yield Paragraph(
        line(
            "A failure may be waived by who answers for it, with a reason and an end. "
            "It stays a failure, is shown as one, and denies a level in a certificate "
            "unless the waiver is in force when it is made; the certificate lists it."
        )
    )
    yield Paragraph(
        line(
            "A number may be replaced by an own one, within its plausible range, with "
            "a reason, an owner and an end. Every report and certificate then says how "
            "many numbers are tailored, and marks each verdict that would be a failure "
            "by the number of this edition. What holds by own numbers alone does not "
            "conform to this edition, but to the edition as tailored."
        )
    )
