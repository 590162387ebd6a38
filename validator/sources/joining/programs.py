"""The Python programs that scripts start, and what they give them."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.launching import (
    last_options,
    may_hold_options,
    python_program,
)
from speccheck.validator.sources.python.command_line import (
    GivenOption,
    ProgramArguments,
)
from speccheck.validator.sources.shell.script import ShellCommand, ShellWord, options

_SUFFIX = ".py"


def programs(file: ReadFile) -> tuple[str, ...]:
    """Return the Python files that a script starts, as it names them.

    A script that states settings of its own is the configuration, not its program.
    """
    if file.source.language != "shell" or file.role == "config":
        return ()
    return tuple(dict.fromkeys(program.text for program, _ in _started(file)))


def command_line(program: str, scripts: Sequence[ReadFile]) -> ProgramArguments | None:
    """Return what a program is started with; None unless one command alone does it."""
    starts = [
        _given(script, words)
        for script in scripts
        for word, words in _started(script)
        if _base(word.text) == _base(program)
    ]
    return starts[0] if len(starts) == 1 else None


def _started(
    file: ReadFile,
) -> Iterator[tuple[ShellWord, Sequence[ShellWord]]]:
    """Yield the programs of a script, each with the words behind it."""
    for command in file.source.script.commands:
        program = _program(command)
        if program is not None and program.text.endswith(_SUFFIX):
            yield program, command.words[command.words.index(program) + 1 :]


def _program(command: ShellCommand) -> ShellWord | None:
    program = python_program(command)
    return program if program is not None and program.resolved else None


def _given(script: ReadFile, words: Sequence[ShellWord]) -> ProgramArguments:
    lists = options(words)
    given: Mapping[str, GivenOption] = {
        flag: GivenOption(
            tuple(word.text for word in values),
            word.resolved and all(value.resolved for value in values),
            next((item.only_if for item in (word, *values) if item.only_if), ""),
        )
        for flag, values, word in last_options(lists).values()
    }
    is_plain = not words or words[0].text.startswith("-")
    is_whole = is_plain and not any(
        may_hold_options(word) or "$@" in word.text or "$*" in word.text
        for word in words
    )
    line = words[0].line if words else 0
    place = f"line {line} of {_base(script.status.path)}" if line else ""
    return ProgramArguments(place or _base(script.status.path), given, is_whole)


def _base(path: str) -> str:
    return path.rpartition("/")[2]
