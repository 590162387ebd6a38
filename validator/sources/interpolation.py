"""Works out `${...}` as OmegaConf does: references, and resolvers of known meaning.

Nothing is executed. What cannot be worked out from the file alone keeps its text, with
the reason beside it: a reference to nothing or to itself, a resolver that nobody knows,
a variable of the environment without a default.

Grammar: https://omegaconf.readthedocs.io/en/2.3_branch/grammar.html
"""

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, dotted
from speccheck.validator.sources.documents.document import path_step
from speccheck.validator.sources.mapping import parse_number

_RESOLVER = lazy_pattern(r"\s*([A-Za-z_][\w.]*)\s*:")
_QUOTES = "\"'"
_OPENING, _CLOSING = "({[", ")}]"
NOTHING_SET: Mapping[str, str] = MappingProxyType({})
_SHORTEST_QUOTED = 2


class MalformedText(Exception):  # noqa: N818 - a fact about the file
    """Brackets that do not match."""


class Expression(Record):
    """One `${...}`: a resolver with the text of its arguments, or a reference."""

    resolver: str | None
    body: str


def pieces(text: str) -> list[str | Expression]:
    r"""Return a text as plain stretches and expressions; `\${` is plain.

    Raises MalformedText for a `${` that no bracket closes.
    """
    result: list[str | Expression] = []
    plain = ""
    position = 0
    while (start := text.find("${", position)) >= 0:
        if text[start - 1 : start] == "\\":
            plain += text[position : start - 1] + "${"
            position = start + 2
            continue
        plain += text[position:start]
        if plain:
            result.append(plain)
            plain = ""
        stop = _closing(text, start + 2)
        result.append(_expression(text[start + 2 : stop]))
        position = stop + 1
    plain += text[position:]
    if plain:
        result.append(plain)
    return result


def _closing(text: str, start: int) -> int:
    """Return where the bracket closes that stands open at `start`."""
    depth = 1
    quote = ""
    for position in range(start, len(text)):
        sign = text[position]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES:
            quote = sign
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if not depth:
                return position
    message = "its bracket is not closed"
    raise MalformedText(message)


def _expression(body: str) -> Expression:
    named = _RESOLVER.match(body)
    if named is None:
        return Expression(None, body.strip())
    return Expression(named[1], body[named.end() :])


def split_arguments(body: str) -> list[str]:
    """Return the arguments of a resolver, at the commas outside brackets and quotes."""
    parts: list[str] = []
    depth = 0
    quote = ""
    start = 0
    for position, sign in enumerate(body):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES:
            quote = sign
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif sign == "," and not depth:
            parts.append(body[start:position])
            start = position + 1
    return [*parts, body[start:]]


def unquoted(text: str) -> str:
    """Return a text without the quotes around it."""
    is_quoted = (
        len(text) >= _SHORTEST_QUOTED and text[0] == text[-1] and text[0] in _QUOTES
    )
    return text[1:-1] if is_quoted else text


_LARGEST = 1e18  # no count of a training run is larger; products of these stay exact


class ResolverFault(Exception):  # noqa: N818 - a fact about the file
    """Arguments of which a resolver can make nothing."""


Resolver = Callable[[list[object]], object]


def _numbers(values: list[object], least: int = 1) -> list[int | float]:
    result: list[int | float] = []
    for value in values:
        number = parse_number(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float):
            message = f"{value!r:.40} is not a number"
            raise ResolverFault(message)
        if abs(number) > _LARGEST:
            message = "its numbers are too large"
            raise ResolverFault(message)
        if isinstance(number, float) and isinstance(value, str) and number.is_integer():
            number = int(number)
        result.append(number)
    if len(result) < least:
        message = f"{len(result)} arguments where at least {least} are needed"
        raise ResolverFault(message)
    return result


def _difference(values: list[object]) -> object:
    first, *rest = _numbers(values)
    return first - sum(rest)


def _quotient(values: list[object]) -> float:
    first, second = (*_numbers(values, 2)[:2],)
    if not second:
        message = "divides by zero"
        raise ResolverFault(message)
    return first / second


