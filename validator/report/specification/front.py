"""What stands before the requirements: title, status, scope, conventions."""

from collections.abc import Iterator

from speccheck.validator.editions.edition import Edition
from speccheck.validator.editions.edition_models import EditionSource
from speccheck.validator.report.specification.blocks import (
    Block,
    Code,
    Heading,
    Line,
    Paragraph,
    Strong,
    Terms,
    line,
    table,
)

STAGES = {
    "draft": "A draft: it may change in any way, and nothing is certified by it.",
    "candidate": (
        "A candidate: it is judged and certified by, and may still change until it is "
        "approved."
    ),
    "approved": "Approved: it does not change any more. What follows is a new edition.",
    "retired": "Retired: it is kept so that old reports can be judged again.",
}
CONFIDENCE = (
    ("verified", "read in the source that is named"),
    ("derived", "our calculation from numbers that have a source"),
    ("secondary", "reported by others than the source itself"),
    ("engineering-default", "our choice, without any authority"),
)
TRACKS = {
    "comm-topology": "communication libraries, and how ranks lie on the machines",
    "memory-batch-precision": "memory, batches, number formats, kernels and data",
    "checkpoint-recovery": "checkpoints, faults and the return from them",
    "observability": "what is measured and logged, and that it can be relied on",
    "fabric": "the network between nodes",
    "security-energy": "secrets, listeners, power and clocks",
}
_LEVELS = (
    ("L1", "files of configuration alone settle it"),
    ("L2", "a snapshot of a live node is needed"),
    ("L3", "a measured run is needed: bandwidths, telemetry, a recovery drill"),
)
_VERDICTS = (
    ("pass", "the evidence was seen, and the requirement holds"),
    ("fail", "the evidence was seen, and the requirement does not hold"),
    ("unknown", "evidence is missing; it is never counted as a pass"),
    (
        "not applicable",
        "a condition does not hold, or a profile leaves the clause out",
    ),
    ("error", "the program that judges broke; it says nothing of what is judged"),
)
_NORMATIVE = (
    "Normative are the requirements of chapter 3 with their numbers and conditions, "
    "the profiles of chapter 4 and the terms of chapter 5. Rationale, remedies, notes, "
    "sources and annexes are informative."
)


def front(edition: Edition, source: EditionSource) -> Iterator[Block]:
    """Status, scope and conventions."""
    yield from _status(edition, source)
    yield from _scope(edition, source)
    yield from _conventions(edition, source)


def _status(edition: Edition, source: EditionSource) -> Iterator[Block]:
    clauses = edition.clauses.values()
    counts = ", ".join(
        f"{sum(one.level == level for one in clauses)} {level}"
        for level in ("must", "should", "may")
    )
    core = sum(one.status == "core" for one in clauses)
    base = getattr(source.head, "extends", None)
    yield Heading(1, "Status of this document", "status", "-")
    yield Paragraph(line(STAGES[edition.stage]))
    rows: list[tuple[str, Line]] = [
        ("Edition", line(edition.id)),
        ("Stage", line(edition.stage)),
        ("Clauses", line(f"{len(edition.clauses)}: {counts}; {core} core")),
        ("Profiles", line(str(len(edition.profiles)))),
        ("Identity", line("sha256 ", Code(edition.sha256))),
    ]
    if base is not None:
        rows.insert(2, ("Extends", line(f"edition {base.id}")))
    yield Terms(tuple(rows))
    yield Paragraph(
        line(
            "The identity is the SHA-256 of the compiled edition: its canonical JSON, "
            "with sorted keys, without blanks, in UTF-8. Every report and certificate "
            "names it. This document is made of the same files and says nothing that "
            "they do not say."
        )
    )


def _scope(edition: Edition, source: EditionSource) -> Iterator[Block]:
    titles = [area.title.lower() for area in source.head.areas]
    yield Heading(1, "Scope", "scope")
    yield Paragraph(line(edition.statement))
    yield Paragraph(
        line(
            "This edition states requirements for large-scale distributed training of "
            "neural networks: for the files that configure a run, for the machines "
            "that it runs on, and for what is measured on them. It covers "
            f"{', '.join(titles[:-1])} and {titles[-1]}."
        )
    )
    yield Paragraph(
        line(
            "It does not specify a protocol, a file format, an accelerator or a "
            "service, and does not judge the quality of a model. Where a framework, a "
            "library or a vendor documents a limit, that documentation counts; clauses "
            "name it as their source."
        )
    )
    yield Paragraph(line(_NORMATIVE))


