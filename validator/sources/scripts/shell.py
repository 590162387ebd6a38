"""A static reader of shell scripts: bash, sh, sbatch and environment files.

Nothing of a script is ever run. It is read as a shell would read it, and what only a
running shell could know (the output of commands, files, the environment) is unknown.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.scripts.static_shell.script import (
    Assignment,
    Command,
    Directive,
    Lines,
    Problem,
    Script,
    Word,
)

__all__ = [
    "Assignment",
    "Command",
    "Directive",
    "Option",
    "Problem",
    "Script",
    "Word",
    "directives",
    "options",
    "parse_script",
]

# Scripts that people write have some kilobytes; this one is data.
MAX_CHARACTERS = 5_000_000

_NUMBER = lazy_pattern(r"-\.?[0-9]")
_NOTHING_KNOWN: Mapping[str, str] = MappingProxyType({})

Option = tuple[str, tuple[Word, ...], Word]
"""A flag, its values, and the word that holds the flag."""


def parse_script(text: str, known: Mapping[str, str] = _NOTHING_KNOWN) -> Script:
    """Read a script.

    Never raises on what a shell would refuse: what can be read is kept, and the rest
    is noted in `Script.problems`.

    Args:
        text: the script; what is beyond MAX_CHARACTERS is not read.
        known: values of variables that come from outside, such as `SLURM_NNODES`.
    """
    # Most runs read no script, so that what reads one is imported with the first.
    from speccheck.validator.sources.scripts.static_shell.flow import Flow  # noqa: PLC0415

    flow = Flow(with_unix_lines(text[:MAX_CHARACTERS]), known)
    if len(text) > MAX_CHARACTERS:
        flow.report(f"only {MAX_CHARACTERS} characters are read", MAX_CHARACTERS)
    if "\r\n" in text:
        flow.report("lines end with a carriage return, which a shell does not skip", 0)
    return flow.script()


def directives(text: str) -> tuple[Directive, ...]:
    """The `#SBATCH` options of a script alone, for what they say of `known` values."""
    from speccheck.validator.sources.scripts.static_shell.directives import (  # noqa: PLC0415
        read_directives,
    )

    text = with_unix_lines(text[:MAX_CHARACTERS])
    return tuple(read_directives(text, Lines(text)))


def with_unix_lines(text: str) -> str:
    """The text with a blank in place of each carriage return, so that places hold."""
    if "\r" not in text:
        return text
    return text.replace("\\\r\n", " \\\n").replace("\r\n", " \n")


def options(words: Sequence[Word]) -> tuple[Option, ...]:
    """The options among the words of a command.

    Which flags take a value is not known here: a flag is given all words up to the
    next one. Words before the first flag are left out. `-1` and `-5e-3` are values;
    `--` is neither.
    """
    found: list[Option] = []
    flag: Word | None = None
    name = ""
    values: list[Word] = []
    for word in words:
        text = word.text
        if not text.startswith("-") or text == "-" or _NUMBER.match(text):
            values.append(word)
            continue
        if flag is not None:
            found.append((name, tuple(values), flag))
        flag, values = (None, []) if text == "--" else (word, [])
        name = text
        if text.startswith("--") and "=" in text:
            name = text.partition("=")[0]
            values = [_value_of(word, len(name) + 1)]
    if flag is not None:
        found.append((name, tuple(values), flag))
    return tuple(found)


def _value_of(word: Word, length: int) -> Word:
    """The word after the first characters `--flag=` of another."""
    text = word.text[length:]
    if word.raw[:length] != word.text[:length]:
        return word._replace(text=text)
    return Word(
        text,
        word.line,
        word.column + length,
        word.length - length,
        word.resolved,
        word.raw[length:],
    )
