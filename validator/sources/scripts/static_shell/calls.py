"""Follows the commands of a script into functions, `eval` and scripts of their own."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.scripts.static_shell.directives import (
    read_directives,
)
from speccheck.validator.sources.scripts.static_shell.effects import (
    DECLARATIONS,
    Effects,
    Outcome,
)
from speccheck.validator.sources.scripts.static_shell.expand import Field
from speccheck.validator.sources.scripts.static_shell.launch import (
    base_name,
    given_variables,
    nested_script,
    reads_script,
)
from speccheck.validator.sources.scripts.static_shell.parser import Parser
from speccheck.validator.sources.scripts.static_shell.pieces import (
    BLANK,
    BLANKS_AND_QUOTES,
    Origins,
    Piece,
    Sited,
    settle,
)
from speccheck.validator.sources.scripts.static_shell.script import (
    Assignment,
    Command,
    Directive,
)
from speccheck.validator.sources.scripts.static_shell.syntax import Block, Simple
from speccheck.validator.sources.scripts.static_shell.variables import Scope, Variable

_MAX_DEPTH = 8
_ARGUMENT = lazy_pattern(r"\$\{?[0-9@*#]")
_QUESTIONS = frozenset(
    {"grep", "egrep", "fgrep", "diff", "cmp", "command", "which", "type", "hash"}
    | {"pgrep", "pidof", "ping", "nc"}
)


def _holds_argument(piece: Piece) -> bool:
    """Whether it holds `${1}` of the script around, which is none of the inner one."""
    return not piece.resolved and _ARGUMENT.search(piece.text) is not None


def given(pieces: tuple[Piece, ...], start: int, *value: int) -> Variable:
    """A variable that a command gives to the program that it starts."""
    variable = Variable(pieces, exported=True, start=start)
    return variable._replace(value_start=value[0], value_end=value[1])


class Calls(Effects, ABC):
    """Reads simple commands.

    repeats: how many loops and functions are being read; what a text makes the reader
        do again and again counts against its budget.
    """

    def __init__(self, text: str, known: Mapping[str, str]) -> None:
        super().__init__(text, known)
        self.directives: list[Directive] = []
        self.functions: dict[str, Block] = {}
        self.called: set[str] = set()
        self.repeats = 0
        self._active: list[str] = []
        self._outer: Command | None = None
        self._depth = 0

    def parser(self, text: str, origins: Origins | None = None) -> Parser:
        """What reads the statements of the script, and of each inside it."""
        return Parser(text, self.report, origins)

    @abstractmethod
    def block(self, block: Block) -> Outcome:
        """Read statements one after the other."""

    def keep_exports(self, scope: Scope) -> None:
        """Remember what a subshell exports: programs are started there too."""
        for name, variable in scope.changes.items():
            if variable.exported and variable.is_set:
                self.inner_exports[name] = variable

    def simple(self, simple: Simple) -> Outcome:
        """A command with its words, assignments and redirections."""
        if simple.words and simple.words[0].text in DECLARATIONS:
            self.declare(simple)
            return Outcome.HOLDS
        fields = [
            field for word in simple.words for field in self.expander.fields(word)
        ]
        if not fields:
            known = [self.assign(one, exported=False) for one in simple.assignments]
            # Only a command that gives the value can fail.
            return Outcome.HOLDS if all(known) else Outcome.LIKELY
        outcome = self.builtin(fields)
        if outcome is None:
            outcome = self._run(simple, fields)
        return outcome

    def _run(self, simple: Simple, fields: list[Field]) -> Outcome:
        """A function, a script of its own, or a program."""
        pieces = [field.piece() for field in fields]
        name = pieces[0].text
        if self.repeats:
            self.expander.spend(len(pieces))
        body = self.functions.get(name)
        if body is not None or name == "eval":
            for syntax in simple.assignments:
                self.assign(syntax, exported=True)
        if body is not None:
            self._call(name, body, tuple(pieces[1:]))
            return Outcome.LIKELY
        if name == "eval":
            self._evaluate(fields[1:])
            return Outcome.LIKELY
        if name.startswith("--") and simple.words[0].text == name:
            message = f"{name} is read as a command: the line before has ended it"
            self.report(message, simple.start)
        command = self._command(simple, pieces)
        self.commands.append(command)
        self._nested_scripts(simple, fields, pieces, command)
        if name == "exec" and len(pieces) > 1:
            self.expander.scope.stopped = "exit"
        question = base_name(name) in _QUESTIONS
        return Outcome.UNKNOWN if question else Outcome.LIKELY

    def _command(self, simple: Simple, pieces: Sequence[Piece]) -> Command:
        environment: list[Assignment] = []
        for syntax in simple.assignments:
            value = syntax.value
            sited = self.expander.value(value)
            place = (value.start, value.end)
            variable = given(settle(sited), syntax.start, *place)
            environment.append(self.assignment(syntax.name, variable))
        for name, piece in given_variables(pieces):
            variable = given((piece,), piece.start, piece.start, piece.end)
            environment.append(self.assignment(name, variable))
        return Command(
            tuple([self.word(piece) for piece in pieces]),
            tuple(environment),
            self.lines.line(simple.start),
            self.conditional > 0,
            self._outer,
        )

    def _call(self, name: str, body: Block, arguments: tuple[Piece, ...]) -> None:
        """Read the body of a function with the arguments of a call."""
        self.called.add(name)
        scope = self.expander.scope
        allowed = self.expander.spend(len(scope.changes))
        if not allowed or self._depth >= _MAX_DEPTH or name in self._active:
            return
        kept = (self.expander.positional, self._local_names)
        before = dict(scope.changes)
        self.expander.positional, self._local_names = arguments, set()
        self._active.append(name)
        self._depth += 1
        self.repeats += 1
        self.block(body)
        self.repeats -= 1
        self._depth -= 1
        self._active.pop()
        for local in self._local_names or ():
            scope.changes.pop(local, None)
            if local in before:
                scope.changes[local] = before[local]
        self.expander.positional, self._local_names = kept
        if scope.stopped != "exit":
            scope.stopped = ""

    def _evaluate(self, fields: Sequence[Field]) -> None:
        """`eval`: its arguments, joined by blanks, are read as a script."""
        sited: list[Sited] = []
        for field in fields:
            if sited:
                sited.append(Sited(BLANK, field.start, field.start))
            sited += field.sited
        self._nested(sited)

    def _nested_scripts(
        self,
        simple: Simple,
        fields: Sequence[Field],
        pieces: Sequence[Piece],
        command: Command,
    ) -> None:
        """Read the scripts that a command hands to other shells."""
        nested = nested_script(fields, pieces)
        if nested is not None:
            self._inner_shell(*nested, command)
        elif simple.documents and reads_script(pieces):
            for document in simple.documents:
                self._inner_shell(self.expander.value(document), None, command)

    def _inner_shell(
        self,
        sited: Sequence[Sited],
        arguments: tuple[Piece, ...] | None,
        command: Command,
    ) -> None:
        scope, outer = self.expander.scope, self._outer
        positional = self.expander.positional
        self.expander.scope = inner = Scope(scope, exported_only=True)
        self.expander.positional, self._outer = arguments, command
        self._nested(sited)
        self.expander.positional, self._outer = positional, outer
        self.expander.scope = scope
        self.keep_exports(inner)

    def _nested(self, sited: Sequence[Sited]) -> None:
        """Read a text that expansions have made."""
        if self._depth >= _MAX_DEPTH:
            return
        pieces = [piece for piece in settle(sited, BLANKS_AND_QUOTES) if piece.text]
        text = "".join([piece.text for piece in pieces])
        if not self.expander.spend(len(text) // 8):
            return
        origins = Origins(pieces)
        positional = self.expander.positional
        if any(_holds_argument(piece) for piece in pieces):
            self.expander.positional = None
        self._depth += 1
        if "#SBATCH" in text:
            self.directives += read_directives(text, self.lines, origins)
        self.block(self.parser(text, origins).script())
        self._depth -= 1
        self.expander.positional = positional
