"""Templates of Go, as Helm renders them: text with actions in `{{ }}`.

The subset that charts of training jobs use: fields of values, variables, pipelines,
`if`, `range`, `with`, `define` with `include`, and the functions below. What only an
installation knows (the name of a release, the time, a random word) stays open in the
text as `${expression}`; a block whose condition is open is not rendered, and named.
Sources: Go text/template; helm.sh/docs/chart_template_guide; Masterminds/sprig v3.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record

_MOST_STEPS = 100_000
_MOST_CHARACTERS = 2_000_000
_DEEPEST = 40
_ACTION = lazy_pattern(r"\{\{(-(?=\s))?(.*?)((?<=\s)-)?\}\}", re.DOTALL)
_TOKEN = lazy_pattern(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*\"|`[^`]*`)"
    r"|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<field>(?:\$\w*)?(?:\.\w+)+|\$\w*|\.)"
    r"|(?P<name>\w+)"
    r"|(?P<sign>:=|=|[|(),]))"
)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_ESCAPE = lazy_pattern(r"\\(.)")


class TemplateFault(Exception):  # noqa: N818 - of the text, not of speccheck
    """A template that this subset does not read; the text says what of it."""


class Open(Record):
    """A value that only the installation knows: the expression that gives it."""

    expression: str


class Rendered(Record):
    """A rendered text.

    Attributes:
        text: as it stands after rendering.
        lines: the line of the template behind each line of the text, from 1.
        unseen: blocks whose condition is open: their line and what they depend on.

    """

    text: str
    lines: tuple[int, ...]
    unseen: tuple[tuple[int, str], ...]


class _Action(Record):
    """A part of a template: plain text, or the words between `{{` and `}}`."""

    text: str
    line: int
    is_text: bool = False


class _Block(Record):
    """A block: its action, the parts up to `else`, and those after it."""

    action: _Action
    body: "tuple[_Action | _Block, ...]"
    otherwise: "tuple[_Action | _Block, ...]" = ()


_Part = _Action | _Block
_BLOCKS = frozenset({"if", "range", "with", "define", "block"})


def _actions(text: str) -> Iterator[_Action]:
    """Yield plain text and actions, blanks trimmed where a dash asks for it."""
    position, line, trims = 0, 1, False
    for match in _ACTION.finditer(text):
        plain = text[position : match.start()]
        yield from _plain(plain, line, left=trims, right=match[1] is not None)
        line += plain.count("\n")
        words = match[2].strip()
        if not words.startswith("/*"):
            yield _Action(words, line)
        line += match[0].count("\n")
        position, trims = match.end(), match[3] is not None
    yield from _plain(text[position:], line, left=trims, right=False)


def _plain(text: str, line: int, *, left: bool, right: bool) -> Iterator[_Action]:
    if left:
        kept = text.lstrip()
        line += text.count("\n", 0, len(text) - len(kept))
        text = kept
    if right:
        text = text.rstrip()
    if text:
        yield _Action(text, line, is_text=True)


def _parsed(actions: Sequence[_Action]) -> tuple[_Part, ...]:
    parts, position = _parts(actions, 0, 0)
    if position < len(actions):
        raise TemplateFault(f"line {actions[position].line}: {{{{ end }}}} of nothing")
    return parts


def _parts(
    actions: Sequence[_Action], position: int, depth: int
) -> tuple[tuple[_Part, ...], int]:
    """Return the parts up to an `else` or `end` of an outer block, and where it is."""
    if depth > _DEEPEST:
        raise TemplateFault("blocks nest too deep")
    parts: list[_Part] = []
    while position < len(actions):
        action = actions[position]
        word = "" if action.is_text else action.text.partition(" ")[0]
        if word in {"else", "end"}:
            break
        if word in _BLOCKS:
            block, position = _block(actions, position, depth)
            parts.append(block)
        else:
            parts.append(action)
            position += 1
    return (*parts,), position


def _block(actions: Sequence[_Action], position: int, depth: int) -> tuple[_Block, int]:
    action = actions[position]
    body, position = _parts(actions, position + 1, depth + 1)
    otherwise: tuple[_Part, ...] = ()
    if position < len(actions) and actions[position].text.startswith("else"):
        following = actions[position].text[len("else") :].strip()
        if following:
            nested = actions[position]._replace(text=following)
            block, position = _block(
                [*actions[:position], nested, *actions[position + 1 :]],
                position,
                depth + 1,
            )
            return _Block(action, body, (block,)), position
        otherwise, position = _parts(actions, position + 1, depth + 1)
    if position >= len(actions):
        raise TemplateFault(f"line {action.line}: a block without its end")
    return _Block(action, body, otherwise), position + 1


class Renderer:
    """Renders the templates of a chart.

    Attributes:
        named: the parts of each `define`, by name.

    """

    def __init__(self, files: Mapping[str, str]) -> None:
        """Take the files of the chart that `.Files.Get` may name."""
        self.named: dict[str, tuple[_Part, ...]] = {}
        self._files = files
        self._steps = self._length = self._depth = 0
        self._unseen: dict[tuple[int, str], None] = {}

    def define(self, text: str) -> None:
        """Remember what a file defines; raises TemplateFault."""
        for part in _parsed([*_actions(text)]):
            if isinstance(part, _Block) and part.action.text.startswith("define"):
                self.named[_name_of(part.action)] = part.body

    def render(self, text: str, data: object) -> Rendered:
        """Return a file rendered with data; raises TemplateFault."""
        self.define(text)
        pieces = [*self._all(_parsed([*_actions(text)]), data, {"$": data})]
        lines: list[int] = []
        is_start = True
        for piece, line, is_text in pieces:
            for row in piece.splitlines(keepends=True):
                if is_start:
                    lines.append(line)
                is_start = row.endswith("\n")
                line += is_text and is_start
        whole = "".join(piece for piece, _, _ in pieces)
        return Rendered(whole, (*lines,), (*self._unseen,))

    def _spend(self, steps: int, characters: int = 0) -> None:
        self._steps += steps
        self._length += characters
        if self._steps > _MOST_STEPS or self._length > _MOST_CHARACTERS:
            raise TemplateFault("it renders to more than is read")

    def _all(
        self, parts: Sequence[_Part], dot: object, names: dict[str, object]
    ) -> Iterator[tuple[str, int, bool]]:
        """Yield rendered pieces, each with its line and whether it stands there."""
        for part in parts:
            self._spend(1)
            if isinstance(part, _Block):
                yield from self._rendered_block(part, dot, names)
            elif part.is_text:
                self._spend(0, len(part.text))
                yield part.text, part.line, True
            else:
                value = self._action(part, dot, names)
                text = "" if value is _NOTHING else text_of(value)
                self._spend(0, len(text))
                yield text, part.line, False

    def _action(self, part: _Action, dot: object, names: dict[str, object]) -> object:
        words = _Words(part, self, dot, names)
        if part.text.startswith("template "):
            words.tokens[0] = ("name", "include")
        variable = words.assigned()
        value = words.pipeline()
        if variable is None:
            return value
        names[variable] = value
        return _NOTHING

    def _rendered_block(
        self, block: _Block, dot: object, names: dict[str, object]
    ) -> Iterator[tuple[str, int, bool]]:
        word = block.action.text.partition(" ")[0]
        if word in {"define", "block"}:
            return
        rest = block.action._replace(text=block.action.text[len(word) :].strip())
        words = _Words(rest, self, dot, names)
        variables = words.listed() if word == "range" else ()
        variable = words.assigned() if word != "range" else None
        value = words.pipeline()
        if isinstance(value, Open):
            self._unseen[block.action.line, value.expression] = None
            return
        # A variable that a block declares is gone behind it; one that it sets is not.
        if word == "range":
            rows = _rows(value)
            for key, item in rows:
                if variables:
                    names[variables[-1]] = item
                if len(variables) > 1:
                    names[variables[0]] = key
                yield from self._all(block.body, item, names)
            if not rows:
                yield from self._all(block.otherwise, dot, names)
            return
        if variable is not None:
            names[variable] = value
        body = block.body if _is_true(value) else block.otherwise
        inner = value if word == "with" and _is_true(value) else dot
        yield from self._all(body, inner, names)

    def include(self, name: object, data: object) -> object:
        """Return a named template rendered with data."""
        if isinstance(name, Open) or str(name) not in self.named:
            return Open(f"include {text_of(name)}")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TemplateFault("templates include each other without an end")
        pieces = self._all(self.named[str(name)], data, {"$": data})
        text = "".join(piece for piece, _, _ in pieces)
        self._depth -= 1
        return text

    def file(self, name: object) -> object:
        """Return the text of a file of the chart, as `.Files.Get` does."""
        return self._files.get(str(name), "")


_NOTHING = object()


def _name_of(action: _Action) -> str:
    return action.text.partition(" ")[2].strip().strip('"`')


class _Words:
    """The words of one action, read from left to right."""

    def __init__(
        self, action: _Action, renderer: Renderer, dot: object, names: dict[str, object]
    ) -> None:
        self.tokens = [*_tokens(action)]
        self._line = action.line
        self._at = 0
        self._renderer, self._dot, self._names = renderer, dot, names

    def assigned(self) -> str | None:
        """Return the variable of `$name := ...`, and go behind it."""
        if len(self.tokens) > 1 and self.tokens[1][1] in {":=", "="}:
            self._at = 2
            return self.tokens[0][1]
        return None

    def listed(self) -> tuple[str, ...]:
        """Return the variables of `range $key, $value := ...`, and go behind them."""
        signs = [token[1] for token in self.tokens[:4]]
        if signs[1:2] == [","] and ":=" in signs:
            self._at = 4
            return signs[0], signs[2]
        name = self.assigned()
        return () if name is None else (name,)

    def pipeline(self) -> object:
        """Return the value of `a | f x | g`, up to a closing bracket."""
        value = self._command(())
        while self._sign() == "|":
            self._at += 1
            value = self._command((value,))
        return value

    def _sign(self) -> str:
        kind, text = self.tokens[self._at] if self._at < len(self.tokens) else ("", "")
        return text if kind == "sign" else ""

    def _command(self, last: tuple[object, ...]) -> object:
        self._renderer._spend(1)  # noqa: SLF001 - its own words
        if self._at >= len(self.tokens):
            self._refuse("an action without words")
        kind, text = self.tokens[self._at]
        if (kind, text) == ("name", "include") or kind == "name":
            if text in _WORDS:
                return self._operand()
            self._at += 1
            return self._called(text, (*self._operands(), *last))
        value = self._operand()
        if isinstance(value, _Method):
            return value.call((*self._operands(), *last))
        return value

    def _operands(self) -> Iterator[object]:
        while self._at < len(self.tokens) and self._sign() not in {"|", ")", ","}:
            yield self._operand()

    def _operand(self) -> object:
        kind, text = self.tokens[self._at]
        self._at += 1
        if kind == "text":
            return _unquoted(text)
        if kind == "number":
            return float(text) if "." in text else int(text)
        if kind == "field":
            return self._field(text)
        if kind == "name":
            if text in _WORDS:
                return _WORDS[text]
            return self._called(text, ())
        if text == "(":
            value = self.pipeline()
            if self._sign() != ")":
                self._refuse("a bracket that does not close")
            self._at += 1
            following = self.tokens[self._at : self._at + 1]
            if following and following[0][0] == "field":
                steps = following[0][1]
                if steps.startswith(".") and len(steps) > 1:
                    self._at += 1
                    return _step(value, steps[1:].split("."), f"(...){steps}")
            return value
        return self._refuse(f"{text!r} is not read")

    def _field(self, text: str) -> object:
        root, *steps = text.split(".")
        if text == ".":
            return self._dot
        if root:
            if root not in self._names:
                return Open(text)
            value = self._names[root]
        else:
            value = self._dot
        if steps[-2:] == ["Files", "Get"]:
            return _Method(self._renderer.file)
        return _step(value, steps, text)

    def _called(self, name: str, values: tuple[object, ...]) -> object:
        if name == "include":
            return self._renderer.include(values[0], values[-1]) if values else ""
        if name == "tpl":
            return Open("tpl")
        function = FUNCTIONS.get(name)
        if function is None or (
            name not in _TAKE_OPEN and any(isinstance(item, Open) for item in values)
        ):
            shown = " ".join([name, *(text_of(item) for item in values)])
            return Open(shown[:80].replace("${", "").replace("}", ""))
        try:
            return function(*values)
        except (TypeError, ValueError, IndexError, ArithmeticError) as error:
            self._refuse(f"{name}: {error}")

    def _refuse(self, what: str) -> NoReturn:
        raise TemplateFault(f"line {self._line}: {what}")


class _Method(Record):
    """A function that a field names."""

    function: Callable[[object], object]

    def call(self, values: tuple[object, ...]) -> object:
        """Return what it gives for its only argument."""
        return self.function(values[0]) if values else ""


_WORDS: dict[str, object] = {"true": True, "false": False, "nil": None}


def _tokens(action: _Action) -> Iterator[tuple[str, str]]:
    position, text = 0, action.text
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            shown = text[position : position + 20]
            raise TemplateFault(f"line {action.line}: {shown!r} is not read")
        yield match.lastgroup, match[match.lastgroup]
        position = match.end()


def _unquoted(text: str) -> str:
    if text[0] == "`":
        return text[1:-1]
    return _ESCAPE.sub(lambda sign: _ESCAPES.get(sign[1], sign[0]), text[1:-1])


def _step(value: object, steps: Sequence[str], text: str) -> object:
    for step in steps:
        if isinstance(value, Open):
            return Open(text.lstrip("$"))
        value = value.get(step) if isinstance(value, Mapping) else None
    return Open(text.lstrip("$")) if isinstance(value, Open) else value


def _is_true(value: object) -> bool:
    return bool(value)


def _rows(value: object) -> list[tuple[object, object]]:
    if isinstance(value, Mapping):
        return sorted(value.items(), key=lambda row: str(row[0]))
    if isinstance(value, list):
        return [*enumerate(value)]
    return [*enumerate(range(value))] if isinstance(value, int) else []


def text_of(value: object) -> str:
    """Return a value as Go prints it; what is open as `${expression}`."""
    if isinstance(value, Open):
        return f"${{{value.expression}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return "[" + " ".join(text_of(item) for item in value) + "]"
    return str(value)


def _number(value: object) -> int:
    """Return a value as sprig's integers take it: 0 for what is none."""
    try:
        return int(float(text_of(value) or 0))
    except (ValueError, OverflowError):
        return 0


