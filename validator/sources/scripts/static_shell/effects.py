"""What the simple commands of a script do to its variables."""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import ClassVar

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.scripts.static_shell.conditions import holds
from speccheck.validator.sources.scripts.static_shell.expand import Expander, Field
from speccheck.validator.sources.scripts.static_shell.pieces import (
    Piece,
    Sited,
    cut,
    settle,
    site_of,
)
from speccheck.validator.sources.scripts.static_shell.script import (
    Assignment,
    Command,
    Lines,
    Problem,
    Word,
)
from speccheck.validator.sources.scripts.static_shell.syntax import (
    AssignmentSyntax,
    Parameter,
    Simple,
)
from speccheck.validator.sources.scripts.static_shell.variables import Variable

DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
_IDENTIFIER = lazy_pattern(_NAME)
_NAMED_VALUE = lazy_pattern(rf"({_NAME})=")
_CALCULATED = lazy_pattern(rf"\s*({_NAME})\s*=(?!=)(.*)", re.DOTALL)
_CHANGED = lazy_pattern(
    rf"({_NAME})\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s*({_NAME})"
)


class Outcome(Enum):
    """How a statement ends, as far as the text tells.

    LIKELY: a program that is expected to succeed. UNKNOWN: a question, such as
    `[ -f file ]` or `grep -q`, that may be answered either way.
    """

    HOLDS = 1
    FAILS = 2
    LIKELY = 3
    UNKNOWN = 4


def outcome_of(value: bool | None) -> Outcome:  # noqa: FBT001 - a truth value
    """The outcome of a condition."""
    if value is None:
        return Outcome.UNKNOWN
    return Outcome.HOLDS if value else Outcome.FAILS


