"""Completion for zsh: `eval "$(speccheck completion zsh)"`."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.cli.completion.grammar import (
    Command,
    Words,
    long_lists,
    takes_a_file,
    values_of,
)
from speccheck.validator.cli.option_table import Option

_FIRST = """\
#compdef speccheck
# Completion of speccheck in zsh. In ~/.zshrc, after compinit:
#   eval "$(speccheck completion zsh)"
"""
_HEAD = """\
_speccheck() {
  local command=''
  case "${words[2]-}" in
"""
_TAIL = """\
  esac
}
compdef _speccheck speccheck
"""


def script(commands: Sequence[Command]) -> Iterator[str]:
    """The script, line by line."""
    lists = long_lists(commands)
    yield _FIRST
    yield from (f"{name}='{' '.join(words)}'\n" for words, name in lists.items())
    yield _HEAD
    parents = dict.fromkeys(one.name[0] for one in commands if len(one.name) > 1)
    alone = [one.name[0] for one in commands if len(one.name) == 1]
    yield f"    {'|'.join(alone)}) (( CURRENT > 2 )) && command=$words[2] ;;\n"
    yield f'    {"|".join(parents)}) (( CURRENT > 2 )) && command="$words[2] ?"\n'
    yield '      (( CURRENT > 3 )) && command="$words[2] $words[3]" ;;\n'
    yield '  esac\n  case "$command" in\n'
    for name in parents:
        following = [one.name[1] for one in commands if one.name[:1] == (name,)]
        yield f"    '{name} ?') compadd -- {' '.join(following)} ;;\n"
    for command in commands:
        yield from _of_command(command, commands, lists)
    yield _TAIL


def _of_command(
    command: Command, commands: Sequence[Command], lists: Mapping[Words, str]
) -> Iterator[str]:
    name = " ".join(command.name)
    yield f"    '{name}')\n"
    if not command.name:
        first = dict.fromkeys(one.name[0] for one in commands if one.name)
        yield f"      (( CURRENT == 2 )) && compadd -- {' '.join(first)}\n"
    skipped = len(command.name)
    if skipped:
        yield f"      shift {skipped} words; (( CURRENT -= {skipped} ))\n"
    specifications: list[str] = [
        _of_option(command, one, lists) for one in command.options
    ]
    if command.operands:
        specifications.append(_quoted(f"*:name:({' '.join(command.operands)})"))
    elif command.takes_files:
        specifications.append("'*:file:_files'")
    lines = " \\\n        ".join(specifications)
    yield f"      _arguments {lines or ':'} ;;\n"


def _of_option(command: Command, option: Option, lists: Mapping[Words, str]) -> str:
    text = option.help.replace("\\", "\\\\").replace("[", r"\[").replace("]", r"\]")
    text = text.replace(":", r"\:")
    again = "*" if option.repeatable else ""
    if option.kind == "switch":
        return _quoted(f"{again}{option.flag}[{text}]")
    words = values_of(command, option)
    action = f"({' '.join(words)})" if words else " "
    if takes_a_file(option):
        action = "_files"
    begin = f"{again}{option.flag}=[{text}]:{option.metavar.lower() or 'value'}:"
    if words in lists:
        return _quoted(f"{begin}(") + f'"${lists[words]})"'
    return _quoted(begin + action)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
