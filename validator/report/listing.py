"""What `speccheck list` lists, as text and as JSON: `speccheck-list/1`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.serialise import TOOL, Tool, document_text
from speccheck.validator.report.style import Style, counted, wrap

Fact = str | int | float | bool | None
_INDENT = " " * 6
_WIDEST_NAME = 34
_NOUNS = {"gpus": "GPU"}


class ListRow(Record):
    """One name with what is known of it.

    Attributes:
        name: as options take it.
        aliases: other names that mean the same.
        title: what it is, in a line; empty where its facts say it.
        facts: by name; null where it is not known.
    """

    name: str
    aliases: tuple[str, ...]
    title: str
    facts: Mapping[str, Fact]


class ListDocument(Record):
    """Names of one kind; total: how many there are without words that narrow them."""

    schema_name: Literal["speccheck-list/1"]
    tool: Tool
    kind: str
    words: tuple[str, ...]
    total: int
    rows: tuple[ListRow, ...]


def list_document(
    kind: str, rows: Sequence[ListRow], words: Sequence[str]
) -> ListDocument:
    """Return the rows that have all words, in whatever letters."""
    wanted = [word.casefold() for word in words]
    fitting = tuple(
        row for row in rows if all(word in _searched(row) for word in wanted)
    )
    return ListDocument(
        "speccheck-list/1", TOOL, kind, tuple(words), len(rows), fitting
    )


def _searched(row: ListRow) -> str:
    facts = (str(value) for value in row.facts.values() if value is not None)
    return "\n".join((row.name, *row.aliases, row.title, *facts)).casefold()


def list_json(document: ListDocument) -> str:
    """Return the rows as JSON."""
    return document_text(document)


def list_text(document: ListDocument, style: Style) -> str:
    """Return the rows as text, and how many there are."""
    rows = document.rows
    longest = max((len(row.name) for row in rows), default=0)
    width = min(longest, _WIDEST_NAME)
    lines = [line for row in rows for line in _row_lines(row, width, style.width)]
    noun = _NOUNS.get(document.kind, document.kind.removesuffix("s"))
    count = counted(len(rows), noun)
    if document.words:
        count = f"{len(rows)} of {counted(document.total, noun)}"
    return "\n".join((*lines, count)) + "\n"


def _row_lines(row: ListRow, width: int, most: int) -> Iterator[str]:
    facts = ", ".join(
        _fact_text(name, value) for name, value in row.facts.items() if _is_shown(value)
    )
    title = row.title.rstrip(".")
    both = ", ".join(filter(None, (title, facts)))
    name = f"  {row.name:<{width}}  "
    if len(name + both) <= most:
        yield (name + both).rstrip()
    elif facts and len(name + facts) <= most:
        yield name + facts
        if title:
            yield wrap(title, most, _INDENT)
    else:
        yield name.rstrip()
        yield wrap(both, most, _INDENT)
    if row.aliases:
        yield wrap(f"also: {', '.join(row.aliases)}", most, _INDENT)


def _is_shown(value: Fact) -> bool:
    return value not in {None, "", False}


def _fact_text(name: str, value: Fact) -> str:
    """Return `80 GB memory` for a number, the value of a word, the name of a truth."""
    words = name.replace("_", " ")
    if value is True:
        return words
    return str(value) if isinstance(value, str) else f"{value:g} {words}"
