"""Completion for bash: `eval "$(speccheck completion bash)"`."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.cli.completion.grammar import (
    Command,
    Words,
    long_lists,
    takes_a_file,
    values_of,
)

_HEAD = """\
# Completion of speccheck in bash. In ~/.bashrc: eval "$(speccheck completion bash)"
_speccheck() {
  local word="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  local command="" words="" files="" index
  # bash takes `--output=json` for three words.
  if [[ $word == = ]]; then word=""; elif [[ $previous == = ]]; then
    previous="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  case "${COMP_WORDS[1]-}" in
"""
_TAIL = """\
  esac
  COMPREPLY=()
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  fi
  if [[ -n $files ]]; then
    local found
    mapfile -t found < <(compgen -f -- "$word")
    COMPREPLY+=("${found[@]}")
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _speccheck speccheck
"""


def script(commands: Sequence[Command]) -> Iterator[str]:
    """The script, line by line."""
    lists = long_lists(commands)
    yield from (f"{name}={_quoted(words)}\n" for words, name in lists.items())
    yield _HEAD
    parents: dict[str, list[str]] = {}
    for command in commands:
        if len(command.name) > 1:
            parents.setdefault(command.name[0], []).append(command.name[1])
    alone = [one.name[0] for one in commands if len(one.name) == 1]
    yield f"    {'|'.join(alone)})\n"
    yield '      [[ $COMP_CWORD -gt 1 ]] && command="${COMP_WORDS[1]}" ;;\n'
    yield f"    {'|'.join(parents)})\n"
    yield '      [[ $COMP_CWORD -eq 2 ]] && command="${COMP_WORDS[1]} ?"\n'
    yield '      [[ $COMP_CWORD -gt 2 ]] && command="${COMP_WORDS[*]:1:2}" ;;\n'
    yield '  esac\n  case "$command $previous" in\n'
    for command in commands:
        yield from _values(command, lists)
    yield '    *)\n      case "$command" in\n'
    for name, following in parents.items():
        yield f"        '{name} ?') words={_quoted(following)} ;;\n"
    for command in commands:
        yield from _operands(command, commands)
    yield "      esac ;;\n"
    yield _TAIL


def _values(command: Command, lists: Mapping[Words, str]) -> Iterator[str]:
    """What may follow each option; an option of any text is followed by nothing."""
    name = " ".join(command.name)
    for option in command.options:
        if option.kind == "switch":
            continue
        words = values_of(command, option)
        action = f"words={_quoted(words)}" if words else ":"
        if words in lists:
            action = f"words=${lists[words]}"
        if takes_a_file(option):
            action = "files=1"
        yield f"    '{name} {option.flag}') {action} ;;\n"


def _operands(command: Command, commands: Sequence[Command]) -> Iterator[str]:
    name = " ".join(command.name)
    flags = [option.flag for option in command.options]
    words = [*command.operands, *flags]
    files = " files=1" if command.takes_files else ""
    if not command.name:
        first = dict.fromkeys(one.name[0] for one in commands if one.name)
        yield f"        '') words={_quoted(flags)}{files}\n"
        begin = "          [[ $COMP_CWORD -eq 1 ]] && words+="
        yield f"{begin}{_quoted(['', *first])} ;;\n"
        return
    yield f"        '{name}') words={_quoted(words)}{files} ;;\n"


def _quoted(words: Sequence[str]) -> str:
    return f"'{' '.join(words)}'"
