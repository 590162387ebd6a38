"""Templates of Go, as Helm renders them: text with actions in `{{ }}`.

The subset that charts of training jobs use: fields of values, variables, pipelines,
`if`, `range`, `with`, `define` with `include`, and the functions below. What only an
installation knows (the name of a release, the time, a random word) stays open in the
text as `${expression}`; a block whose condition is open is not rendered, and named.
Sources: Go text/template; helm.sh/docs/chart_template_guide; Masterminds/sprig v3.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.template_functions import (
    FUNCTIONS,
    MOST_CHARACTERS,
    NEED_NUMBERS,
    TAKE_OPEN,
    OpenValue,
    TemplateFault,
    demand_bounds,
    is_true,
    text_of,
)

_MOST_STEPS = 100_000
_DEEPEST = 40
_TOKEN = lazy_pattern(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*\"|`[^`]*`)"
    r"|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<field>(?:\$\w*)?(?:\.\w+)+|\$\w*|\.)"
    r"|(?P<name>\w+)"
    r"|(?P<sign>:=|=|[|(),]))"
)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_ESCAPE = lazy_pattern(r"\\(.)")


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
    while (start := text.find("{{", position)) >= 0:
        end = text.find("}}", start)
        if end < 0:
            break
        words = text[start + 2 : end]
        trims_before = words[:1] == "-" and words[1:2].isspace()
        plain = text[position:start]
        yield from _plain(plain, line, left=trims, right=trims_before)
        line += plain.count("\n")
        trims = words[-1:] == "-" and words[-2:-1].isspace()
        bare = words[trims_before : len(words) - trims].strip()
        if not bare.startswith("/*"):
            yield _Action(bare, line)
        line += words.count("\n")
        position = end + 2
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
        msg = f"line {actions[position].line}: {{{{ end }}}} of nothing"
        raise TemplateFault(msg)
    return parts


def _parts(
    actions: Sequence[_Action], position: int, depth: int
) -> tuple[tuple[_Part, ...], int]:
    """Return the parts up to an `else` or `end` of an outer block, and where it is."""
    if depth > _DEEPEST:
        msg = "blocks nest too deep"
        raise TemplateFault(msg)
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
        msg = f"line {action.line}: a block without its end"
        raise TemplateFault(msg)
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
        for piece, first, is_text in pieces:
            ended = 0
            for row in piece.splitlines(keepends=True):
                if is_start:
                    lines.append(first + (ended if is_text else 0))
                is_start = row.endswith("\n")
                ended += is_start
        whole = "".join(piece for piece, _, _ in pieces)
        return Rendered(whole, (*lines,), (*self._unseen,))

    def spend(self, steps: int, characters: int = 0) -> None:
        """Count work; raise TemplateFault where it is more than is done."""
        self._steps += steps
        self._length += characters
        if self._steps > _MOST_STEPS or self._length > MOST_CHARACTERS:
            msg = "it renders to more than is read"
            raise TemplateFault(msg)

    def _all(
        self, parts: Sequence[_Part], dot: object, names: dict[str, object]
    ) -> Iterator[tuple[str, int, bool]]:
        """Yield rendered pieces, each with its line and whether it stands there."""
        for part in parts:
            self.spend(1)
            if isinstance(part, _Block):
                yield from self._rendered_block(part, dot, names)
            elif part.is_text:
                self.spend(0, len(part.text))
                yield part.text, part.line, True
            else:
                value = self._action(part, dot, names)
                text = "" if value is _NOTHING else text_of(value)
                self.spend(0, len(text))
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
        if isinstance(value, OpenValue):
            self._unseen[block.action.line, value.expression] = None
            return
        # A variable that a block declares is gone behind it; one that it sets is not.
        if word == "range":
            rows = _rows(value)
            for key, item in rows:
                self.spend(1)
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
        body = block.body if is_true(value) else block.otherwise
        inner = value if word == "with" and is_true(value) else dot
        yield from self._all(body, inner, names)

    def include(self, name: object, data: object) -> object:
        """Return a named template rendered with data."""
        if isinstance(name, OpenValue) or str(name) not in self.named:
            return OpenValue(f"include {text_of(name)}")
        self._depth += 1
        if self._depth > _DEEPEST:
            msg = "templates include each other without an end"
            raise TemplateFault(msg)
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
        self._renderer.spend(1)
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
            return _WORDS[text] if text in _WORDS else self._called(text, ())
        return self._bracket(text)

    def _bracket(self, text: str) -> object:
        """Return the value of `(...)`, or of a field of it: `(index .a 0).b`."""
        if text != "(":
            self._refuse(f"{text!r} is not read")
        value = self.pipeline()
        if self._sign() != ")":
            self._refuse("a bracket that does not close")
        self._at += 1
        kind, steps = (*self.tokens[self._at : self._at + 1], ("", ""))[0]
        if kind == "field" and steps.startswith(".") and len(steps) > 1:
            self._at += 1
            return _step(value, steps[1:].split("."), f"(...){steps}")
        return value

    def _field(self, text: str) -> object:
        root, *steps = text.split(".")
        if text == ".":
            return self._dot
        if root:
            if root not in self._names:
                return OpenValue(text)
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
            return OpenValue("tpl")
        function = FUNCTIONS.get(name)
        is_open = name not in TAKE_OPEN and any(
            isinstance(item, OpenValue) for item in values
        )
        is_unset = name in NEED_NUMBERS and None in values
        if function is None or is_open or is_unset:
            shown = " ".join([name, *(text_of(item) for item in values)])
            return OpenValue(shown[:80].replace("${", "").replace("}", ""))
        try:
            return demand_bounds(function(*values))
        except (TypeError, ValueError, IndexError, ArithmeticError) as error:
            self._refuse(f"{name}: {error}")

    def _refuse(self, what: str) -> NoReturn:
        msg = f"line {self._line}: {what}"
        raise TemplateFault(msg)


class _Method(Record):
    """A function that a field names."""

    function: Callable[[object], object]

    def call(self, values: tuple[object, ...]) -> object:
        """Return what it gives for its only argument."""
        return self.function(values[0]) if values else ""


_WORDS: dict[str, object] = {"true": True, "false": False, "nil": None}


def _tokens(action: _Action) -> Iterator[tuple[str, str]]:
    position, text = 0, action.text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            shown = text[position : position + 20]
            msg = f"line {action.line}: {shown!r} is not read"
            raise TemplateFault(msg)
        yield match.lastgroup, match[match.lastgroup]
        position = match.end()


def _unquoted(text: str) -> str:
    if text[0] == "`":
        return text[1:-1]
    return _ESCAPE.sub(lambda sign: _ESCAPES.get(sign[1], sign[0]), text[1:-1])


def _step(value: object, steps: Sequence[str], text: str) -> object:
    for step in steps:
        if isinstance(value, OpenValue):
            return OpenValue(text.lstrip("$"))
        value = value.get(step) if isinstance(value, Mapping) else None
    return OpenValue(text.lstrip("$")) if isinstance(value, OpenValue) else value


def _rows(value: object) -> list[tuple[object, object]]:
    if isinstance(value, Mapping):
        return sorted(value.items(), key=lambda row: str(row[0]))
    if isinstance(value, list):
        return [*enumerate(value)]
    return [*enumerate(range(value))] if isinstance(value, int) else []
