"""An edition as one document: what it says, in the order of a standard."""

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
from speccheck.validator.editions.edition_source import (
    EditionSourceError,
    load_edition_source,
)
from speccheck.validator.report.document import Block, Document, Heading
from speccheck.validator.report.specification.chapters import (
    Linked,
    annexes,
    changes,
    conformance,
    front,
    profiles,
    requirements,
)

_UNNUMBERED = "-"


def document_of(name: str) -> Document:
    """The document of an edition, by its id or its folder; raises UnknownEdition."""
    edition = load_edition(name)
    return document(edition, _source(name))


def _source(name: str) -> EditionSource:
    """The files that an edition was compiled of: a document says what they say."""
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


def document(edition: Edition, source: EditionSource) -> Document:
    """The document of an edition and the files that it was compiled of."""
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
    return Document(edition.title, subtitle, tuple(_numbered(blocks)))


def _numbered(blocks: Iterable[Block]) -> Iterator[Block]:
    """Chapters and their sections with their numbers; clauses have their ids."""
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
    """The headings of the table of contents: chapters and their sections."""
    for block in blocks:
        if isinstance(block, Heading) and block.depth <= 2:  # noqa: PLR2004
            yield block