class Effects:
    """Keeps the variables of a script, and what it has been seen to do."""

    def __init__(self, text: str, known: Mapping[str, str]) -> None:
        self.lines = Lines(text)
        self.expander = Expander(len(text), known)
        self.expander.assign = self._assign_default
        self.commands: list[Command] = []
        self.assignments: list[Assignment] = []
        self.problems: dict[Problem, None] = {}
        # Exports of subshells and of nested scripts, which programs there see.
        self.inner_exports: dict[str, Variable] = {}
        self.conditional = 0
        self._exports_all = False
        self._local_names: set[str] | None = None

    def report(self, message: str, offset: int) -> None:
        """Note a problem at an offset in the file."""
        self.problems[Problem(message, self.lines.line(offset))] = None

    def word(self, piece: Piece) -> Word:
        """The word that a piece makes."""
        text, start, end, resolved = piece
        return self.lines.word(text, start, end, resolved=resolved)

    def assignment(self, name: str, variable: Variable) -> Assignment:
        """What a variable was last assigned."""
        place = (variable.value_start, variable.value_end)
        pieces = variable.pieces
        if pieces is None:
            piece = Piece(f"${{{name}}}", *place, resolved=False)
        elif len(pieces) == 1 and not variable.array:
            piece = pieces[0]
        else:
            text = (" " if variable.array else "").join([one.text for one in pieces])
            piece = Piece(text, *place, all(one.resolved for one in pieces))
        return Assignment(
            name,
            self.word(piece),
            variable.exported,
            *self.lines.position(variable.start),
            variable.conditional,
        )

    def _set(self, name: str, variable: Variable) -> None:
        if self._exports_all and not variable.exported:
            variable = variable._replace(exported=True)
        self.expander.scope.changes[name] = variable
        self.assignments.append(self.assignment(name, variable))

    def assign(self, syntax: AssignmentSyntax, *, exported: bool) -> bool:
        """Do an assignment; tells whether the value is known."""
        previous = self.expander.scope.get(syntax.name)
        pieces: tuple[Piece, ...] | None = None
        array = syntax.elements is not None
        if syntax.elements is not None:
            pieces = tuple(
                [
                    field.piece()
                    for element in syntax.elements
                    for field in self.expander.fields(element)
                ]
            )
        elif syntax.subscript is None:
            pieces = settle(self.expander.value(syntax.value))
        if syntax.append and pieces is not None and previous is not None:
            pieces = self._appended(syntax, previous, pieces)
            array = array or previous.array
        if previous is not None:
            exported = exported or previous.exported
        value = syntax.value
        variable = Variable(
            pieces,
            array or syntax.subscript is not None,
            exported,
            self.conditional > 0,
            syntax.start,
            value.start,
            value.end,
        )
        self._set(syntax.name, variable)
        return pieces is not None and all(one.resolved for one in pieces)

    def _appended(
        self, syntax: AssignmentSyntax, previous: Variable, pieces: tuple[Piece, ...]
    ) -> tuple[Piece, ...] | None:
        if not previous.is_set:
            return pieces
        start, end = syntax.start, syntax.start + len(syntax.name)
        before = previous.pieces
        if before is None:
            text = f"${{{syntax.name}[@]}}" if previous.array else f"${{{syntax.name}}}"
            before = (Piece(text, start, end, resolved=False),)
        allowed = self.expander.spend(len(before))
        if not allowed or (syntax.elements is None and previous.array):
            return None
        if syntax.elements is not None:
            return before + pieces
        sited = [Sited(one, start, end) for one in before]
        sited += [Sited(one, one.start, one.end) for one in pieces]
        return settle(sited)

    def _assign_default(
        self, name: str, value: Sequence[Sited], part: Parameter
    ) -> None:
        """`${NAME:=value}`."""
        previous = self.expander.scope.get(name)
        start, end = site_of(value) if value else (part.end, part.end)
        self._set(
            name,
            Variable(
                settle(value),
                exported=previous is not None and previous.exported,
                conditional=self.conditional > 0,
                start=part.start,
                value_start=start,
                value_end=end,
            ),
        )

    def declare(self, simple: Simple) -> None:
        """`export`, `declare`, `local` and the like."""
        command = simple.words[0].text
        fields = [
            field.piece()
            for word in simple.words[1:]
            for field in self.expander.fields(word)
        ]
        flags = "".join(one.text for one in fields if one.text.startswith(("-", "+")))
        exported = (command == "export" and "n" not in flags) or "x" in flags
        if "f" in flags:
            return
        for syntax in simple.assignments:
            self._remember_local(command, syntax.name)
            self.assign(syntax, exported=exported)
        for piece in fields:
            if match := _NAMED_VALUE.match(piece.text):
                value = cut(piece, match.end(), len(piece.text))
                self.set_value(match[1], value, piece.start, exported=exported)
            elif _IDENTIFIER.fullmatch(piece.text):
                self._remember_local(command, piece.text)
                if exported or "n" in flags:
                    self._export(piece.text, exported=exported)

    def _remember_local(self, command: str, name: str) -> None:
        if command == "local" and self._local_names is not None:
            self._local_names.add(name)

    def _export(self, name: str, *, exported: bool) -> None:
        """Mark a variable that the script sets elsewhere, or that it was given."""
        variable = self.expander.scope.get(name) or Variable(None)
        variable = variable._replace(exported=exported)
        if variable.is_set:
            self._set(name, variable)
        else:
            self.expander.scope.changes[name] = variable

    def set_value(
        self, name: str, value: Piece, start: int, *, exported: bool = False
    ) -> None:
        """Give a variable a value that a command other than an assignment gives it."""
        self._set(
            name,
            Variable(
                (value,),
                exported=exported,
                conditional=self.conditional > 0,
                start=start,
                value_start=value.start,
                value_end=value.end,
            ),
        )

    def forget_value(self, name: str, place: tuple[int, int]) -> None:
        """Give a variable a value that only the running script would know."""
        previous = self.expander.scope.get(name)
        exported = previous is not None and previous.exported
        start, end = place
        self.expander.scope.changes[name] = Variable(
            None,
            exported=exported,
            conditional=self.conditional > 0,
            start=start,
            value_start=start,
            value_end=end,
        )

    def builtin(self, fields: Sequence[Field]) -> Outcome | None:
        """Do what a command of the shell itself does; None for any other command."""
        name = fields[0].piece().text
        act = self._BUILTINS.get(name)
        if act is None:
            return None
        pieces = [field.piece() for field in fields]
        return act(self, pieces)

    def _test(self, pieces: list[Piece]) -> Outcome:
        terms = pieces[1:]
        if pieces[0].text == "[" and terms and terms[-1].text == "]":
            terms.pop()
        return outcome_of(holds(terms, patterns=False))

    def _unset(self, pieces: list[Piece]) -> Outcome:
        for piece in pieces[1:]:
            if _IDENTIFIER.fullmatch(piece.text):
                self.expander.scope.changes[piece.text] = Variable(())
        return Outcome.LIKELY

    def _read(self, pieces: list[Piece]) -> Outcome:
        """`read`, `mapfile`, `getopts`: any word may name what they set."""
        for piece in pieces[1:]:
            if _IDENTIFIER.fullmatch(piece.text):
                self.forget_value(piece.text, (piece.start, piece.end))
        return Outcome.UNKNOWN

    def _printf(self, pieces: list[Piece]) -> Outcome:
        if len(pieces) > 1 and pieces[1].text == "-v":
            self._read(pieces[1:3])
        return Outcome.LIKELY

    def _let(self, pieces: list[Piece]) -> Outcome:
        for piece in pieces[1:]:
            self.calculate(piece)
        return Outcome.UNKNOWN

    def calculate(self, expression: Piece) -> Outcome:
        """`(( ... ))`: set what it sets, and tell whether it is other than 0."""
        match = _CALCULATED.fullmatch(expression.text)
        value: int | None = None
        if match is not None and expression.resolved:
            value = self.expander.calculate(expression._replace(text=match[2]))
        if match is not None and value is not None:
            piece = expression._replace(text=str(value))
            self.set_value(match[1], piece, expression.start)
            return outcome_of(value != 0)
        names = [one[1] or one[2] for one in _CHANGED.finditer(expression.text)]
        for name in names:
            self.forget_value(name, (expression.start, expression.end))
        if names:
            return Outcome.UNKNOWN
        value = self.expander.calculate(expression)
        return outcome_of(None if value is None else value != 0)

    def _setenv(self, pieces: list[Piece]) -> Outcome:
        """`setenv NAME value` of csh."""
        if len(pieces) > 1 and _IDENTIFIER.fullmatch(pieces[1].text):
            end = Piece("", pieces[1].end, pieces[1].end, resolved=True)
            value = pieces[2] if len(pieces) > len("AB") else end
            self.set_value(pieces[1].text, value, pieces[1].start, exported=True)
        return Outcome.LIKELY

    def _set_options(self, pieces: list[Piece]) -> Outcome:
        """`set -a` exports every assignment from there on, `set --` sets arguments."""
        texts = [piece.text for piece in pieces[1:]]
        for position, text in enumerate(texts):
            named = text in {"-o", "+o"} and texts[position + 1 : position + 2]
            if (text[:1] in {"-", "+"} and "a" in text[1:]) or named == ["allexport"]:
                self._exports_all = text[0] == "-"
            if text in {"--", "-"}:
                arguments = tuple(pieces[position + 2 :])
                known = all(one.resolved for one in arguments)
                self.expander.positional = arguments if known else None
                break
        return Outcome.LIKELY

    def _shift(self, pieces: list[Piece]) -> Outcome:
        count = pieces[1].text if len(pieces) > 1 else "1"
        arguments = self.expander.positional
        if arguments is not None:
            known = count.isdecimal() and len(count) < len("1000")
            self.expander.positional = arguments[int(count) :] if known else None
        return Outcome.LIKELY

    def _stop(self, pieces: list[Piece]) -> Outcome:
        self.expander.scope.stopped = pieces[0].text
        return Outcome.LIKELY

    def _nothing(self, pieces: list[Piece]) -> Outcome:
        return Outcome.FAILS if pieces[0].text == "false" else Outcome.HOLDS

    _BUILTINS: ClassVar[Mapping[str, Callable[..., Outcome]]] = {
        "[": _test,
        "test": _test,
        "unset": _unset,
        "read": _read,
        "mapfile": _read,
        "readarray": _read,
        "getopts": _read,
        "printf": _printf,
        "let": _let,
        "setenv": _setenv,
        "set": _set_options,
        "shift": _shift,
        "exit": _stop,
        "return": _stop,
        "break": _stop,
        "continue": _stop,
        ":": _nothing,
        "true": _nothing,
        "false": _nothing,
    }
