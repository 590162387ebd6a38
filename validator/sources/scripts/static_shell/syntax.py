"""What a shell script consists of, as it is written; offsets are those of the file."""

from speccheck.validator.evidence.record import Record


class Literal(Record):
    """Characters that stand for themselves."""

    text: str
    start: int
    end: int
    quoted: bool
    resolved: bool


class Parameter(Record):
    """`$NAME`, `${NAME[subscript]}` or `${NAME<operator>argument}`."""

    name: str
    subscript: str
    operator: str
    argument: "tuple[Part, ...]"
    start: int
    end: int
    quoted: bool


class Arithmetic(Record):
    """`$((expression))`."""

    expression: "tuple[Part, ...]"
    start: int
    end: int
    quoted: bool


class Opaque(Record):
    """An expansion that only a shell could do; `text` stands for it, without blanks."""

    text: str
    start: int
    end: int
    quoted: bool


Part = Literal | Parameter | Arithmetic | Opaque


class WordSyntax(Record):
    """A word as written; `parts` is empty when `text` is all that there is to it."""

    text: str
    start: int
    end: int
    parts: tuple[Part, ...] = ()


class AssignmentSyntax(Record):
    """`NAME=value`, `NAME+=value` or `NAME=( ... )`; elements is None for no array."""

    name: str
    subscript: str | None
    append: bool
    value: WordSyntax
    elements: tuple[WordSyntax, ...] | None
    start: int


class Simple(Record):
    """A simple command; documents are the here-documents that it reads."""

    assignments: tuple[AssignmentSyntax, ...]
    words: tuple[WordSyntax, ...]
    documents: list[WordSyntax]
    start: int


class AndOr(Record):
    """Statements joined by `&&` and `||`."""

    first: "Statement"
    rest: "tuple[tuple[str, Statement], ...]"


class Pipeline(Record):
    """Statements joined by `|`, or one with `!` in front."""

    parts: "tuple[Statement, ...]"
    negated: bool


class Group(Record):
    """`{ ...; }`, or `( ... )` that keeps its variables to itself."""

    body: "Block"
    subshell: bool


class If(Record):
    """Conditions with what follows each, and what follows when none holds."""

    arms: "tuple[tuple[Block, Block], ...]"
    otherwise: "Block"


class For(Record):
    """A `for` or `select` loop; words is None where they are not written out."""

    name: str
    words: tuple[WordSyntax, ...] | None
    body: "Block"
    place: tuple[int, int]


class While(Record):
    """A `while` or `until` loop."""

    condition: "Block"
    body: "Block"
    until: bool


class Case(Record):
    """Patterns, with what follows each."""

    subject: WordSyntax
    arms: "tuple[tuple[tuple[WordSyntax, ...], Block], ...]"


class Function(Record):
    """The definition of a function."""

    name: str
    body: "Block"


class Test(Record):
    """`[[ ... ]]`."""

    words: tuple[WordSyntax, ...]


class Calculation(Record):
    """`(( ... ))`."""

    expression: WordSyntax


Statement = (
    Simple
    | AndOr
    | Pipeline
    | Group
    | If
    | For
    | While
    | Case
    | Function
    | Test
    | Calculation
)
Block = tuple[Statement, ...]
