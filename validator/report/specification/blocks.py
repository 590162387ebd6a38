"""What a document is made of, whatever it is written in."""

import re
from collections.abc import Collection, Iterable

from speccheck.validator.evidence.record import Record

_CLAUSE = re.compile(r"\b[A-Z]{2,5}-\d{3}\b")


class Strong(Record):
    """Words that weigh: those of RFC 2119."""

    text: str


class Link(Record):
    """A reference to another place of the document."""

    text: str
    anchor: str


class Code(Record):
    """A name as it stands in files."""

    text: str


Inline = str | Strong | Link | Code
Line = tuple[Inline, ...]


class Heading(Record):
    """A heading. depth: 1 for chapters. number: as it is counted, empty for none."""

    depth: int
    text: str
    anchor: str
    number: str = ""
    is_clause: bool = False


class Paragraph(Record):
    """Running text."""

    line: Line


class Requirement(Record):
    """The normative sentence of a clause."""

    line: Line


class Tags(Record):
    """What a clause is, in few words: level, status, certification level, tracks."""

    level: str
    words: tuple[str, ...]


class Items(Record):
    """A list."""

    lines: tuple[Line, ...]


class Terms(Record):
    """Terms, each with what is said of it."""

    rows: tuple[tuple[str, Line], ...]


class Table(Record):
    """A table; caption: what it shows, for who does not see what stands above it."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]


Block = Heading | Paragraph | Requirement | Tags | Items | Terms | Table


class Document(Record):
    """A whole document; language: of its text, as BCP 47 has it."""

    title: str
    subtitle: str
    blocks: tuple[Block, ...]
    language: str = "en"


def line(*parts: Inline) -> Line:
    """A line of these parts."""
    return parts


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[Line]]) -> Table:
    """A table of rows of lines."""
    return Table(caption, tuple(heads), tuple(tuple(row) for row in rows))


def anchor_of(name: str) -> str:
    """The anchor of a clause, an area or a profile, by its name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


class Linked:
    """Makes references of the ids of clauses that there are."""

    def __init__(self, clauses: Collection[str]) -> None:
        """Take the ids."""
        self._clauses = clauses

    def __call__(self, text: str) -> Line:
        """A text in which each id of a clause is a reference."""
        parts: list[Inline] = []
        end = 0
        for found in _CLAUSE.finditer(text):
            if found[0] in self._clauses:
                parts += [text[end : found.start()], self.clause(found[0])]
                end = found.end()
        parts.append(text[end:])
        return tuple(one for one in parts if one)

    def clause(self, name: str) -> Inline:
        """A reference to a clause; its id alone where there is none."""
        return Link(name, anchor_of(name)) if name in self._clauses else name

    def clauses(self, names: Iterable[str]) -> Line:
        """References to clauses, one after another."""
        return joined(self.clause(name) for name in names)


def joined(parts: Iterable[Inline], between: str = ", ") -> Line:
    """Parts with words between them."""
    found: list[Inline] = []
    for one in parts:
        found += [between, one] if found else [one]
    return tuple(found)