def _true_quotient(values: list[object]) -> object:
    """Return a whole number if it comes out even, as a file's counts are meant."""
    quotient = _quotient(values)
    return int(quotient) if quotient.is_integer() else quotient


def _choice(values: list[object]) -> object:
    """Return the choice of `if:condition,then,else`."""
    condition, *branches = values
    if len(branches) != 2:  # noqa: PLR2004 - then, else
        message = "if needs a condition and two values"
        raise ResolverFault(message)
    return branches[0] if condition else branches[1]


def _decoded(values: list[object]) -> object:
    """Return the value of `oc.decode`: the number, truth value or null in a text."""
    text = values[0]
    if not isinstance(text, str):
        return text
    return _parsed(text, _WORDS)


_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}


def _parsed(text: str, words: Mapping[str, object]) -> object:
    """Return the number or the word that a text writes, or the text itself."""
    if text.lower() in words:
        return words[text.lower()]
    number = parse_number(text)
    if number is None:
        return text
    is_whole = number.is_integer() and text.strip().lstrip("+-").isdecimal()
    return int(number) if is_whole else number


RESOLVERS: dict[str, Resolver] = {
    **dict.fromkeys(("multiply", "mul"), lambda values: math.prod(_numbers(values))),
    **dict.fromkeys(("add", "sum"), lambda values: sum(_numbers(values))),
    **dict.fromkeys(("sub", "subtract"), _difference),
    **dict.fromkeys(("divide", "div"), _true_quotient),
    **dict.fromkeys(
        ("divide_floor", "floor_div", "int_div"),
        lambda values: math.floor(_quotient(values)),
    ),
    **dict.fromkeys(
        ("divide_ceil", "ceil_div"), lambda values: math.ceil(_quotient(values))
    ),
    "max": lambda values: max(_numbers(values)),
    "min": lambda values: min(_numbers(values)),
    "if": _choice,
    "not": lambda values: not values[0],
    "eq": lambda values: len(values) > 1 and values[0] == values[1],
    "int": lambda values: int(_numbers(values)[0]),
    "oc.decode": _decoded,
}

# Real files chain four references at most; hostile ones grow without end.
_MAXIMUM_DEPTH = 60
_MAXIMUM_STEPS = 20_000
_MAXIMUM_LENGTH = 10_000
_STEP = lazy_pattern(r"[^.\[\]]+")
_LONGEST_NOTE = 200


class Interpolated(Record):
    """What became of one text.

    sources: the paths that it refers to.
    is_computed: by arithmetic, not only taken from where it stands.
    waits: for a value that is to be set at start, and stands as such elsewhere.
    only_if: the condition under which it holds, in words: "NNODES is not set".
    is_circular: it refers to itself, by way of others.
    """

    is_known: bool
    note: str
    sources: tuple[KeyPath, ...] = ()
    is_computed: bool = False
    waits: bool = False
    only_if: str = ""
    is_circular: bool = False


class Unresolved(Exception):  # noqa: N818 - a fact about the file, not an error
    """A text that cannot be worked out; its text is the reason."""


class Circular(Unresolved):
    """A text that refers to itself, by way of others."""


class Waiting(Unresolved):
    """A text that refers to a value which is left to be set at start."""


def interpolate(
    data: object, environment: Mapping[str, str] = NOTHING_SET
) -> tuple[object, dict[KeyPath, Interpolated]]:
    """Return the data with the texts worked out, and what became of each of them.

    Args:
        data: of a document.
        environment: variables that the launch script of the document sets.

    """
    work = _Interpolation(data, environment)
    return work.node((), data), work.outcomes


