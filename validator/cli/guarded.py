"""Runs a command so that every error is one line on standard error."""

import sys
from collections.abc import Callable

from speccheck.validator.cli.request import BUG, bug_message, passes_on
from speccheck.validator.report.style import printable

_USAGE = 2


def guarded(
    run: Callable[[], int],
    refusals: tuple[type[Exception], ...],
    command: str = "",
) -> int:
    """The exit code of a command; 2 for what it refuses, 4 for what nobody expected.

    command: that the line begins with, where the name of the program is not enough.
    """
    said = f"speccheck: {command}: " if command else "speccheck: "
    try:
        return run()
    except refusals as error:
        sys.stderr.write(f"{said}{printable(str(error))}\n")
        return _USAGE
    except Exception as error:
        if passes_on(error):
            raise
        sys.stderr.write(f"speccheck: {printable(bug_message(error))}\n")
        return BUG
