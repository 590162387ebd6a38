"""Follows a shell script through its branches without running anything in it.

Where the text decides a condition, one branch is read; else all are, each on its own
copy of the variables, and what they leave different is unknown afterwards.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from speccheck.validator.sources.scripts.static_shell.calls import Calls
from speccheck.validator.sources.scripts.static_shell.conditions import holds, matches
from speccheck.validator.sources.scripts.static_shell.directives import (
    read_directives,
)
from speccheck.validator.sources.scripts.static_shell.effects import (
    Outcome,
    outcome_of,
)
from speccheck.validator.sources.scripts.static_shell.pieces import Piece
from speccheck.validator.sources.scripts.static_shell.script import Script
from speccheck.validator.sources.scripts.static_shell.syntax import (
    AndOr,
    Block,
    Calculation,
    Case,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Simple,
    Statement,
    Test,
    While,
    WordSyntax,
)
from speccheck.validator.sources.scripts.static_shell.variables import (
    Scope,
    join_branches,
)


class Flow(Calls):
    """Reads statements one after the other."""

    def script(self) -> Script:
        """Read the script whole."""
        text = self.lines.text
        root = self.expander.scope
        self.directives += read_directives(text, self.lines)
        self.block(self.parser(text).script())
        self._uncalled_functions()
        if self.expander.exhausted:
            message = "the script expands to more than is read; what follows is unknown"
            self.report(message, len(text))
        variables = {
            name: self.assignment(name, variable)
            for name, variable in root.changes.items()
            if variable.is_set
        }
        exports = {
            name: self.assignment(name, variable)
            for name, variable in self.inner_exports.items()
        }
        exports.update({name: one for name, one in variables.items() if one.exported})
        return Script(
            tuple(self.directives),
            tuple(self.commands),
            tuple(self.assignments),
            variables,
            exports,
            tuple(self.problems),
        )

    def _uncalled_functions(self) -> None:
        """Read the functions that the script itself never calls: others may."""
        for name, body in list(self.functions.items()):
            if name not in self.called:
                self._branch([body])

    def block(self, block: Block) -> Outcome:
        """Read statements until one leaves the block; the outcome is the last one's."""
        outcome = Outcome.HOLDS
        for statement in block:
            if self.expander.scope.stopped:
                break
            if self.repeats and not self.expander.spend(1):
                break
            outcome = self._statement(statement)
        return outcome

    def _statement(self, statement: Statement) -> Outcome:
        return self._READERS[type(statement)](self, statement)

    def _branch(self, blocks: Sequence[Block], *, conditional: bool = True) -> Scope:
        """Read blocks on their own copy of the variables."""
        outer = self.expander.scope
        self.expander.scope = branch = Scope(outer)
        self.conditional += conditional
        for block in blocks:
            self.block(block)
        self.conditional -= conditional
        self.expander.scope = outer
        return branch

    def _join(self, branches: Sequence[Scope], *, may_skip: bool) -> None:
        scope = self.expander.scope
        join_branches(scope, branches, self.expander.spend, may_skip=may_skip)

    def _and_or(self, statement: AndOr) -> Outcome:
        outcome = self._statement(statement.first)
        for operator, following in statement.rest:
            if self.expander.scope.stopped:
                break
            skipped = Outcome.FAILS if operator == "&&" else Outcome.HOLDS
            if outcome is skipped:
                continue
            decided = outcome in {Outcome.HOLDS, Outcome.FAILS}
            # A program is expected to succeed: `cd folder && torchrun ...`.
            if decided or (operator == "&&" and outcome is Outcome.LIKELY):
                outcome = self._statement(following)
            else:
                self._join([self._branch([(following,)])], may_skip=True)
        return outcome

    def _pipeline(self, statement: Pipeline) -> Outcome:
        outcome = Outcome.LIKELY
        for part in statement.parts:
            outcome = self._statement(part)
        if not statement.negated:
            return outcome
        opposite = {Outcome.HOLDS: Outcome.FAILS, Outcome.FAILS: Outcome.HOLDS}
        return opposite.get(outcome, Outcome.UNKNOWN)

    def _group(self, statement: Group) -> Outcome:
        if not statement.subshell:
            return self.block(statement.body)
        self.keep_exports(self._branch([statement.body], conditional=False))
        return Outcome.LIKELY

    def _if(self, statement: If) -> Outcome:
        branches: list[Scope] = []
        for condition, body in statement.arms:
            outcome = self.block(condition)
            if outcome is Outcome.FAILS:
                continue
            if outcome is Outcome.HOLDS and not branches:
                return self.block(body)
            branches.append(self._branch([body]))
            if outcome is Outcome.HOLDS:
                self._join(branches, may_skip=False)
                return Outcome.LIKELY
        if not branches:
            return self.block(statement.otherwise)
        branches.append(self._branch([statement.otherwise]))
        self._join(branches, may_skip=False)
        return Outcome.LIKELY

    def _for(self, statement: For) -> Outcome:
        words: list[Piece] = []
        for word in statement.words or ():
            words += [field.piece() for field in self.expander.fields(word)]
        if statement.words is not None and not words:
            return Outcome.LIKELY
        start, end = statement.place
        if len(words) == 1 and words[0].resolved:
            self.set_value(statement.name, words[0], start)
        else:
            self.forget_value(statement.name, (start, end))
        self._loop([statement.body], certain=statement.words is not None)
        return Outcome.LIKELY

    def _while(self, statement: While) -> Outcome:
        before = self._marks()
        outcome = self._statement_outcome(statement.condition)
        self._return_to(before)
        ends = Outcome.HOLDS if statement.until else Outcome.FAILS
        if outcome is ends:
            return Outcome.LIKELY
        certain = outcome in {Outcome.HOLDS, Outcome.FAILS}
        self._loop([statement.condition, statement.body], certain=certain)
        return Outcome.LIKELY

    def _statement_outcome(self, block: Block) -> Outcome:
        """The outcome of a condition, without what reading it changes."""
        outer = self.expander.scope
        self.expander.scope = Scope(outer)
        outcome = self.block(block)
        self.expander.scope = outer
        return outcome

    def _marks(self) -> tuple[int, int]:
        return len(self.commands), len(self.assignments)

    def _return_to(self, marks: tuple[int, int]) -> None:
        """Forget what was recorded since the marks were taken."""
        del self.commands[marks[0] :]
        del self.assignments[marks[1] :]

    def _loop(self, blocks: Sequence[Block], *, certain: bool) -> None:
        """Read a body twice: first to see which variables change from turn to turn."""
        outer = self.expander.scope
        self.repeats += 1
        marks = self._marks()
        first = self._branch(blocks)
        self._return_to(marks)
        first.stopped = ""
        head = Scope(outer)
        self.expander.scope = head
        self._join([first], may_skip=True)
        last = self._branch(blocks, conditional=not certain)
        self.expander.scope = outer
        self.repeats -= 1
        last.changes = {**head.changes, **last.changes}
        last.stopped = ""
        if certain:
            outer.changes.update(last.changes)
        else:
            self._join([last], may_skip=True)

    def _case(self, statement: Case) -> Outcome:
        subject = self.expander.piece(statement.subject)
        branches: list[Scope] = []
        for patterns, body in statement.arms:
            fits = self._fits(subject, patterns)
            if fits is False:
                continue
            if fits and not branches:
                return self.block(body)
            branches.append(self._branch([body]))
            if fits:
                self._join(branches, may_skip=False)
                return Outcome.LIKELY
        if branches:
            self._join(branches, may_skip=True)
        return Outcome.LIKELY

    def _fits(self, subject: Piece, patterns: Sequence[WordSyntax]) -> bool | None:
        """Whether a text fits one of the patterns of a case."""
        answers: list[bool | None] = []
        for pattern in patterns:
            piece = self.expander.piece(pattern)
            known = subject.resolved and piece.resolved
            if piece.text == "*":
                return True
            answers.append(matches(subject.text, piece.text) if known else None)
        return True if True in answers else None if None in answers else False

    def _function(self, statement: Function) -> Outcome:
        self.functions[statement.name] = statement.body
        self.called.discard(statement.name)
        return Outcome.LIKELY

    def _double_test(self, statement: Test) -> Outcome:
        terms = [self.expander.piece(word) for word in statement.words]
        return outcome_of(holds(terms, patterns=True))

    def _calculation(self, statement: Calculation) -> Outcome:
        return self.calculate(self.expander.piece(statement.expression))

    _READERS: ClassVar[Mapping[type, Callable[..., Outcome]]] = {
        Simple: Calls.simple,
        AndOr: _and_or,
        Pipeline: _pipeline,
        Group: _group,
        If: _if,
        For: _for,
        While: _while,
        Case: _case,
        Function: _function,
        Test: _double_test,
        Calculation: _calculation,
    }
