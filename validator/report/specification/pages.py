"""The document of an edition as one HTML file, and as one Markdown file.

The HTML file needs no other file and no script, and is readable on paper.
"""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

from speccheck.validator.report.document import Document, Heading, Table
from speccheck.validator.report.forms.html_text import escaped
from speccheck.validator.report.specification.document import contents
from speccheck.validator.report.write_html import html as written
from speccheck.validator.report.write_markdown import (
    markdown_blocks,
    plain,
    title_of,
)

NOTE = (
    "<!-- Written by python -m specification_page; change "
    "the files of the edition instead. -->"
)
_STYLE = Path(__file__).with_name("specification.css")


def html(document: Document) -> Iterator[str]:
    """The page in pieces."""
    yield _head(document)
    yield '<a class="skip" href="#status">to the text</a>\n'
    yield (
        f"<header>\n<h1>{escaped(document.title)}</h1>\n"
        f'<p class="subtitle">{escaped(document.subtitle)}</p>\n</header>\n'
    )
    yield '<div class="sheet">\n<nav aria-label="Contents">\n'
    yield "<details open>\n<summary>Contents</summary>\n"
    yield from _contents(document)
    yield "</details>\n</nav>\n<main>\n"
    is_in_clause = False
    for block in document.blocks:
        if isinstance(block, Heading):
            if is_in_clause:
                yield "</article>\n"
            is_in_clause = block.is_clause
            if is_in_clause:
                yield "<article>\n"
            yield _heading(block)
        elif isinstance(block, Table):
            yield from _table(block)
        else:
            yield written(block)
    yield ("</article>\n" if is_in_clause else "") + "</main>\n</div>\n"
    yield "</body>\n</html>\n"


def _head(document: Document) -> str:
    style = _STYLE.read_text(encoding="utf-8")
    digest = hashlib.sha256(style.encode()).digest()
    allowed = f"'sha256-{base64.b64encode(digest).decode()}'"
    policy = (
        f"default-src 'none'; style-src {allowed}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="{document.language}">\n<head>\n'
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escaped(document.title)}</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n"
    )


def _contents(document: Document) -> Iterator[str]:
    """Chapters, each with the list of its sections."""
    depth = 0
    for entry in contents(document.blocks):
        while depth > entry.depth:
            yield "</li>\n</ul>\n"
            depth -= 1
        if depth == entry.depth:
            yield "</li>\n"
        while depth < entry.depth:
            yield "<ul>\n"
            depth += 1
        number = f'<span class="number">{escaped(entry.number)}</span> '
        before = number if entry.number else ""
        yield f'<li><a href="#{entry.anchor}">{before}{written(entry.text)}</a>'
    yield "</li>\n</ul>\n" * depth


def _heading(block: Heading) -> str:
    tag = f"h{block.depth + 1}"
    shown = escaped(title_of(block))
    if block.is_clause:
        name, _, title = title_of(block).partition(" ")
        shown = f'<span class="id">{escaped(name)}</span> {escaped(title)}'
    sign = f'<a class="sign" href="#{block.anchor}" aria-label="this place">#</a>'
    return f'<{tag} id="{block.anchor}">{shown} {sign}</{tag}>\n'


def _table(block: Table) -> Iterator[str]:
    """Write a table whose cells name their columns where the page is narrow."""
    caption = escaped(block.caption)
    heads = "".join(f'<th scope="col">{escaped(head)}</th>' for head in block.heads)
    yield f'<div class="table" role="region" aria-label="{caption}" tabindex="0">\n'
    yield f"<table>\n<caption>{caption}</caption>\n"
    yield f"<thead><tr>{heads}</tr></thead>\n<tbody>\n"
    for row in block.rows:
        first, *rest = (written(cell) for cell in row)
        cells = "".join(
            f'<td data-head="{escaped(head)}">{text}</td>'
            for head, text in zip(block.heads[1:], rest, strict=True)
        )
        yield f'<tr><th scope="row">{first}</th>{cells}</tr>\n'
    yield "</tbody>\n</table>\n</div>\n"


def markdown(document: Document) -> str:
    """Return the document in Markdown, as GitHub and generators of sites read it."""
    listed = "\n".join(
        f"{'  ' * (entry.depth - 1)}- [{plain(title_of(entry))}](#{entry.anchor})"
        for entry in contents(document.blocks)
    )
    parts = [f"# {plain(document.title)}", NOTE, plain(document.subtitle)]
    parts += ["## Contents", listed, *markdown_blocks(document.blocks)]
    return "\n\n".join(parts) + "\n"
