"""The command line. `speccheck FILE...` stays off pydantic, rich and other commands."""

import gc
import os
import sys

from speccheck.validator import VERSION

_SIGNAL_INTERRUPT = 130
_READER_GONE = 141
_NOT_PRINTED = 2

# Words by which other programs judge files.
_SYNONYMS = {
    "lint": "check",
    "validate": "check",
    "verify-config": "check",
    "scan": "check",
    "test": "check",
    "doctor": "preflight",
    "health": "preflight",
    "rule": "explain",
    "estimate": "plan",
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if arguments is not None:
        return _ending(arguments)
    # The process is ours and short, and what a run makes holds itself nowhere: the
    # collector would look at each of its objects several times, and once more at the
    # end, and find nothing. That is a sixth of the time for one file.
    gc.disable()
    code = _ending(sys.argv[1:])
    gc.freeze()
    return code


def _ending(words: list[str]) -> int:
    try:
        return _dispatch(words)
    except KeyboardInterrupt:
        return _SIGNAL_INTERRUPT
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nobody is left to tell, and a
        # verdict that nobody read is no pass. The code is that of other programs.
        sys.stderr.close()
        return _READER_GONE


def run() -> None:
    """Run the program: `main`, and an end without taking the interpreter apart.

    To free every module and object one by one costs a tenth of a short run, and the
    process is about to end anyway; mypy ends the same way.
    """
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _READER_GONE
    except OSError:
        code = code or _NOT_PRINTED  # a full disk, which was told where it was met
    os._exit(code)


def _dispatch(words: list[str]) -> int:
    if words in (["--version"], ["-V"]):
        print(f"speccheck {VERSION}")  # noqa: T201 - the command line prints
        return 0
    if not words or words[0] in {"-h", "--help"}:
        from speccheck.validator.cli.help import first_page  # noqa: PLC0415

        print(first_page(), end="")  # noqa: T201
        return 0 if words else 2
    if words[0].isalpha():  # a command, or a file or folder of such a name
        from speccheck.validator.cli.command_table import command_of  # noqa: PLC0415

        command = command_of(words)
        if command is not None:
            from speccheck.validator.cli.guarded import run_command  # noqa: PLC0415

            return run_command(command, words[len(command.words) :])
    if not {"-h", "--help"}.isdisjoint(_before_files(words)):
        from speccheck.validator.cli.command_table import (  # noqa: PLC0415
            COMMANDS,
            help_of,
        )

        print(help_of(COMMANDS[0]), end="")  # noqa: T201
        return 0
    is_word = words[0][:1].isalpha() and words[0].replace("-", "").isalpha()
    if is_word and not os.path.lexists(words[0]):
        refused = _refused_command(words)
        if refused is not None:
            return refused
    from speccheck.validator.cli.plain import judge_files  # noqa: PLC0415

    return judge_files(words)


def _before_files(words: list[str]) -> list[str]:
    """Return the words that may be options."""
    return words[: words.index("--")] if "--" in words else words


def _refused_command(words: list[str]) -> int | None:
    """Return the exit code for a misspelt command; None where none is near.

    No file has that name.
    """
    from speccheck.validator.cli.command_table import COMMANDS  # noqa: PLC0415
    from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

    word = words[0]
    known = [command.words[0] for command in COMMANDS if command.words]
    close = _SYNONYMS.get(word.lower()) or nearest(word.lower(), known)
    if close is None:
        return None
    from speccheck.validator.cli.reports import outputs_in, refuse  # noqa: PLC0415

    message = f"no command and no file {word}: did you mean speccheck {close}?"
    return refuse(message, outputs_in(words))


if __name__ == "__main__":
    run()
