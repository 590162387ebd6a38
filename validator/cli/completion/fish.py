"""Completion for fish: `speccheck completion fish | source`."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.cli.completion.grammar import (
    Command,
    Words,
    long_lists,
    takes_a_file,
    values_of,
)

_HEAD = """\
# Completion of speccheck in fish. In config.fish: speccheck completion fish | source
function __speccheck_command
    set -l words (commandline -opc) ''
    switch $words[2]
"""
_TAIL = """\
        case '*'
            echo
    end
end
complete -c speccheck -f
"""


def script(commands: Sequence[Command]) -> Iterator[str]:
    """The script, line by line."""
    lists = long_lists(commands)
    for words, variable in lists.items():
        yield f"set -g {variable} {' '.join(words)}\n"
    yield _HEAD
    parents = dict.fromkeys(one.name[0] for one in commands if len(one.name) > 1)
    alone = [one.name[0] for one in commands if len(one.name) == 1]
    yield f"        case {' '.join(alone)}\n            echo $words[2]\n"
    yield f"        case {' '.join(parents)}\n            echo $words[2] $words[3]\n"
    yield _TAIL
    first: dict[str, str] = {}
    for command in commands:
        if command.name:
            text = command.help if len(command.name) == 1 else ""
            first.setdefault(command.name[0], text)
    for name, text in first.items():
        yield _line("", f"-a {name}", text, only_first=True)
    for name in parents:
        for command in commands:
            if command.name[:1] == (name,):
                yield _line(f"{name} ", f"-a {command.name[1]}", command.help)
    for command in commands:
        yield from _of_command(command, lists)


def _of_command(command: Command, lists: Mapping[Words, str]) -> Iterator[str]:
    name = " ".join(command.name)
    if command.takes_files:
        yield _line(name, "-F", "")
    if command.operands:
        yield _line(name, f"-a {_quoted(' '.join(command.operands))}", "")
    for option in command.options:
        words = values_of(command, option)
        action = f"-l {option.flag.removeprefix('--')}"
        if takes_a_file(option):
            action += " -rF"
        elif option.kind != "switch":
            action += " -x"
        if words:
            held = f"${lists[words]}" if words in lists else " ".join(words)
            action += f" -a {_quoted(held)}"
        yield _line(name, action, option.help)


def _line(command: str, action: str, text: str, *, only_first: bool = False) -> str:
    condition = f"test (__speccheck_command) = {_quoted(command)}"
    if only_first:
        condition = "test (count (commandline -opc)) = 1"
    told = f" -d {_quoted(text)}" if text else ""
    return f'complete -c speccheck -n "{condition}" {action}{told}\n'


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