def _yaml(value: object) -> str:
    from yaml import safe_dump  # noqa: PLC0415 - charts alone

    if not isinstance(value, Mapping | list):
        return "null" if value is None else text_of(value)
    return str(safe_dump(value, sort_keys=True, width=10_000)).rstrip("\n")


def _json(value: object) -> str:
    from json import dumps  # noqa: PLC0415 - charts alone

    return dumps(value)


def _indented(count: object, text: object) -> str:
    blanks = " " * min(_number(count), 200)
    return "\n".join(blanks + row for row in text_of(text).split("\n"))


def _default(given: object, value: object = None) -> object:
    return value if isinstance(value, Open) or _is_true(value) else given


def _first_true(*values: object) -> object:
    """Return the first value that holds, else the last: Go's `or`, sprig's coalesce."""
    for value in values:
        if isinstance(value, Open) or _is_true(value):
            return value
    return values[-1] if values else None


def _all_true(*values: object) -> object:
    return next(
        (item for item in values if not isinstance(item, Open) and not _is_true(item)),
        next((item for item in values if isinstance(item, Open)), values[-1]),
    )


def _printed(form: object, *values: object) -> str:
    rest = iter(values)
    return re.sub(
        r"%[-+0-9.]*([a-z%])",
        lambda sign: "%" if sign[1] == "%" else _as_verb(sign[1], next(rest, None)),
        text_of(form),
    )


