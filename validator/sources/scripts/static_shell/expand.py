"""The expansion of words: what a shell would make of them, without running anything.

bash(1), section EXPANSION. Brace and file name expansion are left out: such words stay
as they are written.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.scripts.static_shell.arithmetic import evaluate
from speccheck.validator.sources.scripts.static_shell.pieces import (
    BLANK,
    Piece,
    Sited,
    cut,
    join,
    site_of,
)
from speccheck.validator.sources.scripts.static_shell.syntax import (
    Arithmetic,
    Literal,
    Parameter,
    Part,
    WordSyntax,
)
from speccheck.validator.sources.scripts.static_shell.variables import Scope, Variable

# What a script may expand to, however it doubles its values, in words and loop turns:
# a launch script of 4 KB comes to 1,000.
_BASE_BUDGET = 20_000
_CHARACTERS_PER_WORD = 8
_CHARACTERS_PER_UNIT = 64

_RUNS = lazy_pattern(r"[ \t\n]+|[^ \t\n]+")
_BRACES = lazy_pattern(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
_UNSET = Variable(())


class Field(Record):
    """One word after expansion, with the place where it was written."""

    sited: list[Sited]
    start: int
    end: int

    def piece(self) -> Piece:
        """The word as one piece."""
        return join(self.sited, self.start, self.end)


class _Fields:
    """Collects the words that one written word gives."""

    __slots__ = ("current", "fields", "splits")

    def __init__(self, *, splits: bool) -> None:
        self.fields: list[list[Sited]] = []
        self.current: list[Sited] | None = None
        self.splits = splits

    def add(self, piece: Piece, start: int, end: int) -> None:
        """Add to the word that is being collected."""
        if self.current is None:
            self.current = []
        self.current.append(Sited(piece, start, end))

    def split(self, piece: Piece, start: int, end: int) -> None:
        """Add a piece that blanks cut into words."""
        if not self.splits:
            self.add(piece, start, end)
            return
        for match in _RUNS.finditer(piece.text):
            if match[0].isspace():
                self.end_word()
            else:
                self.add(cut(piece, *match.span()), start, end)

    def end_word(self) -> None:
        """Let the next piece begin a new word."""
        if self.current is not None:
            self.fields.append(self.current)
            self.current = None


class Expander:
    """Expands words in a scope.

    known: values of variables that the script takes from outside.
    positional: the arguments of the function that is being read, if any.
    assign: called for `${NAME:=value}`.
    """

    def __init__(self, size: int, known: Mapping[str, str]) -> None:
        self.scope = Scope()
        self.known = known
        self.positional: tuple[Piece, ...] | None = None
        self.assign: Callable[[str, Sequence[Sited], Parameter], None] | None = None
        self._budget = _BASE_BUDGET + size // _CHARACTERS_PER_WORD

    @property
    def exhausted(self) -> bool:
        """Whether the script has expanded to more than is read."""
        return self._budget <= 0

    def spend(self, units: int) -> bool:
        """Count work beyond the length of the text; tells whether it may be done."""
        self._budget -= units
        return self._budget > 0

    def fields(self, word: WordSyntax) -> list[Field]:
        """The words that a written word becomes."""
        if not word.parts:
            piece = Piece(word.text, word.start, word.end, resolved=not _braced(word))
            return [Field([Sited(piece, word.start, word.end)], word.start, word.end)]
        collected = _Fields(splits=True)
        self._emit(word.parts, collected, resolved=True)
        collected.end_word()
        if len(collected.fields) == 1:
            return [Field(collected.fields[0], word.start, word.end)]
        return [Field(sited, *site_of(sited)) for sited in collected.fields]

    def value(self, word: WordSyntax) -> list[Sited]:
        """What a word gives where no word splitting is done."""
        if not word.parts:
            piece = Piece(word.text, word.start, word.end, resolved=True)
            return [Sited(piece, word.start, word.end)]
        collected = _Fields(splits=False)
        self._emit(word.parts, collected, resolved=True)
        return collected.current or []

    def piece(self, word: WordSyntax) -> Piece:
        """A word as one piece, without word splitting."""
        return join(self.value(word), word.start, word.end)

    def _emit(self, parts: Iterable[Part], out: _Fields, *, resolved: bool) -> None:
        for part in parts:
            if isinstance(part, Literal):
                text, start, end, quoted, sure = part
                piece = Piece(text, start, end, sure and resolved)
                if quoted:
                    out.add(piece, start, end)
                else:
                    out.split(piece, start, end)
            elif isinstance(part, Parameter):
                self._parameter(part, out, resolved=resolved)
            elif isinstance(part, Arithmetic):
                out.add(self._arithmetic(part), part.start, part.end)
            else:
                piece = Piece(part.text, part.start, part.end, resolved=False)
                out.add(piece, part.start, part.end)

    def _arithmetic(self, part: Arithmetic) -> Piece:
        collected = _Fields(splits=False)
        self._emit(part.expression, collected, resolved=True)
        joined = join(collected.current or [], part.start, part.end)
        number = self.calculate(joined)
        if number is None:
            text = f"$(({''.join(joined.text.split())}))"
            return Piece(text, part.start, part.end, resolved=False)
        return Piece(str(number), part.start, part.end, resolved=True)

    def calculate(self, expression: Piece) -> int | None:
        """The value of an arithmetic expression, or None when it is unknown."""
        if not expression.resolved:
            return None
        return evaluate(expression.text, self._number_text)

    def _number_text(self, name: str) -> str | None:
        variable = self.lookup(name)
        return variable.text() if variable is not None else None

    def lookup(self, name: str) -> Variable | None:
        """A variable or argument; None when the script does not say what it holds."""
        variable = self.scope.get(name)
        if variable is not None and (variable.is_set or not variable.exported):
            return variable
        if name in self.known:
            return Variable((Piece(self.known[name], -1, -1, resolved=True),), start=0)
        if self.positional is None or not (name.isdecimal() or name in "@*#"):
            return None
        return self._argument(name, self.positional)

    def _argument(self, name: str, arguments: tuple[Piece, ...]) -> Variable | None:
        if name in {"@", "*"}:
            return Variable(arguments, array=True, start=0)
        if name == "#":
            count = Piece(str(len(arguments)), -1, -1, resolved=True)
            return Variable((count,), start=0)
        index = int(name) if len(name) < len("1000") else len(arguments) + 1
        if index == 0:
            return None
        found = arguments[index - 1 : index]
        return Variable(found, start=0) if found else _UNSET

    def _parameter(self, part: Parameter, out: _Fields, *, resolved: bool) -> None:
        variable = self.lookup(part.name)
        operator = part.operator
        if operator and "?" not in operator:
            empty = _is_empty(variable, colon=operator[0] == ":")
            if operator[-1] == "+":
                if not empty or variable is None:
                    sure = resolved and variable is not None and empty is False
                    self._emit(part.argument, out, resolved=sure)
                return
            if empty:
                self._default(part, out, resolved=resolved)
                return
        pieces = self._pieces(part, variable)
        if pieces is None:
            index = f"[{part.subscript}]" if part.subscript else ""
            text = f"${{{part.name}{index}}}"
            pieces = (Piece(text, part.start, part.end, resolved=False),)
        if not resolved:
            pieces = tuple([piece._replace(resolved=False) for piece in pieces])
        elements = part.subscript in {"@", "*"} or part.name in {"@", "*"}
        self._place(part, pieces, out, elements=elements)

    def _default(self, part: Parameter, out: _Fields, *, resolved: bool) -> None:
        self._emit(part.argument, out, resolved=resolved)
        if part.operator[-1] == "=" and self.assign is not None:
            collected = _Fields(splits=False)
            self._emit(part.argument, collected, resolved=resolved)
            self.assign(part.name, collected.current or [], part)

    def _pieces(
        self, part: Parameter, variable: Variable | None
    ) -> tuple[Piece, ...] | None:
        """The pieces that a reference stands for; None when they are unknown."""
        if variable is None or variable.pieces is None:
            return None
        pieces = variable.pieces
        if (
            variable.array
            and part.subscript not in {"@", "*"}
            and part.name not in "@*"
        ):
            if part.subscript and not part.subscript.isdecimal():
                return None
            at = (
                int(part.subscript or "0")
                if len(part.subscript) < len("100000")
                else -1
            )
            if any(not one.resolved for one in pieces[: at + 1]):
                return None
            pieces = pieces[at : at + 1]
        if not self.spend(1 + len(pieces)):
            return None
        return tuple([self._shown(part, piece) for piece in pieces])

    def _shown(self, part: Parameter, piece: Piece) -> Piece:
        """A piece as its reference shows it."""
        text = piece.text
        self.spend(len(text) // _CHARACTERS_PER_UNIT + text.count(" "))
        if piece.start < 0:
            return Piece(text, part.start, part.end, piece.resolved)
        if not piece.resolved and text.startswith("$(") and text.endswith(")"):
            return piece._replace(text=f"${{{part.name}}}")
        return piece

    def _place(
        self,
        part: Parameter,
        pieces: Sequence[Piece],
        out: _Fields,
        *,
        elements: bool,
    ) -> None:
        """Put the pieces of a reference into the words that are being collected."""
        add = out.add if part.quoted else out.split
        starred = part.quoted and "*" in (part.subscript, part.name)
        for number, piece in enumerate(pieces):
            if number and elements:
                if out.splits and not starred:
                    out.end_word()
                else:
                    out.add(BLANK, part.start, part.start)
            add(piece, part.start, part.end)
        if part.quoted and not pieces and not elements:
            empty = Piece("", part.start, part.start, resolved=True)
            out.add(empty, part.start, part.end)


def _braced(word: WordSyntax) -> bool:
    """Whether a shell would make several words of braces: `{1..8}`, `{a,b}`."""
    return "{" in word.text and _BRACES.search(word.text) is not None


def _is_empty(variable: Variable | None, *, colon: bool) -> bool | None:
    """Whether a default would take the place of a variable; None when unknown.

    A variable that the script says nothing of is taken to be unset.
    """
    if variable is None:
        return True
    if not variable.is_set and variable.pieces is not None:
        return True
    if variable.pieces is None:
        return None
    if not colon:
        return False
    return all(piece.resolved and not piece.text for piece in variable.pieces)
