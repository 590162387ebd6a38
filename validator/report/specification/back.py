"""What stands behind the requirements: changes, provenance, indexes."""

from collections.abc import Iterator, Mapping
from typing import Any

from speccheck.validator.editions.edition import Clause, Edition
from speccheck.validator.editions.edition_models import ClaimSource, EditionSource
from speccheck.validator.report.specification.blocks import (
    Block,
    Heading,
    Inline,
    Line,
    Linked,
    Paragraph,
    Terms,
    anchor_of,
    joined,
    line,
    table,
)

_LEVELS = ("L1", "L2", "L3")


def changes(source: EditionSource, linked: Linked) -> Iterator[Block]:
    """The chapter of changes."""
    found = source.changes
    yield Heading(1, "Changes", "changes")
    yield Heading(2, f"Since the {_before(found.before)}", "changes-since")
    yield table(
        "Changes with their reasons",
        ("kind", "clauses", "what and why"),
        (
            (
                line(one.kind),
                linked.clauses(one.clauses),
                line(
                    *([f"{one.from_} to {one.to}. "] if one.to else []),
                    *linked(one.reason),
                ),
            )
            for one in found.changes
        ),
    )
    yield from _ended("Withdrawn clauses", "withdrawn", source, linked)
    yield from _ended("Deprecated clauses", "deprecated", source, linked)


def _before(text: str) -> str:
    return text.removeprefix("the ")


def _ended(
    title: str, name: str, source: EditionSource, linked: Linked
) -> Iterator[Block]:
    """Clauses that are gone, or will go; editions without any say so."""
    rows: Mapping[str, Any] = getattr(source.head, name, {})
    yield Heading(2, title, name)
    if not rows:
        yield Paragraph(line("None."))
        return
    yield table(
        title,
        ("clause", "since", "in its place", "reason"),
        (
            (
                line(linked.clause(clause)),
                line(str(one.since)),
                line(linked.clause(one.replaced_by) if one.replaced_by else "nothing"),
                line(*_removal(one), *linked(one.reason)),
            )
            for clause, one in rows.items()
        ),
    )


def _removal(one: object) -> Line:
    removed = getattr(one, "removed_in", None)
    return line(f"To be withdrawn in {removed}: ") if removed else ()


def annexes(edition: Edition, source: EditionSource, linked: Linked) -> Iterator[Block]:
    """Provenance and the indexes."""
    yield from _provenance(source, linked)
    yield from _by_track(edition, source, linked)
    yield from _index(edition, linked)


def _provenance(source: EditionSource, linked: Linked) -> Iterator[Block]:
    found = source.provenance
    yield Heading(1, "Provenance (informative)", "provenance", "Annex A")
    yield Paragraph(line(found.statement))
    yield table(
        "Reports",
        ("report", "title", "subject"),
        ((line(o.id), line(o.title), line(o.subject)) for o in found.reports),
    )
    yield Heading(2, "Where reports contradict each other", "contradictions", "-")
    for one in found.contradictions:
        told = "; ".join(f"{name}: {text}" for name, text in one.statements.items())
        yield Terms(((one.topic, line(f"{told}. {one.resolution}")),))
    yield Heading(2, "Claims", "claims", "-")
    yield Paragraph(
        line("Public claims in our own words, and the clauses that take them up.")
    )
    yield table(
        "Claims",
        ("claim", "what is claimed", "clauses"),
        (_claim(one, linked) for one in found.claims),
    )


def _claim(claim: ClaimSource, linked: Linked) -> tuple[Line, ...]:
    text: list[Inline] = [claim.claim]
    if claim.number is not None:
        number = claim.number
        text.append(f" Number: {_shown(number.value)} {number.unit} ({number.kind}).")
    if claim.note:
        text.append(f" {claim.note}")
    used = f"; {claim.used_for}" if claim.used_for else ""
    return line(claim.id), tuple(text), line(*linked.clauses(claim.clauses), used)


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _by_track(
    edition: Edition, source: EditionSource, linked: Linked
) -> Iterator[Block]:
    yield Heading(1, "Clauses by track and level (informative)", "by-track", "Annex B")
    for track in source.head.tracks:
        found = [one for one in edition.clauses.values() if track in one.tracks]
        yield Heading(2, track, anchor_of(f"track {track}"), "-")
        rows = [
            (f"{level} {word}", joined(map(linked.clause, _ids(found, level, word))))
            for level in _LEVELS
            for word in ("must", "should", "may")
        ]
        yield Terms(tuple(row for row in rows if row[1]))


def _ids(found: list[Clause], level: str, word: str) -> Iterator[str]:
    for one in found:
        if one.certification_level == level and one.level == word:
            yield one.id


def _index(edition: Edition, linked: Linked) -> Iterator[Block]:
    yield Heading(1, "Index of clauses (informative)", "index", "Annex C")
    yield table(
        "Index of clauses",
        ("clause", "title", "level", "status", "certification"),
        (
            (
                line(linked.clause(one.id)),
                line(one.title),
                line(one.level),
                line(one.status),
                line(one.certification_level),
            )
            for one in sorted(edition.clauses.values(), key=lambda one: one.id)
        ),
    )