def _as_verb(verb: str, value: object) -> str:
    return f'"{text_of(value)}"' if verb == "q" else text_of(value)


def _index(value: object, *steps: object) -> object:
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(text_of(step))
        elif isinstance(value, list):
            value = value[_number(step)]
        else:
            return None
    return value


def _dict(*values: object) -> dict[str, object]:
    pairs = zip(values[::2], values[1::2], strict=False)
    return {text_of(key): value for key, value in pairs}


def _sum(*values: object) -> int:
    return sum(map(_number, values))


def _product(*values: object) -> int:
    result = 1
    for value in values:
        result *= _number(value)
    return result


def _quotient(left: object, right: object) -> int:
    result = abs(_number(left)) // abs(_number(right))
    return result if (_number(left) < 0) == (_number(right) < 0) else -result


def _until(count: object) -> object:
    return [*range(min(_number(count), 10_000))]


def _length(value: object) -> int:
    return len(value) if isinstance(value, str | list | Mapping) else 0


def _compared(test: Callable[[float, float], bool]) -> Callable[..., bool]:
    def compare(left: object, right: object) -> bool:
        return test(float(text_of(left) or 0), float(text_of(right) or 0))

    return compare


def _equals(left: object, *others: object) -> bool:
    return any(text_of(left) == text_of(other) for other in others)