def _conventions(edition: Edition, source: EditionSource) -> Iterator[Block]:
    yield Heading(1, "Conventions", "conventions")
    yield from _words()
    yield from _numbers(source)
    yield from _conditions(source)
    yield from _certification(edition, source)
    yield from _evidence(source)


def _words() -> Iterator[Block]:
    yield Heading(2, "Words of requirement", "words-of-requirement")
    yield Paragraph(
        line(
            "The words ",
            *(Strong("MUST"), ", ", Strong("SHOULD"), " and ", Strong("MAY")),
            ", and their negations, are to be interpreted as described in BCP 14 (RFC "
            "2119, RFC 8174) when, and only when, they appear in capitals, as they do "
            "in the requirements of clauses. In lower case they are ordinary English.",
        )
    )
    rows = (
        ("MUST", "an error", "denies a certificate"),
        ("SHOULD", "a warning", "counts into the coverage"),
        ("MAY", "an info", "is of no effect"),
    )
    yield table(
        "What a failure of each level is",
        ("level", "a failure is", "in a certificate it"),
        ((line(Strong(a)), line(b), line(c)) for a, b, c in rows),
    )
    yield Heading(2, "Clauses", "clauses-explained")
    yield Paragraph(
        line(
            "A clause is one numbered requirement. Its id is permanent and is never "
            "given to another one. A core clause is always judged, a proposed clause "
            "where a profile adds it or evidence of its kind is at hand. The level "
            "stands at the clause; profiles may raise it, and never lower it."
        )
    )
    yield Heading(2, "Verdicts", "verdicts")
    yield Terms(tuple((name, line(text)) for name, text in _VERDICTS))
    yield Paragraph(
        line(
            "Several rules may judge one clause. The clause is as good as its worst "
            "verdict, and unknown beats pass."
        )
    )


def _numbers(source: EditionSource) -> Iterator[Block]:
    yield Heading(2, "Numbers", "numbers")
    yield Paragraph(
        line(
            "Each threshold is a named number of its clause, with unit, source and "
            "confidence. Of several values that of the most specific profile counts: "
            "of size, accelerator, fabric, use and instance type the last that has "
            "one; then that of the precision; then the table over node counts, read by "
            "linear interpolation; then the value by default. A number without a value "
            "for a job leaves the clause unknown. The plausible range is one that no "
            "value leaves, an own one of a user neither."
        )
    )
    yield table(
        "How sure a number is",
        ("confidence", "what stands behind it"),
        ((line(name), line(text)) for name, text in CONFIDENCE),
    )
    yield table(
        "Units",
        ("unit", "meaning"),
        (
            (line(name), line(unit.text or f"one {unit.one}, several {name}"))
            for name, unit in source.head.units.items()
        ),
    )


def _conditions(source: EditionSource) -> Iterator[Block]:
    yield Heading(2, "Conditions of application", "conditions")
    yield Paragraph(
        line(
            "A clause applies where all its conditions hold, and everywhere where it "
            "has none. A condition whose fact nobody states is open: the clause is "
            "unknown then, and not passed."
        )
    )
    yield table(
        "Conditions of application",
        ("condition", "fact", "holds where"),
        (
            (line(Code(name)), line(Code(one.fact)), line(one.text))
            for name, one in source.conditions.items()
        ),
    )


def _certification(edition: Edition, source: EditionSource) -> Iterator[Block]:
    yield Heading(2, "Levels of certification and tracks", "certification-levels")
    yield Terms(tuple((name, line(text)) for name, text in _LEVELS))
    clauses = edition.clauses.values()
    yield table(
        "Tracks",
        ("track", "what it is about", "clauses"),
        (
            (
                line(name),
                line(TRACKS.get(name, "")),
                line(str(sum(name in one.tracks for one in clauses))),
            )
            for name in source.head.tracks
        ),
    )


def _evidence(source: EditionSource) -> Iterator[Block]:
    yield Heading(2, "Kinds of evidence", "evidence")
    yield table(
        "Kinds of evidence",
        ("kind", "what it holds"),
        (
            (line(Code(name)), line(text))
            for name, text in source.head.evidence_kinds.items()
        ),
    )