class _Interpolation:
    """One pass over one tree: what is worked out once is kept."""

    def __init__(self, data: object, environment: Mapping[str, str]) -> None:
        self.data = data
        self.environment = environment
        self.outcomes: dict[KeyPath, Interpolated] = {}
        self._known: dict[KeyPath, object] = {}
        self._open: dict[KeyPath, None] = {}
        self._computed: set[KeyPath] = set()
        self._fallbacks: dict[KeyPath, str] = {}
        self._steps = 0

    def node(self, path: KeyPath, raw: object) -> object:
        """Return the value at a path.

        A text that cannot be worked out stands as written.
        """
        if isinstance(raw, str) and "${" in raw:
            try:
                return self._text(path, raw)
            except Unresolved:
                return raw
        if isinstance(raw, dict | list):
            return self._container(path, raw)
        return raw

    def _container(
        self, path: KeyPath, raw: "dict[object, object] | list[object]"
    ) -> object:
        if path in self._known:
            return self._known[path]
        self._open[path] = None
        made: object
        if isinstance(raw, dict):
            made = {
                key: self.node((*path, path_step(key)), child)
                for key, child in raw.items()
            }
        else:
            made = [self.node((*path, index), child) for index, child in enumerate(raw)]
        del self._open[path]
        self._known[path] = made
        return made

    def _enter(self, path: KeyPath) -> None:
        """Raise Unresolved where references nest without end."""
        self._steps += 1
        if self._steps > _MAXIMUM_STEPS or len(self._open) > _MAXIMUM_DEPTH:
            message = "its references nest too deep to be followed"
            raise Unresolved(message)
        self._open[path] = None

    def _text(self, path: KeyPath, raw: str) -> object:
        """Return the value of a text, and note the outcome; raises Unresolved."""
        if path in self._known:
            return self._known[path]
        known = self.outcomes.get(path)
        if known is not None:
            kind = Waiting if known.waits else Unresolved
            raise (Circular if known.is_circular else kind)(known.note)
        sources: dict[KeyPath, object] = {}
        try:
            self._enter(path)
            value = self._joined(path, raw, sources)
        except Unresolved as reason:
            self.outcomes[path] = Interpolated(
                is_known=False,
                note=f"{raw:.80}: {reason}",
                waits=isinstance(reason, Waiting),
                is_circular=isinstance(reason, Circular),
            )
            raise
        finally:
            self._open.pop(path, None)
        self._known[path] = value
        note = _note(raw, value, sources)
        if not self._computed.isdisjoint(sources):
            self._computed.add(path)
        for source in sources:
            if source in self._fallbacks:
                self._fallbacks.setdefault(path, self._fallbacks[source])
        self.outcomes[path] = Interpolated(
            is_known=True,
            note=note,
            sources=(*sources,),
            is_computed=path in self._computed,
            only_if=self._fallbacks.get(path, ""),
        )
        return value

    def _joined(
        self, path: KeyPath, raw: str, sources: dict[KeyPath, object]
    ) -> object:
        try:
            parts = pieces(raw)
        except MalformedText as error:
            raise Unresolved(str(error)) from None
        values = [
            self._expression(path, part, sources)
            if isinstance(part, Expression)
            else part
            for part in parts
        ]
        if len(values) == 1:
            return values[0]
        text = "".join(map(str, values))
        if len(text) > _MAXIMUM_LENGTH:
            message = f"gives a text of more than {_MAXIMUM_LENGTH:,} characters"
            raise Unresolved(message)
        return text

    def _expression(
        self, path: KeyPath, expression: Expression, sources: dict[KeyPath, object]
    ) -> object:
        if expression.resolver is None:
            target = str(self._joined(path, expression.body, sources))
            return self._reference(path, target, sources)
        arguments = [part.strip() for part in split_arguments(expression.body)]
        if expression.resolver == "oc.select":
            return self._selected(path, arguments, sources)
        if expression.resolver == "oc.env":
            if arguments[0] in self.environment:
                return literal(self.environment[arguments[0]])
            self._fallbacks.setdefault(path, f"{arguments[0]} is not set")
            return _environment(arguments)
        resolve = RESOLVERS.get(expression.resolver)
        if resolve is None:
            message = (
                f"what the resolver {expression.resolver} gives is not known from here"
            )
            raise Unresolved(message)
        return self._resolved(path, resolve, arguments, sources)

    def _resolved(
        self,
        path: KeyPath,
        resolve: Callable[[list[object]], object],
        arguments: Iterable[str],
        sources: dict[KeyPath, object],
    ) -> object:
        self._computed.add(path)
        values = [self._argument(path, argument, sources) for argument in arguments]
        try:
            return resolve(values)
        except ResolverFault as fault:
            raise Unresolved(str(fault)) from None

    def _argument(
        self, path: KeyPath, text: str, sources: dict[KeyPath, object]
    ) -> object:
        if "${" in text:
            return self._joined(path, text, sources)
        return literal(text)

    def _selected(
        self, path: KeyPath, arguments: list[str], sources: dict[KeyPath, object]
    ) -> object:
        """Return the value of `oc.select:key,default`: the key, else the default."""
        target = str(self._argument(path, arguments[0], sources))
        result = self._target(path, target)
        if self._find(result) is not _MISSING:
            return self._value(result, sources)
        if len(arguments) > 1:
            return self._argument(path, arguments[1], sources)
        return None

    def _reference(
        self, path: KeyPath, target: str, sources: dict[KeyPath, object]
    ) -> object:
        result = self._target(path, target)
        self._demand_closed(result)
        if self._find(result) is _MISSING:
            message = f"{dotted(result)} is not in this file or what it inherits"
            raise Unresolved(message)
        return self._value(result, sources)

    def _demand_closed(self, path: KeyPath) -> None:
        """Raise Circular for what is being worked out: it would rest on itself."""
        if path in self._open:
            ring = [*self._open][[*self._open].index(path) :]
            chain = " -> ".join(dotted(item) for item in (*ring, path))
            message = f"refers to itself: {chain:.120}"
            raise Circular(message)

    def _value(self, result: KeyPath, sources: dict[KeyPath, object]) -> object:
        self._demand_closed(result)
        raw = self._find(result)
        if isinstance(raw, str) and "${" in raw:
            value = self._text(result, raw)
        elif isinstance(raw, dict | list):
            value = self._container(result, raw)
        else:
            value = raw
        if value == "???":
            message = f"{dotted(result)} is left to be set at start"
            raise Waiting(message)
        sources[result] = value
        return value

    def _target(self, path: KeyPath, text: str) -> KeyPath:
        """Return the path: `a.b[0]` from the top, `.x` beside the text, `..x` above.

        A recipe that is composed below a key (`training.run.name` in a file without
        `training`) names itself with that key.
        """
        rest = text.lstrip(".")
        dots = len(text) - len(rest)
        above = path[: max(len(path) - dots, 0)] if dots else ()
        steps = [
            int(match[0]) if match[0].isdecimal() else match[0]
            for match in _STEP.finditer(rest)
        ]
        is_mounted = (
            not dots
            and len(steps) > 1
            and path[: len(steps) - 1] != (*steps[1:],)
            and _child(self.data, steps[0]) is _MISSING
            and self._find((*steps[1:],)) is not _MISSING
        )
        return (*above, *(steps[1:] if is_mounted else steps))

    def _find(self, path: KeyPath) -> object:
        """Return the raw node at a path, through nodes that are references."""
        node = self.data
        for depth, step in enumerate(path):
            if isinstance(node, str) and "${" in node:
                self._demand_closed(path[:depth])
                node = self._text(path[:depth], node)
            node = _child(node, step)
        return node