def _of_text(act: Callable[..., object]) -> Callable[..., object]:
    """Return a function whose arguments are all taken as text."""
    return lambda *values: act(*map(text_of, values))


_TAKE_OPEN = frozenset({"default", "or", "and", "coalesce", "quote", "squote"})
FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "add": _sum,
    "add1": lambda value: _number(value) + 1,
    "and": _all_true,
    "ceil": lambda value: -(-float(text_of(value)) // 1),
    "coalesce": _first_true,
    "contains": _of_text(lambda part, text: part in text),
    "default": _default,
    "dict": _dict,
    "div": _quotient,
    "empty": lambda value: not _is_true(value),
    "eq": _equals,
    "first": lambda value: _index(value, 0),
    "float64": lambda value: float(text_of(value) or 0),
    "floor": lambda value: float(text_of(value)) // 1,
    "ge": _compared(lambda left, right: left >= right),
    "get": lambda value, key: _index(value, key),
    "gt": _compared(lambda left, right: left > right),
    "hasKey": lambda value, key: isinstance(value, Mapping) and text_of(key) in value,
    "hasPrefix": _of_text(lambda part, text: text.startswith(part)),
    "hasSuffix": _of_text(lambda part, text: text.endswith(part)),
    "indent": _indented,
    "index": _index,
    "int": _number,
    "int64": _number,
    "join": lambda sign, items: text_of(sign).join(
        map(text_of, items if isinstance(items, list) else [items])
    ),
    "keys": lambda value: [*value] if isinstance(value, Mapping) else [],
    "last": lambda value: value[-1] if isinstance(value, list) and value else None,
    "le": _compared(lambda left, right: left <= right),
    "len": _length,
    "list": lambda *values: [*values],
    "lower": _of_text(str.lower),
    "lt": _compared(lambda left, right: left < right),
    "max": lambda *values: max(map(_number, values)),
    "min": lambda *values: min(map(_number, values)),
    "mod": lambda left, right: _number(left) % _number(right),
    "mul": _product,
    "ne": lambda left, right: not _equals(left, right),
    "nindent": lambda count, text: "\n" + _indented(count, text),
    "not": lambda value: not _is_true(value),
    "or": _first_true,
    "print": lambda *values: "".join(map(text_of, values)),
    "printf": _printed,
    "quote": lambda *values: " ".join(f'"{text_of(item)}"' for item in values),
    "replace": _of_text(lambda old, new, text: text.replace(old, new)),
    "required": lambda _, value: Open("a required value") if value is None else value,
    "splitList": _of_text(lambda sign, text: text.split(sign)),
    "squote": lambda *values: " ".join(f"'{text_of(item)}'" for item in values),
    "sub": lambda left, right: _number(left) - _number(right),
    "ternary": lambda yes, no, test: yes if _is_true(test) else no,
    "toJson": _json,
    "toString": text_of,
    "toYaml": _yaml,
    "trim": _of_text(str.strip),
    "trimPrefix": _of_text(lambda part, text: text.removeprefix(part)),
    "trimSuffix": _of_text(lambda part, text: text.removesuffix(part)),
    "trunc": lambda count, text: text_of(text)[: _number(count)],
    "until": _until,
    "upper": _of_text(str.upper),
}
