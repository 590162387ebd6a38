"""An edition as text for a terminal: `speccheck spec list` and `spec show CLAUSE`."""

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap

from speccheck.validator.editions.compose import ComposedEdition, JudgedClause, compose
from speccheck.validator.editions.edition import (
    Clause,
    Edition,
    Number,
    NumberValue,
    Tombstone,
    level_word,
    number_text,
)

_WIDTH = 80
_SHORT_DIGEST = 12


def list_text(edition: Edition, composed: ComposedEdition | None = None) -> str:
    """Return all clauses by area, one line each: id, level, status, title.

    Args:
        edition: the edition.
        composed: the profiles whose levels are shown; those of use ci without it.

    """
    composed = composed or compose(edition, use="ci")
    lines = [*_head(edition, composed), ""]
    for code, title in edition.areas.items():
        judged_clauses = [
            clause for clause in composed.clauses if clause.clause.area == code
        ]
        if judged_clauses:
            lines.append(f"{code}  {title}")
            lines.extend(_row(judged_clause) for judged_clause in judged_clauses)
            lines.append("")
    lines.extend(_withdrawn(edition))
    judged = [clause for clause in composed.clauses if clause.is_selected]
    lines.append(
        f"{len(composed.clauses)} clauses, {len(judged)} judged: "
        + ", ".join(
            f"{sum(judged_clause.level == level for judged_clause in judged)} "
            f"{level_word(level)}"
            for level in ("must", "should", "may")
        )
    )
    lines.append(
        "* raised by a profile; speccheck spec show CLAUSE says by which and why"
    )
    return "\n".join(lines) + "\n"


def clause_text(
    edition: Edition, clause_id: str, composed: ComposedEdition | None = None
) -> str:
    """Return one clause with its level, numbers and what it rests on.

    Args:
        edition: the edition.
        clause_id: such as COMM-001; raises KeyError for an id that it does not have.
        composed: the profiles whose level and numbers are shown; those of use ci
            without it.

    """
    composed = composed or compose(edition, use="ci")
    judged = composed.judged(clause_id)
    clause = judged.clause
    numbers = composed.numbers(clause_id)
    lines = [
        f"{clause.id}  {clause.title}",
        *_block("Level", _level(judged)),
        *_block("Judged", _status(judged, edition)),
        *_block("Deprecated", [clause.deprecated.text] if clause.deprecated else []),
        *_block("Requirement", [clause.requirement_text(numbers)]),
        *_block("Why", [clause.rationale]),
        *_block("What to change", [clause.remedy]),
        *_block("Applies", conditions_text(clause, edition)),
        *_block("Raised elsewhere", raised_elsewhere(clause, edition, judged)),
        *_block("Numbers", _numbers(clause, numbers)),
        *_block("Rests on", origin_texts(clause)),
        *_block("Note", [clause.note] if clause.note else []),
        "",
        *_head(edition, composed),
    ]
    return "\n".join(lines) + "\n"


def tombstone_text(edition: Edition, tombstone: Tombstone) -> str:
    """Return what became of a clause that the edition has no longer."""
    lines = [
        f"{tombstone.id}  {tombstone.title}".rstrip(),
        *_block("Withdrawn", [f"in edition {tombstone.since}; its id stays its own"]),
        *_block("Why", [tombstone.reason]),
        *_block("Instead", [tombstone.replaced_by] if tombstone.replaced_by else []),
        "",
        *_head(edition, compose(edition, use="ci")),
    ]
    return "\n".join(lines) + "\n"


def _withdrawn(edition: Edition) -> Iterator[str]:
    if edition.withdrawn:
        yield "Withdrawn"
        yield from (
            f"  {tombstone.id:<9} since {tombstone.since}  {tombstone.title}"
            for tombstone in edition.withdrawn.values()
        )
        yield ""


def _head(edition: Edition, composed: ComposedEdition) -> list[str]:
    names = ", ".join(profile.id for profile in composed.profiles)
    short = edition.sha256[:_SHORT_DIGEST]
    base = f", extends {edition.extends.id}" if edition.extends else ""
    text = (
        f"Edition {edition.id} ({edition.stage}{base}), sha256 {short}, "
        f"profiles {names}"
    )
    return [*_wrap(text), *_wrap(edition.statement)]


