"""Parts of a document, and texts that pages quote, as Markdown.

Texts are escaped so that Markdown shows them as they stand.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import cast

from speccheck.validator.report.document import (
    Badges,
    Block,
    Code,
    Heading,
    Items,
    Link,
    Paragraph,
    Parts,
    Strong,
    Table,
    Terms,
)

# What would begin or end emphasis, code, a tag or a reference. Underscores at the
# beginning of words and within them are left alone: names are full of them, and
# without one at an end they mean nothing.
_SIGNS = re.compile(r"[\\*`\[\]]|<(?=[A-Za-z/!?])|_(?=_*(?!\w))")
_EXAMPLE = re.compile(r"^(\w+)::\n\n((?:(?:    .*)?\n)+)", re.MULTILINE)


def plain(text: str) -> str:
    """Return a paragraph in which no sign means anything to Markdown."""
    return _SIGNS.sub(lambda sign: "\\" + sign.group(), text)


def cell(text: str) -> str:
    """Return the same for a cell of a table."""
    return plain(text).replace("|", "\\|").replace("\n", " ")


def in_cell(text: str) -> str:
    """Return the text of a docstring or a help for a cell of a table."""
    return prose(text).replace("|", "\\|").replace("\n", " ")


def with_fences(text: str) -> str:
    """Return a docstring whose `Bad::` and `Good::` examples are fenced blocks."""
    parts: list[str] = []
    end = 0
    for example in _EXAMPLE.finditer(text + "\n"):
        parts.append(prose(text[end : example.start()]))
        code = textwrap.dedent(example[2]).strip("\n")
        parts.append(f"{example[1]}:\n\n```text\n{code}\n```\n\n")
        end = example.end()
    parts.append(prose(text[end:]))
    return "".join(parts).rstrip("\n")


def prose(text: str) -> str:
    """Return the text of a docstring: code in backquotes stays code."""
    pieces = re.split("(`[^`]+`)", text)
    return "".join(piece if piece[:1] == "`" else plain(piece) for piece in pieces)


def markdown(parts: Parts, *, is_cell: bool = False) -> str:
    """Return inline parts in one line; of a cell, without what would end it."""
    quoted = cell if is_cell else plain
    if isinstance(parts, str):
        return quoted(parts)
    if isinstance(parts, Strong):
        return f"**{quoted(parts.text)}**"
    if isinstance(parts, Link):
        return f"[{quoted(parts.text)}](#{parts.anchor})"
    if isinstance(parts, Code):
        return f"`{parts.text}`"
    items = cast("Iterable[Parts]", parts)
    return "".join(markdown(part, is_cell=is_cell) for part in items)


def markdown_blocks(blocks: Iterable[Block]) -> Iterator[str]:
    """Write paragraphs, lists and tables, each as text of its own."""
    for block in blocks:
        if isinstance(block, Heading):
            yield f'<a id="{block.anchor}"></a>'
            yield f"{'#' * (block.depth + 1)} {plain(title_of(block))}"
        elif isinstance(block, Paragraph):
            sign = "> " if block.name == "requirement" else ""
            yield sign + markdown(block.parts)
        elif isinstance(block, Badges):
            yield " · ".join((f"**{block.level}**", *map(plain, block.words)))
        elif isinstance(block, Items):
            yield "\n".join(f"- {markdown(item)}" for item in block.items)
        elif isinstance(block, Terms):
            rows = ((markdown(name), markdown(text)) for name, text in block.rows)
            yield "\n".join(f"- *{name}:* {text}" for name, text in rows)
        elif isinstance(block, Table):
            yield "\n".join(_table(block))


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(table.heads)} |"
    yield f"|{' --- |' * len(table.heads)}"
    for row in table.rows:
        cells = (markdown(part, is_cell=True) for part in row)
        yield f"| {' | '.join(cells)} |"


def title_of(heading: Heading) -> str:
    """Return a heading with its number."""
    return f"{heading.number} {heading.text}".strip()
