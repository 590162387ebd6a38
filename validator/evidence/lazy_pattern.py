"""Regular expressions that are compiled when they are first used.

A module's patterns are compiled as it is imported, each in 0.05 to 0.5 ms; a run uses
few of those for errors, for rare syntax and for positions.
"""

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

_compile = re.compile
_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "split")


class _LazyPattern:
    """Becomes the pattern when it is first used: takes over its methods."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:  # what is not here yet
        compiled = _compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return what `re.compile` gives, for all that its methods can do.

    Not for functions that ask for a pattern: `re.sub(pattern, ...)`.
    """
    return cast("re.Pattern[str]", _LazyPattern(text, flags))


@contextmanager
def importing_lazily() -> Generator[None]:
    """Give modules that are imported within it lazy patterns from `re.compile`.

    For a library whose import compiles much that a run does not use. Does nothing in
    a process with several threads: another one may compile a pattern meanwhile.
    """
    threads = sys.modules.get("threading")
    if threads is not None and threads.active_count() > 1:
        yield
        return
    re.compile = lazy_pattern  # type: ignore[assignment]
    try:
        yield
    finally:
        re.compile = _compile
