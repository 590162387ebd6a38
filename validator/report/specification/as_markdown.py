"""The document in Markdown, as GitHub and the generator of the site read it."""

from collections.abc import Iterator

from speccheck.validator.report.markdown_text import cell, plain
from speccheck.validator.report.specification.blocks import (
    Block,
    Code,
    Document,
    Heading,
    Items,
    Line,
    Link,
    Paragraph,
    Requirement,
    Strong,
    Table,
    Tags,
    Terms,
)
from speccheck.validator.report.specification.document import contents, title_of

NOTE = (
    "<!-- Written by python -m specification_page; change "
    "the files of the edition instead. -->"
)


def markdown(document: Document) -> str:
    """The whole text."""
    parts = [f"# {plain(document.title)}", NOTE, plain(document.subtitle)]
    parts += ["## Contents", "\n".join(_contents(document))]
    parts += [text for block in document.blocks for text in _block(block)]
    return "\n\n".join(parts) + "\n"


def _contents(document: Document) -> Iterator[str]:
    for one in contents(document.blocks):
        yield f"{'  ' * (one.depth - 1)}- [{plain(title_of(one))}](#{one.anchor})"


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f'<a id="{block.anchor}"></a>'
        yield f"{'#' * (block.depth + 1)} {plain(title_of(block))}"
    elif isinstance(block, Paragraph):
        yield _line(block.line)
    elif isinstance(block, Requirement):
        yield f"> {_line(block.line)}"
    elif isinstance(block, Tags):
        yield " · ".join((f"**{block.level}**", *map(plain, block.words)))
    elif isinstance(block, Items):
        yield "\n".join(f"- {_line(one)}" for one in block.lines)
    elif isinstance(block, Terms):
        yield "\n".join(f"- *{plain(name)}:* {_line(one)}" for name, one in block.rows)
    else:
        yield "\n".join(_table(block))


def _table(block: Table) -> Iterator[str]:
    yield f"| {' | '.join(block.heads)} |"
    yield f"|{' --- |' * len(block.heads)}"
    for row in block.rows:
        yield f"| {' | '.join(_line(one, in_cell=True) for one in row)} |"


def _line(line: Line, *, in_cell: bool = False) -> str:
    quoted = cell if in_cell else plain
    texts: list[str] = []
    for one in line:
        if isinstance(one, Strong):
            texts.append(f"**{quoted(one.text)}**")
        elif isinstance(one, Link):
            texts.append(f"[{quoted(one.text)}](#{one.anchor})")
        elif isinstance(one, Code):
            texts.append(f"`{one.text}`")
        else:
            texts.append(quoted(one))
    return "".join(texts)
