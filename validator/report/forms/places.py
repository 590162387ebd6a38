"""How other programs write where something stands."""

import os
from urllib.parse import quote

from speccheck.validator.engine.paths import path_within
from speccheck.validator.report.problems import clean

_KEPT = "/-._~"  # every other character is written as %XX, a colon too


def uri_of(file: str, root: str) -> str:
    """A file as a URI: relative to the root of the project; file: outside of it."""
    inside = path_within(file, root)
    if inside is not None:
        return quote(os.fsencode(inside), safe=_KEPT)
    return "file://" + quote(os.fsencode(os.path.abspath(file)), safe=_KEPT)


def byte_column(text: str, column: int) -> int:
    """A column of a line counted in bytes of UTF-8, from 1."""
    return len(text[: column - 1].encode("utf-8", "replace")) + 1


def path_of(path: str) -> str:
    """A path as a report names it."""
    return clean(path)
