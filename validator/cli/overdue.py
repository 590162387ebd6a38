"""Ends a run that does not end: a file system that is gone must not hold up a node.

Probes and measurements are killed when their time is up. What preflight itself does -
read files of a job, write what it found - may hang as well, on a server that does not
answer. A thread that waits beside it then says so and ends the process.
"""

import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

LEAST_SECONDS = 10.0
_LAST_SECONDS = 3.0  # for the last words: they may hang, too
_INCONCLUSIVE = 3


def overdue_after(budget_seconds: float) -> float:
    """When a run is overdue: it had twice its budget, or ten seconds more than it."""
    return budget_seconds + max(budget_seconds, LEAST_SECONDS)


@contextmanager
def ended_when_overdue(
    seconds: float, last_words: Callable[[float], int]
) -> Generator[None]:
    """End the process where the block is not over after so long.

    Args:
        seconds: how long it may take.
        last_words: says why; returns the exit code.

    """

    def end() -> None:
        last = threading.Timer(_LAST_SECONDS, os._exit, (_INCONCLUSIVE,))
        last.daemon = True
        last.start()
        code = _INCONCLUSIVE
        try:
            code = last_words(seconds)
        finally:
            os._exit(code)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
