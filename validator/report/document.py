"""What a document is made of, whatever it is written in: blocks of inline parts.

A report builds its parts once; write_html and write_markdown write them. A part is a
text, an inline part, a block, or a sequence of parts; texts are escaped by the writer.
`name` is always the class of a part in the style sheet.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias, Union

from speccheck.validator.evidence.record import Record

# --- Inline parts ---------------------------------------------------------------------


class Strong(Record):
    """Words that weigh: those of RFC 2119, ids of musts."""

    text: str
    name: str = ""


class Code(Record):
    """A name or a command as it stands in files; empty text is nothing."""

    text: str
    name: str = ""


class Name(Record):
    """A name that may go on in the next line after each of its words."""

    text: str


class Link(Record):
    """A reference to another place of the document."""

    text: str
    anchor: str
    name: str = ""


class Word(Record):
    """Words of one kind: an id, a level, an outcome in its colour."""

    text: "Parts"
    name: str = ""
    anchor: str = ""


class Small(Record):
    """What is said beside."""

    text: "Parts"


class Time(Record):
    """A moment.

    Attributes:
        moment: in ISO 8601.
        text: as people read it.
        anchor: by which a script finds it.

    """

    moment: str
    text: str
    anchor: str = ""


class Break(Record):
    """The end of a line."""


# --- Blocks ---------------------------------------------------------------------------


class Heading(Record):
    """A heading.

    Attributes:
        depth: 1 for the title of a page, or for the chapters of a specification.
        text: its words.
        anchor: by which a link finds it.
        number: as it is counted; empty for none.
        is_clause: whether it begins a clause of a specification.

    """

    depth: int
    text: "Parts"
    anchor: str = ""
    number: str = ""
    is_clause: bool = False


class Paragraph(Record):
    """Running text."""

    parts: "Parts"
    name: str = ""


class Badges(Record):
    """What a clause is, in few words: level, status, certification level, tracks."""

    level: str
    words: tuple[str, ...]


class Items(Record):
    """A list; nothing without items."""

    items: "Sequence[Parts]"
    name: str = ""
    is_ordered: bool = False


class Terms(Record):
    """Terms, each with what is said of it; a pair without either shows the other."""

    rows: "Sequence[tuple[Parts, Parts]]"
    name: str = ""


class Group(Record):
    """A row of a table that names the rows below it."""

    title: str


class Table(Record):
    """A table.

    Attributes:
        caption: what it shows; for those who do not see the heading above it.
        heads: of the columns; one that begins with > is of numbers.
        rows: their cells, the first of which names the row.
        name: its class.

    """

    caption: str
    heads: Sequence[str]
    rows: "Sequence[Sequence[Parts] | Group]"
    name: str = ""


class Fold(Record):
    """What a click unfolds."""

    summary: "Parts"
    body: "Parts"
    name: str = ""
    anchor: str = ""
    is_open: bool = False


class FrameLine(Record):
    """A line of a file.

    Attributes:
        number: of the line.
        text: what is shown of it.
        start: where in the text the marked part begins.
        length: of the marked part.
        label: what stands beside the mark.

    """

    number: int
    text: str
    start: int
    length: int
    label: str = ""


class Frame(Record):
    """Lines of a file with what is meant marked in them.

    Attributes:
        place: file, line and column of the first of them.
        digits: of the numbers of lines.
        lines: in the order of the finding.

    """

    place: str
    digits: int
    lines: tuple[FrameLine, ...]


class Verbatim(Record):
    """Lines as they are."""

    text: str


class Division(Record):
    """Parts that belong together."""

    body: "Parts"
    name: str


class Figure(Record):
    """A picture: markup that its module wrote, and escaped."""

    html: str


class ReportSection(Record):
    """A part of a page with an entry in its contents; nothing without a body."""

    anchor: str
    title: str
    body: "Parts"


Inline = str | Strong | Code | Name | Link | Word | Small | Time | Break
Block = (
    Heading
    | Paragraph
    | Badges
    | Items
    | Terms
    | Table
    | Fold
    | Frame
    | Verbatim
    | Division
    | Figure
    | ReportSection
)
Parts: TypeAlias = Union[Inline, Block, "Iterable[Parts]"]
Line = tuple[Inline, ...]


class BlockDocument(Record):
    """A whole document; language: of its text, as BCP 47 has it."""

    title: str
    subtitle: str
    blocks: tuple[Block, ...]
    language: str = "en"


def line(*parts: Inline) -> Line:
    """Return a line of these parts."""
    return parts


def joined(parts: "Iterable[Inline]", between: str = ", ") -> Line:
    """Return parts with words between them."""
    result: list[Inline] = []
    for part in parts:
        result += [between, part] if result else [part]
    return tuple(result)


def note(*parts: "Parts") -> Paragraph:
    """Return what is said beside, in small letters."""
    return Paragraph(parts, "note")


def level_word(level: str, outcome: str = "fail") -> Word:
    """Return the level of a finding in its colour, and in words."""
    return Word(level if outcome == "fail" else "broken", f"level {level}")
