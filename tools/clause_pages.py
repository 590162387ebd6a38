"""Writes docs/clauses: a page for each area of the edition, with all of its clauses.

Run `python tools/clause_pages.py`; a test holds the pages equal.
"""

from collections.abc import Iterator
from pathlib import Path

from page_files import write_pages
from speccheck.validator.editions.compose import ComposedEdition, compose
from speccheck.validator.editions.edition import (
    Clause,
    Edition,
    Number,
    editions,
    level_word,
    load_edition,
    number_text,
)
from speccheck.validator.editions.show import (
    by_profile_text,
    conditions_text,
    origin_texts,
    raised_elsewhere,
)
from speccheck.validator.engine.rule_index import RulesByClause, rule_entries
from speccheck.validator.report.write_markdown import cell, plain

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "clauses"
_LEVELS = ("must", "should", "may")
_INTRODUCTION = """\
A clause is one numbered requirement. Its level says what a violation is in a report:
must an error, should a warning, advice an info. Levels and numbers here are those that
hold where no profile says otherwise. *Core* clauses are judged by default, *proposed*
ones where a profile adds them. L1 is evidence of files, L2 of a live node, L3 of a
measured run. `speccheck spec show CLAUSE` prints the same on a terminal."""
_CONFIDENCE = """\
## How sure a number is

| word | what stands behind it |
| --- | --- |
| verified | read in the named source |
| derived | our calculation from numbers that have a source |
| secondary | reported by others |
| engineering-default | our choice, without authority |
"""


def pages() -> dict[str, str]:
    """Return all pages by file name, with an index."""
    edition = load_edition()
    texts = {"README.md": _index(edition)}
    composed = compose(edition, use="ci")
    rules = RulesByClause(rule_entries())
    for code, title in edition.areas.items():
        parts = [f"# {code} {title}", ""]
        for clause in _clauses(edition, code):
            parts.extend(_clause(clause, composed, edition, rules))
        texts[page_name(code)] = "\n".join(parts).rstrip() + "\n"
    for name in editions():
        later = load_edition(name)
        if later.extends is not None and later.extends.id == edition.id:
            texts[f"{name}.md"] = _additions(later, load_edition(later.extends.id))
    return texts


def _additions(edition: Edition, base: Edition) -> str:
    """Return the clauses that an edition adds to the one that it extends."""
    composed = compose(edition, use="ci")
    rules = RulesByClause(rule_entries())
    title = plain(edition.title)
    parts = [
        f"# Edition {edition.id}",
        "",
        f"{title}. It extends edition {base.id}; these are the clauses that it adds.",
        f"`speccheck spec diff {base.id} {edition.id}` tells all that differs.",
        "",
    ]
    for clause in edition.clauses.values():
        if clause.id not in base.clauses:
            parts.extend(_clause(clause, composed, edition, rules))
    return "\n".join(parts).rstrip() + "\n"


def page_name(area: str) -> str:
    """Return the file of an area's page; clauses are anchors on it."""
    return f"{area.lower()}.md"


def _clauses(edition: Edition, area: str) -> list[Clause]:
    return [clause for clause in edition.clauses.values() if clause.area == area]


def _index(edition: Edition) -> str:
    lines = [
        "# Clauses",
        "",
        f"{edition.title}: edition {edition.id}, {edition.stage}.",
        "",
        plain(edition.statement),
        "",
        _INTRODUCTION,
        "",
        "| area | clauses | must | should | advice |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for code, title in edition.areas.items():
        clauses = _clauses(edition, code)
        counts = [sum(clause.level == level for clause in clauses) for level in _LEVELS]
        numbers = " | ".join(str(count) for count in (len(clauses), *counts))
        lines.append(f"| [{code} {title}]({page_name(code)}) | {numbers} |")
    later = [
        f"- [Edition {name}]({name}.md): the clauses that it adds"
        for name in editions()
        if (base := load_edition(name).extends) and base.id == edition.id
    ]
    if later:
        lines += ["", "Editions that extend this one:", "", *later]
    return "\n".join((*lines, "", _CONFIDENCE))


def _clause(
    clause: Clause, composed: ComposedEdition, edition: Edition, rules: RulesByClause
) -> Iterator[str]:
    where = " ".join(conditions_text(clause, edition))
    level = f"**{level_word(clause.level)}** · {clause.status}"
    level += f" · {clause.certification_level}"
    yield f'<a id="{clause.id.lower()}"></a>'
    paragraphs = [
        f"## {clause.id} {plain(clause.title)}",
        f"{level} · {plain(where)}",
        plain(clause.requirement_text()),
        f"*Why.* {plain(clause.rationale)}",
        f"*What to change.* {plain(clause.remedy)}",
    ]
    raised = list(raised_elsewhere(clause, edition, composed.judged(clause.id)))
    paragraphs.extend(f"*Raised.* {plain(text)}" for text in raised)
    if clause.numbers:
        paragraphs.append("\n".join(_numbers(clause)))
    notes = [number.note for number in clause.numbers.values() if number.note]
    if clause.note:
        notes.append(clause.note)
    paragraphs.extend(f"*Note.* {plain(text)}" for text in notes)
    paragraphs.append(f"*Judged by.* {_rules(clause, rules)}")
    paragraphs.append(f"*Rests on.* {plain(' · '.join(origin_texts(clause)))}.")
    for text in paragraphs:
        yield ""
        yield text
    yield ""


def _numbers(clause: Clause) -> Iterator[str]:
    yield "| number | value | how sure | source |"
    yield "| --- | --- | --- | --- |"
    for name, number in clause.numbers.items():
        source = cell(number.source)
        yield f"| {name} | {_value(number)} | {number.confidence} | {source} |"


def _value(number: Number) -> str:
    value = number.value
    parts = [] if value is None else [number_text(number, value)]
    if number.by_profile:
        parts.append(by_profile_text(number))
    return cell("; ".join(parts)) or "none by default"


def _rules(clause: Clause, rules: RulesByClause) -> str:
    names = [rule.name for rule in rules.get(clause.id, ())]
    if not names:
        return "No rule yet: reported as unknown where it applies."
    return ", ".join(f"[{name}](../rules/{name}.md)" for name in names)


if __name__ == "__main__":
    write_pages(FOLDER, pages())
