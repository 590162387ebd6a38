"""An edition as one document: what it says, in the order of a standard."""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import speccheck.schemas
from speccheck.validator.editions.edition import (
    COMPILED,
    Edition,
    UnknownEdition,
    load_edition,
)
from speccheck.validator.editions.edition_models import EditionSource
from speccheck.validator.editions.source import (
    EditionSourceError,
    load_edition_source,
)
from speccheck.validator.report.document import Block, BlockDocument, Heading, Table
from speccheck.validator.report.forms.html_text import escaped
from speccheck.validator.report.specification.chapters import (
    Linked,
    annexes,
    changes,
    conformance,
    front,
    profiles,
    requirements,
)
from speccheck.validator.report.write_html import html as written
from speccheck.validator.report.write_markdown import (
    markdown_blocks,
    plain,
    title_of,
)

_UNNUMBERED = "-"


def document_of(name: str) -> BlockDocument:
    """Return the document of an edition's id or folder; raises UnknownEdition."""
    edition = load_edition(name)
    return document(edition, _source(name))


def _source(name: str) -> EditionSource:
    """Return the files that an edition was compiled of, as a document says."""
    folder = Path(speccheck.schemas.__file__).parent / name
    if Path(name).name != name or not (folder / COMPILED).is_file():
        folder = Path(name)
    if not (folder / "edition.yaml").is_file():
        message = (
            f"{name}: a document is made of the files of an edition, and not of the "
            f"compiled one alone: give the folder that holds edition.yaml"
        )
        raise UnknownEdition(message)
    try:
        return load_edition_source(folder)
    except EditionSourceError as error:
        raise UnknownEdition(error.problems[0]) from error


def document(edition: Edition, source: EditionSource) -> BlockDocument:
    """Return the document of an edition and the files that it was compiled of."""
    linked = Linked(edition.clauses.keys())
    blocks = (
        *front(edition, source),
        *requirements(edition, linked),
        *profiles(source, linked),
        *conformance(source),
        *changes(source, linked),
        *annexes(edition, source, linked),
    )
    subtitle = f"Edition {edition.id}, {edition.stage}"
    return BlockDocument(edition.title, subtitle, tuple(_numbered(blocks)))


def _numbered(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield chapters and their sections with their numbers; clauses have their ids."""
    chapter = section = 0
    prefix = ""
    for block in blocks:
        if not isinstance(block, Heading) or block.depth > 2:  # noqa: PLR2004
            yield block
        elif block.number:
            prefix = "" if block.depth == 1 else prefix
            number = "" if block.number == _UNNUMBERED else block.number
            yield block._replace(number=number)
        elif block.depth == 1:
            chapter, section = chapter + 1, 0
            prefix = str(chapter)
            yield block._replace(number=prefix)
        else:
            section += 1
            yield block._replace(number=f"{prefix}.{section}")


def contents(blocks: Iterable[Block]) -> Iterator[Heading]:
    """Yield the headings of the table of contents: chapters and their sections."""
    for block in blocks:
        if isinstance(block, Heading) and block.depth <= 2:  # noqa: PLR2004
            yield block


NOTE = (
    "<!-- Written by python -m specification_page; change "
    "the files of the edition instead. -->"
)
_STYLE = Path(__file__).with_name("specification.css")


def html(document: BlockDocument) -> Iterator[str]:
    """Yield the page in pieces."""
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


def _head(document: BlockDocument) -> str:
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


def _contents(document: BlockDocument) -> Iterator[str]:
    """Yield the chapters, each with the list of its sections."""
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


def markdown(document: BlockDocument) -> str:
    """Return the document in Markdown, as GitHub and generators of sites read it."""
    listed = "\n".join(
        f"{'  ' * (entry.depth - 1)}- [{plain(title_of(entry))}](#{entry.anchor})"
        for entry in contents(document.blocks)
    )
    parts = [f"# {plain(document.title)}", NOTE, plain(document.subtitle)]
    parts += ["## Contents", listed, *markdown_blocks(document.blocks)]
    return "\n\n".join(parts) + "\n"
