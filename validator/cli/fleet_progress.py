"""How far a long run is, on a terminal."""

import sys
import time
from typing import TextIO

_SECONDS_BEFORE = 1.0  # short runs show nothing
_SECONDS_BETWEEN = 0.1
_WIDTH = 30


class Progress:
    """A bar on standard error; nothing where that is no terminal."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        """Begin; total: how many nodes there are, 0 where that is not known."""
        self._stream = stream or sys.stderr
        self._total = total
        self._done = 0
        self._is_shown = False
        self._next = time.monotonic() + _SECONDS_BEFORE
        self._is_on = self._stream.isatty()

    def add(self, count: int) -> None:
        """So many more are done."""
        self._done += count
        if self._is_on and time.monotonic() >= self._next:
            self._next = time.monotonic() + _SECONDS_BETWEEN
            self._is_shown = True
            self._stream.write(f"\r{self._text()}\x1b[K")
            self._stream.flush()

    def _text(self) -> str:
        if not self._total:
            return f"judged {self._done:,} nodes"
        done = min(self._done, self._total)
        filled = _WIDTH * done // self._total
        bar = "#" * filled + "." * (_WIDTH - filled)
        return f"judged {done:,} of {self._total:,} [{bar}]"

    def close(self) -> None:
        """Take the bar away."""
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
