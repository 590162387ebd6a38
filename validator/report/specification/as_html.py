"""The document as one HTML file: no other file, no script, readable on paper."""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

from speccheck.validator.report.forms.html_text import escaped
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
        yield from _block(block)
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
    for one in contents(document.blocks):
        while depth > one.depth:
            yield "</li>\n</ul>\n"
            depth -= 1
        if depth == one.depth:
            yield "</li>\n"
        while depth < one.depth:
            yield "<ul>\n"
            depth += 1
        number = f'<span class="number">{escaped(one.number)}</span> '
        told = number if one.number else ""
        yield f'<li><a href="#{one.anchor}">{told}{escaped(one.text)}</a>'
    yield "</li>\n</ul>\n" * depth


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        tag = f"h{block.depth + 1}"
        told = escaped(title_of(block))
        if block.is_clause:
            name, _, title = block.text.partition(" ")
            told = f'<span class="id">{escaped(name)}</span> {escaped(title)}'
        sign = f'<a class="sign" href="#{block.anchor}" aria-label="this place">#</a>'
        yield f'<{tag} id="{block.anchor}">{told} {sign}</{tag}>\n'
    elif isinstance(block, Paragraph):
        yield f"<p>{_line(block.line)}</p>\n"
    elif isinstance(block, Requirement):
        yield f'<p class="requirement">{_line(block.line)}</p>\n'
    elif isinstance(block, Tags):
        level = f'<span class="{block.level}">{block.level}</span>'
        rest = "".join(f"<span>{escaped(word)}</span>" for word in block.words)
        yield f'<p class="tags">{level}{rest}</p>\n'
    elif isinstance(block, Items):
        rows = "".join(f"<li>{_line(one)}</li>\n" for one in block.lines)
        yield f"<ul>\n{rows}</ul>\n"
    elif isinstance(block, Terms):
        rows = "".join(
            f"<div><dt>{escaped(name)}</dt><dd>{_line(one)}</dd></div>\n"
            for name, one in block.rows
        )
        yield f"<dl>\n{rows}</dl>\n"
    else:
        yield from _table(block)


def _table(block: Table) -> Iterator[str]:
    caption = escaped(block.caption)
    heads = "".join(f'<th scope="col">{escaped(one)}</th>' for one in block.heads)
    yield f'<div class="table" role="region" aria-label="{caption}" tabindex="0">\n'
    yield f"<table>\n<caption>{caption}</caption>\n"
    yield f"<thead><tr>{heads}</tr></thead>\n<tbody>\n"
    for row in block.rows:
        first, *rest = (_line(one) for one in row)
        cells = "".join(
            f'<td data-head="{escaped(head)}">{text}</td>'
            for head, text in zip(block.heads[1:], rest, strict=True)
        )
        yield f'<tr><th scope="row">{first}</th>{cells}</tr>\n'
    yield "</tbody>\n</table>\n</div>\n"


def _line(line: Line) -> str:
    texts: list[str] = []
    for one in line:
        if isinstance(one, Strong):
            texts.append(f"<strong>{escaped(one.text)}</strong>")
        elif isinstance(one, Link):
            texts.append(f'<a class="ref" href="#{one.anchor}">{escaped(one.text)}</a>')
        elif isinstance(one, Code):
            texts.append(f"<code>{escaped(one.text)}</code>")
        else:
            texts.append(escaped(one))
    return "".join(texts)
