"""Runs a command of the table, so that every error is one line on standard error."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.cli.command_line import UsageError, parse
from speccheck.validator.cli.settings.files import SettingsError
from speccheck.validator.editions.compose import UnknownProfile
from speccheck.validator.editions.edition import UnknownEdition
from speccheck.validator.engine.request import (
    TailoringFault,
    UnknownSelection,
    WaiverFault,
)
from speccheck.validator.report.style import printable
from speccheck.validator.report.write import WriteError, write
from speccheck.validator.run.run import NoSnapshot
from speccheck.validator.sources.files import UnknownFormat
from speccheck.validator.sources.reader import PluginFault

if TYPE_CHECKING:
    from speccheck.validator.cli.command_table import Command

USAGE, BUG = 2, 4
# What a command line or the files that it names may have wrong: exit code 2.
REFUSALS = (
    UsageError,
    UnknownName,
    UnknownFormat,
    NoSnapshot,
    UnknownProfile,
    UnknownEdition,
    UnknownSelection,
    SettingsError,
    PluginFault,
    WaiverFault,
    TailoringFault,
    WriteError,
)


def passes_on(error: Exception) -> bool:
    """Return whether an unexpected exception is for `main`, and no bug in one line.

    The reader of our output went away, or the user asked to see where it comes from.
    """
    wants_traceback = bool(os.environ.get("SPECCHECK_TRACEBACK"))
    return wants_traceback or isinstance(error, BrokenPipeError)


def bug_message(error: Exception) -> str:
    """Return one line for an exception that nobody expected."""
    return (
        f"a bug of speccheck: {type(error).__name__}: {error}; "
        "SPECCHECK_TRACEBACK=1 shows where"
    )


def guarded(
    run: Callable[[], int],
    refusals: tuple[type[Exception], ...] = (),
    command: str = "",
) -> int:
    """Return the exit code of a command: 2 for what it refuses, 4 for a bug.

    Args:
        run: the command.
        refusals: by which it says what is wrong, beside those of all commands; an
            attribute `code` of an exception is the exit code in place of 2.
        command: that the line begins with, where the name of the program is not enough.

    """
    text = f"speccheck: {command}: " if command else "speccheck: "
    refused: tuple[type[Exception], ...] = (*REFUSALS, *refusals)
    try:
        return run()
    except refused as error:
        shown = "\n".join(map(printable, str(error).split("\n")))
        sys.stderr.write(f"{text}{shown}\n")
        return int(getattr(error, "code", USAGE))
    except Exception as error:
        if passes_on(error):
            raise
        sys.stderr.write(f"speccheck: {printable(bug_message(error))}\n")
        return BUG


def run_command(command: "Command", words: list[str]) -> int:
    """Run a command with the words that follow it; returns the exit code."""
    # Not for `speccheck FILE`.
    from speccheck.validator.cli.command_table import help_of  # noqa: PLC0415

    if {"-h", "--help"} & {*words[: words.index("--") if "--" in words else None]}:
        write(help_of(command), None)
        return 0
    if not words and (command.is_empty_help or not command.run):
        write(help_of(command), None)
        return USAGE
    if not command.run:
        return guarded(lambda: _refuse_member(command, words[0]))
    module_name, _, function = command.run.partition(":")
    module = import_module(f"speccheck.validator.cli.{module_name}")
    run = getattr(module, function)
    if command.takes_words:
        code: int = run(words, command)
        return code
    refusals: tuple[type[Exception], ...] = getattr(module, "REFUSED", ())
    return guarded(
        lambda: run(parse(words, command.options, command.name, command.formats)),
        refusals,
        command.name if command.names_itself else "",
    )


def _refuse_member(group: "Command", word: str) -> int:
    from speccheck.validator.cli.command_table import members_of  # noqa: PLC0415

    names = [member.words[-1] for member in members_of(group)]
    two = len(names) == 2  # noqa: PLR2004 - "or" stands between two
    known = (" or " if two else ", ").join(names)
    message = f"{group.name} {word}: must be {'' if two else 'one of '}{known}"
    raise UsageError(message)
