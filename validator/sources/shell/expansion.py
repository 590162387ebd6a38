"""Variables of a script, and the expansion of words without running anything.

bash(1), section EXPANSION. Brace and file name expansion are not done: such words stay
as they are written. A branch keeps its variables to itself until it is joined with the
others; what they leave different is unknown afterwards.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.shell.expressions import evaluate
from speccheck.validator.sources.shell.syntax import (
    BLANK,
    Arithmetic,
    Literal,
    Parameter,
    Part,
    PlacedSpan,
    Printed,
    TextSpan,
    WordSyntax,
    condition_of,
    cut,
    extent_of,
    join,
    words_of,
)

_POSITIONAL = lazy_pattern(r"\$\{[0-9]+\}")
_OPTION = lazy_pattern(r"(?:^|[ \t\n])-")


class ShellVariable(Record):
    """A variable.

    spans: the elements of an array, or what a plain value consists of; None when the
        value cannot be known.
    start, value_start, value_end: offsets of the assignment and of its value; start is
        -1 for a variable that has no value: `unset A`, `export A`.
    """

    spans: tuple[TextSpan, ...] | None
    array: bool = False
    exported: bool = False
    conditional: bool = False
    start: int = -1
    value_start: int = 0
    value_end: int = 0

    @property
    def is_set(self) -> bool:
        """Whether the script gives it a value, known or not."""
        return self.start >= 0

    def text(self) -> str | None:
        """Return the value as one text, or None when any of it is unknown."""
        if self.spans is None or not all(span.resolved for span in self.spans):
            return None
        first = self.spans[:1] if self.array else self.spans
        return "".join([span.text for span in first])

    def given(self, condition: str) -> "ShellVariable":
        """Return the variable as it is under a condition, which is in words."""
        if self.spans is None:
            return self
        spans = [
            span if span.only_if else span._replace(only_if=condition)
            for span in self.spans
        ]
        return self._replace(spans=tuple(spans))


class Scope:
    """Variables as one branch of a script sees them.

    A branch keeps its changes to itself until it is joined with the others.

    stopped: how the branch was left early (`exit`, `return`, `break`), or nothing.
    """

    __slots__ = ("changes", "exported_only", "parent", "stopped")

    def __init__(
        self, parent: "Scope | None" = None, *, exported_only: bool = False
    ) -> None:
        self.parent = parent
        self.exported_only = exported_only
        self.changes: dict[str, ShellVariable] = {}
        self.stopped = ""

    def get(self, name: str) -> ShellVariable | None:
        """Return a variable, or None when the script says nothing of it."""
        scope: Scope | None = self
        exported_only = False
        while scope is not None:
            variable = scope.changes.get(name)
            if variable is not None:
                hidden = exported_only and not variable.exported
                return None if hidden else variable
            exported_only = exported_only or scope.exported_only
            scope = scope.parent
        return None


def join_branches(
    scope: Scope,
    branches: Sequence[Scope],
    spend: Callable[[int], bool],
    condition: Callable[[ShellVariable], str],
    *,
    may_skip: bool,
) -> None:
    """Bring what branches changed into their scope.

    Args:
        scope: takes the variables.
        branches: with what each changed.
        spend: takes the work that a comparison is, and says whether it may be done;
            else the variable is unknown.
        condition: says in words when a variable has the value that one branch gives.
        may_skip: possibly no branch is taken.

    """
    live = [branch for branch in branches if not branch.stopped]
    if not live and not may_skip:
        scope.stopped = branches[0].stopped if branches else ""
    names = dict.fromkeys(name for branch in live for name in branch.changes)
    for name in names:
        base = scope.get(name)
        alternatives = [branch.changes.get(name, base) for branch in live]
        if may_skip:
            alternatives.append(base)
        work = sum(
            len(alternative.spans or ())
            for alternative in alternatives
            if alternative is not None
        )
        if not spend(work // 4):
            scope.changes[name] = ShellVariable(None, start=0)
            continue
        joined, is_sure = _join(alternatives)
        scope.changes[name] = joined if is_sure else joined.given(condition(joined))


def _join(
    alternatives: Sequence[ShellVariable | None],
) -> tuple[ShellVariable, bool]:
    """Return what a variable holds after a branch was taken, and whether it is sure.

    A value that only an argument of the script would give counts for nothing beside
    one that is written out: as in `${1:-8}`, the script is read as run without any.
    """
    known = [alternative for alternative in alternatives if alternative is not None]
    written = [variable for variable in known if variable.is_set]
    stated = [variable for variable in written if not _is_argument(variable)] or written
    if not stated:
        exported = any(variable.exported for variable in known)
        return known[0]._replace(exported=exported), True
    # The last one set in a branch, rather than the value from before all of them.
    shown = max(stated, key=lambda variable: variable.start)
    sure = len(stated) == len(alternatives)
    shown = shown._replace(
        exported=any(variable.exported for variable in known),
        conditional=not sure or any(variable.conditional for variable in stated),
    )
    first = _key(stated[0])
    if first is not None and all(_key(variable) == first for variable in stated[1:]):
        return shown, sure
    if len(stated) == 1:
        return shown, False
    return shown._replace(spans=_union(stated)), True


def _is_argument(variable: ShellVariable) -> bool:
    spans = variable.spans
    return (
        spans is not None
        and len(spans) == 1
        and _POSITIONAL.fullmatch(spans[0].text) is not None
    )


def _key(variable: ShellVariable) -> tuple[object, ...] | None:
    if variable.spans is None:
        return None
    return (variable.array, *[(span.text, span.resolved) for span in variable.spans])


def _union(variables: Sequence[ShellVariable]) -> tuple[TextSpan, ...] | None:
    """Return the words that all alternatives share, and all others as unsure.

    Only lists of options may be united so: the others are told apart by their flags.
    """
    lists: list[Sequence[TextSpan]] = []
    for variable in variables:
        if variable.spans is None or variable.array is not variables[0].array:
            return None
        if variable.array:
            lists.append(variable.spans)
            continue
        text = "".join([span.text for span in variable.spans])
        if text.strip() and not _OPTION.search(text):
            return None
        lists.append([word for span in variable.spans for word in words_of(span)])
    united = _unite(lists)
    if variables[0].array:
        return tuple(united)
    return tuple([span for word in united for span in (word, BLANK)])


def _unite(lists: Sequence[Sequence[TextSpan]]) -> list[TextSpan]:
    shortest = min(len(list_) for list_ in lists)
    first = lists[0]
    head = 0
    while head < shortest and all(_same(list_[head], first[head]) for list_ in lists):
        head += 1
    tail = 0
    while tail < shortest - head and all(
        _same(list_[-1 - tail], first[-1 - tail]) for list_ in lists
    ):
        tail += 1
    united = list(first[:head])
    for list_ in lists:
        middle = list_[head : len(list_) - tail]
        united += [span._replace(resolved=False) for span in middle]
    return united + list(first[len(first) - tail :])


def _same(left: TextSpan, right: TextSpan) -> bool:
    return left.text == right.text and left.resolved == right.resolved


# What a script may expand to, however it doubles its values, in words and loop turns:
# a launch script of 4 KB comes to 1,000.
_BASE_BUDGET = 20_000
_CHARACTERS_PER_WORD = 8
_CHARACTERS_PER_UNIT = 64

_RUNS = lazy_pattern(r"[ \t\n]+|[^ \t\n]+")
_BRACES = lazy_pattern(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
_UNSET = ShellVariable(())


class Field(Record):
    """One word after expansion, with the place where it was written."""

    placed: list[PlacedSpan]
    start: int
    end: int

    def span(self) -> TextSpan:
        """Return the word as one span."""
        return join(self.placed, self.start, self.end)


class _Fields:
    """Collects the words that one written word gives.

    Attributes:
        fields: the words that are whole.
        current: the word that is being collected.
        splits: blanks of expansions end a word.
        only_if: the condition, in words, under which what is added is there.

    """

    __slots__ = ("current", "fields", "only_if", "splits")

    def __init__(self, *, splits: bool, only_if: str = "") -> None:
        self.fields: list[list[PlacedSpan]] = []
        self.current: list[PlacedSpan] | None = None
        self.splits = splits
        self.only_if = only_if

    def add(self, span: TextSpan, start: int, end: int) -> None:
        """Add to the word that is being collected."""
        if self.current is None:
            self.current = []
        if self.only_if and not span.only_if:
            span = span._replace(only_if=self.only_if)
        self.current.append(PlacedSpan(span, start, end))

    def split(self, span: TextSpan, start: int, end: int) -> None:
        """Add a span that blanks cut into words."""
        if not self.splits:
            self.add(span, start, end)
            return
        for match in _RUNS.finditer(span.text):
            if match[0].isspace():
                self.end_word()
            else:
                self.add(cut(span, *match.span()), start, end)

    def end_word(self) -> None:
        """Let the next span begin a new word."""
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
        self.positional: tuple[TextSpan, ...] | None = None
        self.assign: Callable[[str, Sequence[PlacedSpan], Parameter], None] | None = (
            None
        )
        self._budget = _BASE_BUDGET + size // _CHARACTERS_PER_WORD

    @property
    def exhausted(self) -> bool:
        """Whether the script has expanded to more than is read."""
        return self._budget <= 0

    def allow(self, size: int) -> None:
        """Let as much more be expanded as a text of this size may."""
        self._budget += size // _CHARACTERS_PER_WORD

    def spend(self, units: int) -> bool:
        """Count work beyond the length of the text; tells whether it may be done."""
        self._budget -= units
        return self._budget > 0

    def fields(self, word: WordSyntax) -> list[Field]:
        """Return the words that a written word becomes."""
        if not word.parts:
            span = TextSpan(word.text, word.start, word.end, resolved=not _braced(word))
            return [
                Field([PlacedSpan(span, word.start, word.end)], word.start, word.end)
            ]
        collected = _Fields(splits=True)
        self._emit(word.parts, collected, resolved=True)
        collected.end_word()
        if len(collected.fields) == 1:
            return [Field(collected.fields[0], word.start, word.end)]
        return [Field(placed, *extent_of(placed)) for placed in collected.fields]

    def value(self, word: WordSyntax) -> list[PlacedSpan]:
        """Return what a word gives where no word splitting is done."""
        if not word.parts:
            span = TextSpan(word.text, word.start, word.end, resolved=True)
            return [PlacedSpan(span, word.start, word.end)]
        collected = _Fields(splits=False)
        self._emit(word.parts, collected, resolved=True)
        return collected.current or []

    def span(self, word: WordSyntax) -> TextSpan:
        """Return a word as one span, without word splitting."""
        return join(self.value(word), word.start, word.end)

    def _emit(self, parts: Iterable[Part], out: _Fields, *, resolved: bool) -> None:
        for part in parts:
            if isinstance(part, Literal):
                text, start, end, quoted, sure, only_if = part
                span = TextSpan(text, start, end, sure and resolved, only_if)
                if quoted:
                    out.add(span, start, end)
                else:
                    out.split(span, start, end)
            elif isinstance(part, Parameter):
                self._parameter(part, out, resolved=resolved)
            elif isinstance(part, Arithmetic):
                out.add(self._arithmetic(part), part.start, part.end)
            elif isinstance(part, Printed):
                self._printed(part, out, resolved=resolved)
            else:
                span = TextSpan(part.text, part.start, part.end, resolved=False)
                out.add(span, part.start, part.end)

    def _printed(self, part: Printed, out: _Fields, *, resolved: bool) -> None:
        """Emit what `echo` prints, with a blank for each end of a line, or `cat`."""
        for placed in self.value(part.words):
            span, start, end = placed
            text = span.text if part.keeps_lines else span.text.replace("\n", " ")
            span = span._replace(text=text, resolved=span.resolved and resolved)
            if part.quoted:
                out.add(span, start, end)
            else:
                out.split(span, start, end)

    def _arithmetic(self, part: Arithmetic) -> TextSpan:
        collected = _Fields(splits=False)
        self._emit(part.expression, collected, resolved=True)
        joined = join(collected.current or [], part.start, part.end)
        place = part.start, part.end
        calculated = self.calculate(joined)
        if calculated is None:
            text = f"$(({''.join(joined.text.split())}))"
            return TextSpan(text, *place, resolved=False)
        return calculated._replace(start=part.start, end=part.end)

    def calculate(self, expression: TextSpan) -> TextSpan | None:
        """Return the value of an arithmetic expression, or None when it is unknown."""
        if not expression.resolved:
            return None
        conditions = [expression.only_if]

        def number_text(name: str) -> str | None:
            variable = self.lookup(name)
            if variable is None:
                return None
            conditions.append(condition_of(variable.spans or ()))
            return variable.text()

        number = evaluate(expression.text, number_text)
        if number is None:
            return None
        only_if = next(filter(None, conditions), "")
        return expression._replace(text=str(number), only_if=only_if)

    def lookup(self, name: str) -> ShellVariable | None:
        """Return a variable or argument.

        None when the script does not say what it holds.
        """
        variable = self.scope.get(name)
        if variable is not None and (variable.is_set or not variable.exported):
            return variable
        if name in self.known:
            return ShellVariable(
                (TextSpan(self.known[name], -1, -1, resolved=True),), start=0
            )
        if self.positional is None or not (name.isdecimal() or name in "@*#"):
            return None
        return self._argument(name, self.positional)

    def _argument(
        self, name: str, arguments: tuple[TextSpan, ...]
    ) -> ShellVariable | None:
        if name in {"@", "*"}:
            return ShellVariable(arguments, array=True, start=0)
        if name == "#":
            count = TextSpan(str(len(arguments)), -1, -1, resolved=True)
            return ShellVariable((count,), start=0)
        index = int(name) if len(name) < len("1000") else len(arguments) + 1
        if index == 0:
            return None
        text_spans = arguments[index - 1 : index]
        return ShellVariable(text_spans, start=0) if text_spans else _UNSET

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
        spans = self._spans(part, variable)
        if spans is None:
            index = f"[{part.subscript}]" if part.subscript else ""
            text = f"${{{part.name}{index}}}"
            spans = (TextSpan(text, part.start, part.end, resolved=False),)
        if not resolved:
            spans = tuple([span._replace(resolved=False) for span in spans])
        elements = part.subscript in {"@", "*"} or part.name in {"@", "*"}
        self._place(part, spans, out, elements=elements)

    def _default(self, part: Parameter, out: _Fields, *, resolved: bool) -> None:
        before = out.only_if
        out.only_if = before or self._unset(part)
        self._emit(part.argument, out, resolved=resolved)
        if part.quoted and not part.argument:  # an empty word, not none
            span = TextSpan("", part.start, part.end, resolved)
            out.add(span, part.start, part.end)
        if part.operator[-1] == "=" and self.assign is not None:
            collected = _Fields(splits=False, only_if=out.only_if)
            self._emit(part.argument, collected, resolved=resolved)
            self.assign(part.name, collected.current or [], part)
        out.only_if = before

    def _unset(self, part: Parameter) -> str:
        """Return the condition of a default in words; none where it is sure."""
        if self.lookup(part.name) is not None:
            return ""  # the script itself has made it empty
        if part.name.isdecimal():
            return f"argument {part.name} is not given"
        return f"{part.name} is not set"

    def _spans(
        self, part: Parameter, variable: ShellVariable | None
    ) -> tuple[TextSpan, ...] | None:
        """Return the spans that a reference stands for; None when they are unknown."""
        if variable is None or variable.spans is None:
            return None
        spans = variable.spans
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
            if any(not span.resolved for span in spans[: at + 1]):
                return None
            spans = spans[at : at + 1]
        if not self.spend(1 + len(spans)):
            return None
        return tuple([self._shown(part, span) for span in spans])

    def _shown(self, part: Parameter, span: TextSpan) -> TextSpan:
        """Return a span as its reference shows it."""
        text = span.text
        self.spend(len(text) // _CHARACTERS_PER_UNIT + text.count(" "))
        if span.start < 0:
            return TextSpan(text, part.start, part.end, span.resolved)
        if not span.resolved and text.startswith("$(") and text.endswith(")"):
            return span._replace(text=f"${{{part.name}}}")
        return span

    def _place(
        self,
        part: Parameter,
        spans: Sequence[TextSpan],
        out: _Fields,
        *,
        elements: bool,
    ) -> None:
        """Put the spans of a reference into the words that are being collected."""
        add = out.add if part.quoted else out.split
        starred = part.quoted and "*" in (part.subscript, part.name)
        for number, span in enumerate(spans):
            if number and elements:
                if out.splits and not starred:
                    out.end_word()
                else:
                    out.add(BLANK, part.start, part.start)
            add(span, part.start, part.end)
        if part.quoted and not spans and not elements:
            empty = TextSpan("", part.start, part.start, resolved=True)
            out.add(empty, part.start, part.end)


def _braced(word: WordSyntax) -> bool:
    """Return whether a shell would make several words of braces: `{1..8}`, `{a,b}`."""
    return "{" in word.text and _BRACES.search(word.text) is not None


def _is_empty(variable: ShellVariable | None, *, colon: bool) -> bool | None:
    """Return whether a default would take the place of a variable; None when unknown.

    A variable that the script says nothing of is taken to be unset.
    """
    if variable is None:
        return True
    if not variable.is_set and variable.spans is not None:
        return True
    if variable.spans is None:
        return None
    if not colon:
        return False
    return all(span.resolved and not span.text for span in variable.spans)
