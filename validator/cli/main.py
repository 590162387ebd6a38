"""The command line. `speccheck FILE...` stays off pydantic, rich and other commands."""

import gc
import os
import sys

from speccheck.validator import VERSION

_SIGNAL_INTERRUPT = 130
_READER_GONE = 141
_NOT_PRINTED = 2

_USAGE = """\
usage: speccheck FILE|FOLDER|- ... [options]
       speccheck COMMAND ...

Judges the configuration of a large-scale training run - any of its files, together -
against the edition of the specification, and says what to change.

Commands:
"""
_FOLDER = (
    "  ./rules                    a folder or file that is called like a command\n"
)
EXIT_CODES = """\

Exit codes:
  0  nothing wrong was found, and nothing that the profile or --require needs is missing
  1  findings at or above --fail-on
  2  usage or settings are wrong, or an input could not be read
  3  not enough was seen: required evidence is missing, or nothing was judged
  4  a bug of speccheck
  130  interrupted
  141  the reader of the output went away
"""


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
    wants_help = words[:1] == ["plan"] and bool({"-h", "--help"} & {*words})
    if not words or wants_help or words[0] in {"-h", "--help", "help"}:
        print(_help(), end="")  # noqa: T201
        return 0 if words else 2
    if words[0].isalpha():  # a command, or a file or folder of such a name
        from speccheck.validator.cli.command_table import command_of  # noqa: PLC0415

        command = command_of(words)
        if command is not None:
            from speccheck.validator.cli.guarded import run_command  # noqa: PLC0415

            return run_command(command, words[len(command.words) :])
    from speccheck.validator.cli.plain import judge_files  # noqa: PLC0415

    return judge_files(words)


def usage() -> str:
    """Return the first part of the help: what the program does, and its commands."""
    from speccheck.validator.cli.command_table import commands_help  # noqa: PLC0415

    return f"{_USAGE}{commands_help()}\n{_FOLDER}"


def _help() -> str:
    from speccheck.validator.changes.what_if.assignments import names_help  # noqa: PLC0415
    from speccheck.validator.cli.option_table import options_help  # noqa: PLC0415
    from speccheck.validator.report.form import FORMS  # noqa: PLC0415

    forms = "\n".join(f"  {form.name:<26} {form.help}" for form in FORMS.values())
    return (
        f"{usage()}{options_help()}\n\nForms of a report (--output):\n{forms}\n\n"
        f"{names_help()}\n{EXIT_CODES}"
    )


if __name__ == "__main__":
    run()
