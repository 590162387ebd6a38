"""How much of a file is read, and the errors for files that hold more."""

import sys

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.document import LineTable, ReadError

# Of 588 published configurations the deepest, a Kubernetes training runtime, nests 16
# levels. Every walk over a document may recurse to this depth.
MAXIMUM_DEPTH = 100
# Duplicates are shown one by one: nobody reads more of them.
MAXIMUM_DUPLICATES = 1_000

_STRING_OR_BRACKET = lazy_pattern(r"\"(?:[^\"\\\n]++|\\.)*+\"?|([\[{])|([\]}])")
_LONG_INTEGER = lazy_pattern(r"\d[\d_]{4300}")


def too_deep(name: str, at: tuple[int, int] | None = None) -> ReadError:
    """The error for a text that nests deeper than the limit."""
    return ReadError(
        name,
        "too_deep",
        f"mappings and lists nest deeper than {MAXIMUM_DEPTH} levels",
        "give a training configuration: 16 levels are the most seen in one",
        at,
    )


def too_deep_in_brackets(name: str, text: str) -> ReadError:
    """The same for JSON and TOML, whose brackets show the place."""
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        depth += bool(found[1]) - bool(found[2])
        if depth > MAXIMUM_DEPTH:
            return too_deep(name, LineTable(text).place(found.start()))
    return too_deep(name)


def long_integer(name: str, text: str) -> ReadError:
    """The error for an integer in a text that Python refuses to convert."""
    found = _LONG_INTEGER.search(text)
    return ReadError(
        name,
        "syntax",
        f"an integer of more than {sys.get_int_max_str_digits():,} digits",
        "correct the number",
        LineTable(text).place(found.start()) if found else None,
    )


def demand_depth(name: str, text: str, data: object) -> None:
    """Raise ReadError (too_deep) where the data of a text nest too deep."""
    level = [data]
    for _ in range(MAXIMUM_DEPTH):
        level = [
            child
            for container in level
            for child in _children(container)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise too_deep_in_brackets(name, text)


def _children(container: object) -> list[object]:
    if isinstance(container, dict):
        return list(container.values())
    return container if isinstance(container, list) else []
