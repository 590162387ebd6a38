"""The text of an interpolation: where it begins and ends, and what its parts are."""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record

_RESOLVER = lazy_pattern(r"\s*([A-Za-z_][\w.]*)\s*:")
_QUOTES = "\"'"
_OPENING, _CLOSING = "({[", ")}]"
_SHORTEST_QUOTED = 2


class MalformedText(Exception):  # noqa: N818 - a fact about the file
    """Brackets that do not match."""


class Expression(Record):
    """One `${...}`: a resolver with the text of its arguments, or a reference."""

    resolver: str | None
    body: str


def pieces(text: str) -> list[str | Expression]:
    r"""A text as plain stretches and expressions; `\${` is plain.

    Raises MalformedText for a `${` that no bracket closes.
    """
    found: list[str | Expression] = []
    plain = ""
    position = 0
    while (start := text.find("${", position)) >= 0:
        if text[start - 1 : start] == "\\":
            plain += text[position : start - 1] + "${"
            position = start + 2
            continue
        plain += text[position:start]
        if plain:
            found.append(plain)
            plain = ""
        stop = _closing(text, start + 2)
        found.append(_expression(text[start + 2 : stop]))
        position = stop + 1
    plain += text[position:]
    if plain:
        found.append(plain)
    return found


def _closing(text: str, start: int) -> int:
    """Where the bracket closes that stands open at `start`."""
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
    """The arguments of a resolver, at the commas outside brackets and quotes."""
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
    """A text without the quotes around it."""
    is_quoted = (
        len(text) >= _SHORTEST_QUOTED and text[0] == text[-1] and text[0] in _QUOTES
    )
    return text[1:-1] if is_quoted else text