def _row(judged: JudgedClause) -> str:
    clause = judged.clause
    level = level_word(judged.level) + ("*" if judged.raised_by else "")
    status, title = clause.status, clause.title
    if clause.deprecated is not None:
        title += f" (until {clause.deprecated.removed_in})"
    if judged.not_applicable:
        status = "left out"
    elif judged.is_selected and status == "proposed":
        status = "added"
    return f"  {clause.id:<9} {level:<7} {status:<8} {title}"


def _block(name: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield a heading with its paragraphs indented; nothing for no paragraphs."""
    paragraphs = list(texts)
    if paragraphs:
        yield ""
        yield name
    for text in paragraphs:
        yield from _wrap(text, "    ")


def _wrap(text: str, indent: str = "") -> list[str]:
    return wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _level(judged: JudgedClause) -> Iterator[str]:
    clause = judged.clause
    text = f"{level_word(judged.level)}, of certification level "
    text += clause.certification_level
    if judged.raised_by:
        text += f"; {level_word(clause.level)} where no profile raises it"
    yield text
    for raised in judged.raised_by:
        yield f"raised to {raised.level} by {raised.profile}: {raised.reason}"


def _status(judged: JudgedClause, edition: Edition) -> Iterator[str]:
    status = judged.clause.status
    if judged.not_applicable:
        yield f"no: {judged.not_applicable}"
    elif judged.is_selected:
        yield "yes" if status == "core" else f"yes: {status}, and added by a profile"
    else:
        adding = [
            profile.id
            for profile in edition.profiles.values()
            if judged.clause.id in profile.adds
        ]
        names = f", judged under {', '.join(adding)}" if adding else ""
        yield f"no: {status}{names}"
    if judged.live_only:
        yield (
            "By files alone it can fail, but it does not pass: that needs evidence of "
            "level " + judged.clause.certification_level
        )


def conditions_text(clause: Clause, edition: Edition) -> Iterator[str]:
    """Yield where the clause applies."""
    texts = [edition.conditions[name].text for name in clause.applies_when]
    yield f"only where {' and '.join(texts)}" if texts else "everywhere"


def raised_elsewhere(
    clause: Clause, edition: Edition, judged: JudgedClause
) -> Iterator[str]:
    """Yield where else the level is higher than under the profiles in force."""
    for profile in edition.profiles.values():
        for entry in profile.raises:
            level = entry.levels.get(clause.id)
            if level is None or level == judged.level:
                continue
            parts = [" or ".join(names) for names in (entry.uses, entry.sizes) if names]
            if profile.id != "base":
                parts.insert(0, profile.id)
            yield f"{level} in {', with '.join(parts)}: {entry.reason}"


def _numbers(clause: Clause, values: Mapping[str, NumberValue | None]) -> Iterator[str]:
    for name, number in clause.numbers.items():
        value = values[name]
        text = "no default" if value is None else number_text(number, value)
        source = number.source
        if not source.startswith("engineering default"):
            source = f"{number.confidence}: {source}"
        yield f"{name}: {text}; {source}"
        if number.by_profile:
            yield f"by profile: {by_profile_text(number)}"
        if number.note:
            yield number.note


def by_profile_text(number: Number) -> str:
    """Return the values of a number by profile, the profiles of one value together."""
    keys: dict[str, list[str]] = {}
    for key, value in sorted(number.by_profile.items(), key=_natural):
        keys.setdefault(number_text(number, value), []).append(key)
    return "; ".join(f"{text} in {', '.join(names)}" for text, names in keys.items())


def _natural(entry: tuple[str, object]) -> tuple[str, int, str]:
    """Return what sorts nodes/8 before nodes/16."""
    kind, _, name = entry[0].partition("/")
    return kind, int(name) if name.isdecimal() else 0, name


def origin_texts(clause: Clause) -> Iterator[str]:
    """Yield what the clause rests on, a line for each kind of source."""
    words = {
        "claims": "public claims",
        "primary": "read",
        "secondary": "reported by others",
        "derived_model": "derived from",
        "engineering_default": "our own choice",
    }
    for kind, word in words.items():
        if kind in clause.origin:
            yield f"{word}: {'; '.join(clause.origin[kind])}"
