"""The requirements: area by area, clause by clause."""

import re
from collections.abc import Iterator

from speccheck.validator.editions.compose import ComposedEdition, compose
from speccheck.validator.editions.edition import Clause, Edition, number_text
from speccheck.validator.editions.show import (
    by_profile_text,
    conditions_text,
    origin_texts,
    raised_elsewhere,
)
from speccheck.validator.report.specification.blocks import (
    Block,
    Code,
    Heading,
    Inline,
    Line,
    Linked,
    Paragraph,
    Requirement,
    Strong,
    Table,
    Tags,
    Terms,
    anchor_of,
    joined,
    line,
    table,
)


def requirements(edition: Edition, linked: Linked) -> Iterator[Block]:
    """The chapter of requirements."""
    yield Heading(1, "Requirements", "requirements")
    composed = compose(edition, use="ci")
    for code, title in edition.areas.items():
        found = [one for one in edition.clauses.values() if one.area == code]
        if not found:
            continue
        yield Heading(2, f"{title} ({code})", anchor_of(f"area {code}"))
        yield Paragraph(line(_count(found)))
        for clause in found:
            yield from _Clause(clause, composed, linked).blocks()


def _count(found: list[Clause]) -> str:
    counts = [
        f"{number} {level}"
        for level in ("must", "should", "may")
        if (number := sum(one.level == level for one in found))
    ]
    noun = "clause" if len(found) == 1 else "clauses"
    return f"{len(found)} {noun}: {', '.join(counts)}."


class _Clause:
    """One clause as blocks."""

    def __init__(
        self, clause: Clause, composed: ComposedEdition, linked: Linked
    ) -> None:
        self._clause = clause
        self._composed = composed
        self._edition = composed.edition
        self._linked = linked

    def blocks(self) -> Iterator[Block]:
        clause = self._clause
        yield Heading(
            3, f"{clause.id} {clause.title}", anchor_of(clause.id), is_clause=True
        )
        words = (clause.status, clause.certification_level, *clause.tracks)
        yield Tags(clause.level, words)
        yield Requirement(normative(clause))
        if clause.numbers:
            yield self._numbers()
        yield Terms(tuple(self._terms()))

    def _numbers(self) -> Table:
        return table(
            f"Numbers of {self._clause.id}",
            ("number", "value", "plausible", "confidence", "source"),
            (self._number(name) for name in self._clause.numbers),
        )

    def _number(self, name: str) -> Iterator[Line]:
        number = self._clause.numbers[name]
        texts = [] if number.value is None else [number_text(number, number.value)]
        if number.by_profile:
            texts.append(by_profile_text(number))
        plausible = ""
        if number.plausible is not None:
            low, high = (_whole(one) for one in number.plausible)
            plausible = f"{number_text(number, low)} to {number_text(number, high)}"
        yield line(Code(name))
        yield line("; ".join(texts))
        yield line(plausible)
        yield line(number.confidence)
        yield line(number.source)

    def _terms(self) -> Iterator[tuple[str, Line]]:
        clause, edition = self._clause, self._edition
        yield "Applies", line(*conditions_text(clause, edition))
        judged = self._composed.judged(clause.id)
        for text in raised_elsewhere(clause, edition, judged):
            yield "Raised", self._linked(text)
        adding = [p.id for p in edition.profiles.values() if clause.id in _added(p)]
        if clause.status == "proposed" and adding:
            yield "Added by", line(", ".join(adding))
        deprecated = getattr(clause, "deprecated", None)
        if deprecated is not None:
            yield "Deprecated", self._linked(deprecated.text)
        yield "Rationale", self._linked(clause.rationale)
        yield "Remedy", self._linked(clause.remedy)
        yield "Evidence", joined(map(Code, clause.evidence))
        yield "Rests on", line("; ".join(origin_texts(clause)))
        for name, number in clause.numbers.items():
            if number.note:
                yield "Note", line(Code(name), ": ", *self._linked(number.note))
        if clause.note:
            yield "Note", self._linked(clause.note)


def _added(profile: object) -> set[str]:
    adds: tuple[str, ...] = getattr(profile, "adds", ())
    besides = getattr(profile, "adds_with_evidence", {}).values()
    return {*adds, *(name for names in besides for name in names)}


def _whole(value: float) -> float:
    return int(value) if value % 1 == 0 else value


def normative(clause: Clause) -> Line:
    """The requirement, its word of RFC 2119 in capitals."""
    text = clause.requirement_text()
    names = {number_text(one, None): name for name, one in clause.numbers.items()}
    unset = "|".join(map(re.escape, names)) or "(?!)"
    word = re.compile(rf"\b{clause.level}( not)?\b|{unset}")
    parts: list[Inline] = []
    end = 0
    for found in word.finditer(text):
        name = names.get(found[0])
        shown = Strong(found[0].upper()) if name is None else Code(name)
        parts += [text[end : found.start()], shown]
        end = found.end()
    return tuple(one for one in (*parts, text[end:]) if one)
