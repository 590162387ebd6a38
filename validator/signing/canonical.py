"""Canonical JSON: for each value exactly one text, and a reader that takes no other.

UTF-8, keys sorted by code point, no blanks, no escapes that are not needed, numbers as
Python writes them, no NaN and no infinity. A signature is over bytes: were two texts of
one value both accepted, a byte could change and nobody would be told.
"""

import json
import math
import re
from typing import NoReturn

from speccheck.validator.signing.faults import NotCanonicalError

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

MOST_BYTES = 64 * 1024 * 1024
MOST_DEPTH = 64
_MOST_DIGITS = 4300  # of an integer, as Python reads them
_SHOWN_CHARACTERS = 24  # of what was found, in a message
_LEXEME = re.compile(r'"(?:[^"\\]+|\\.)*+"?|[{}\[\]]|NaN|-?Infinity', re.DOTALL)


def canonical(value: object) -> bytes:
    """The one text of a value; raises NotCanonicalError for what has none."""
    _refuse_other(value, "$", MOST_DEPTH)
    try:
        return _text(value).encode("utf-8")
    except UnicodeEncodeError:
        message = "half of a surrogate pair, which UTF-8 cannot hold"
        raise NotCanonicalError(message) from None
    except ValueError:
        message = f"an integer of more than {_MOST_DIGITS:,} digits"
        raise NotCanonicalError(message) from None


def read_canonical(
    content: bytes, most_bytes: int = MOST_BYTES, most_depth: int = MOST_DEPTH
) -> Json:
    """The value of a canonical text; raises NotCanonicalError with line and column."""
    if len(content) > most_bytes:
        message = f"{len(content):,} bytes; at most {most_bytes:,} are read"
        raise NotCanonicalError(message)
    text = _decoded(content)
    _refuse_structure(text, most_depth)
    try:
        value: Json = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"no JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise NotCanonicalError(message, place=place_of(text, error.pos)) from None
    except ValueError:
        message = f"an integer of more than {_MOST_DIGITS:,} digits"
        raise NotCanonicalError(message) from None
    if text != (written := _text(value)):
        _refuse_difference(text, written)
    return value


def place_of(text: str, offset: int) -> str:
    """Line and column of a character, both from 1."""
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return f"line {line}, column {column}"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        message = f"byte 0x{content[error.start]:02x} is no UTF-8"
        raise NotCanonicalError(message, place=place_of(before, len(before))) from None


def _refuse_other(value: object, path: str, depth: int) -> None:
    """Refuse what JSON would turn into something else, or cannot hold."""
    if depth < 0:
        message = f"{path[: _SHOWN_CHARACTERS * 2]}...: deeper than {MOST_DEPTH} levels"
        raise NotCanonicalError(message)
    if isinstance(value, dict):
        for key, one in value.items():
            if not isinstance(key, str):
                message = f"{path}: a key is {type(key).__name__}, and must be a text"
                raise NotCanonicalError(message)
            _refuse_other(one, f"{path}.{key}", depth - 1)
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            _refuse_other(one, f"{path}[{index}]", depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        message = f"{path}: {value}, which JSON cannot hold"
        raise NotCanonicalError(message)
    elif value is not None and not isinstance(value, str | int | float | bool):
        message = f"{path}: {type(value).__name__}, which JSON cannot hold"
        raise NotCanonicalError(message)


def _refuse_structure(text: str, most_depth: int) -> None:
    """Refuse depth, keys that stand twice, and NaN, each at its place.

    Whether the text is JSON at all is not asked here: json.loads would take each of
    these without a word, or give up on the stack.
    """
    open_keys: list[set[str]] = []
    for match in _LEXEME.finditer(text):
        lexeme, offset = match[0], match.start()
        if lexeme in "{[":
            open_keys.append(set())
            if len(open_keys) > most_depth:
                message = f"deeper than {most_depth} levels"
                raise NotCanonicalError(message, place=place_of(text, offset))
        elif lexeme in "}]":
            if open_keys:
                open_keys.pop()
        elif lexeme[0] != '"':
            message = f"{lexeme}, which is no number of JSON"
            raise NotCanonicalError(message, place=place_of(text, offset))
        elif text[match.end() : match.end() + 1] == ":" and open_keys:
            if lexeme in open_keys[-1]:
                message = f"the key {_shown(lexeme)} stands twice in one object"
                raise NotCanonicalError(message, place=place_of(text, offset))
            open_keys[-1].add(lexeme)


def _refuse_difference(text: str, written: str) -> NoReturn:
    """Refuse a text that is not as its own value is written."""
    pairs = zip(text, written, strict=False)
    shortest = min(len(text), len(written))
    offset = next((i for i, (a, b) in enumerate(pairs) if a != b), shortest)
    found = _shown(text[offset:]) or "the end"
    wanted = _shown(written[offset:]) or "the end"
    message = f"not canonical: {found} where canonical JSON has {wanted}"
    remedy = "nothing may be changed after signing, not even blanks"
    raise NotCanonicalError(message, remedy, place_of(text, offset))


def _shown(text: str) -> str:
    """The beginning of a text, with what is not printed in view."""
    if not text:
        return ""
    begin = text[:_SHOWN_CHARACTERS]
    more = "..." if len(text) > len(begin) else ""
    if begin.isprintable() and begin[0] != " ":
        return f"{begin}{more}"
    return f"{begin!r}{more}"