_MISSING = object()


def _child(node: object, step: str | int) -> object:
    if isinstance(node, dict):
        # `a.0` names the key 0, and the key "0" as well.
        return node.get(step, node.get(str(step), _MISSING))
    if isinstance(node, list) and isinstance(step, int) and step < len(node):
        return node[step]
    return _MISSING


def _environment(arguments: list[str]) -> object:
    """Return the value of `oc.env:NAME,default`, unseen here; maybe the default."""
    name = arguments[0]
    if len(arguments) == 1:
        message = f"the environment variable {name} is not known from here"
        raise Unresolved(message)
    return unquoted(arguments[1])


def literal(text: str) -> object:
    """Return an argument by OmegaConf's grammar: a number, a word, a quoted text."""
    result = _parsed(text, {**_WORDS, "none": None})
    return unquoted(result) if isinstance(result, str) else result


def _note(raw: str, value: object, sources: dict[KeyPath, object]) -> str:
    if isinstance(value, dict | list):
        return f"{raw:.80}"
    note = f"{raw:.100} = {value}"
    parts = [
        f"{dotted(path)} = {source}"
        for path, source in sources.items()
        if not isinstance(source, dict | list)
    ]
    if len(parts) > 1:
        note += f" ({', '.join(parts)})"
    return note[:_LONGEST_NOTE]
