"""`speccheck completion SHELL`: a script that completes the command line there.

It is made of the tables of commands and options: it fits the version that printed it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module

from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.command_table import COMMANDS, Command
from speccheck.validator.cli.option_table import Option
from speccheck.validator.report.write import write

Words = tuple[str, ...]
_LONG = 20  # words of a list that scripts hold once
_FILE_WORDS = ("FILE", "DIR", "RESULT", "NODE.JSON", "LIST", "PLAN.YAML", "PATH")


def completion(line: CommandLine) -> int:
    """Print the script of a shell; returns the exit code."""
    if len(line.files) != 1 or line.files[0] not in SCRIPTS:
        given = " ".join(line.files) or "no shell given"
        message = f"completion: {given}: must be one of {', '.join(SCRIPTS)}"
        raise UsageError(message)
    write(SCRIPTS[line.files[0]](commands()), None)
    return 0


def commands() -> tuple[Command, ...]:
    """Return every command that runs; the first is `speccheck FILE...` itself."""
    return tuple(command for command in COMMANDS if command.run)


def _profiles(begin: str = "") -> Words:
    from speccheck.validator.cli.request import USES  # noqa: PLC0415
    from speccheck.validator.editions.edition import load_edition  # noqa: PLC0415

    known = load_edition().profiles
    if not begin:
        return (*USES, *known)
    return tuple(name.removeprefix(begin) for name in known if name.startswith(begin))


def _of(module: str, name: str) -> Words:
    """Return what a name in a module of the program lists, or returns."""
    value: Words | Callable[[], Words]
    value = getattr(import_module(f"speccheck.{module}"), name)
    return tuple(value() if callable(value) else value)


def _topics() -> Words:
    from speccheck.validator.engine.rule_index import rule_entries  # noqa: PLC0415

    return (*_LISTS["clauses"](), *(rule.name for rule in rule_entries()))


def _names() -> Words:
    from speccheck.validator.engine.rule_index import rule_entries  # noqa: PLC0415

    areas = {clause.partition("-")[0] for clause in _LISTS["clauses"]()}
    areas.update(rule.area for rule in rule_entries())
    return (*sorted(areas), *_topics())


def _clauses() -> Words:
    from speccheck.validator.editions.edition import load_edition  # noqa: PLC0415

    return tuple(load_edition().clauses)


def _formats() -> Words:
    from speccheck.validator.sources.registry import Readers  # noqa: PLC0415

    return Readers().formats()


def _schemas() -> Words:
    published = "validator.report.published_schemas"
    return (*_of(published, "own_names"), *_of(published, "published_names"))


# What the tables name in place of words.
_LISTS: dict[str, Callable[[], Words]] = {
    "clauses": _clauses,
    "collectives": lambda: _of("probes.collectives.settings", "OPERATIONS"),
    "editions": lambda: _of("validator.editions.edition", "editions"),
    "fabrics": lambda: _profiles("fabric/"),
    "formats": _formats,
    "help": lambda: (
        *_of("validator.cli.help", "TOPICS"),
        *dict.fromkeys(command.words[0] for command in COMMANDS if command.words),
    ),
    "instances": lambda: _profiles("instance/"),
    "kinds": lambda: _of("validator.cli.command_options", "KINDS"),
    "machines": lambda: _of("validator.simulation.shape", "instances"),
    "names": _names,
    "profiles": _profiles,
    "reports": lambda: _of("validator.report.form", "NAMES"),
    "schemas": _schemas,
    "shells": lambda: tuple(SCRIPTS),
    "topics": _topics,
    "uses": lambda: _of("validator.cli.request", "USES"),
}


def _takes_files(command: Command) -> bool:
    return command.takes in {"files", "editions"}


def _operands(command: Command) -> Words:
    """Return the words that a command takes besides its options."""
    return _LISTS[command.takes]() if command.takes in _LISTS else ()


def _words_of(command: Command, option: Option) -> Words:
    """Return the words that an option may take; none where any text may stand."""
    if isinstance(option.words, tuple):
        return option.words
    if option.words == "reports" and command.formats:
        return command.formats
    return _LISTS[option.words]()


def _long_lists(commands: Sequence[Command]) -> dict[Words, str]:
    """Return the lists that many options share, by name: a script holds them once."""
    result: dict[Words, str] = {}
    for command in commands:
        for option in command.options:
            words = _words_of(command, option)
            if len(words) >= _LONG:
                result.setdefault(words, f"__speccheck_list_{len(result) + 1}")
    return result


def _takes_a_file(option: Option) -> bool:
    """Return whether the value of an option is a file or a folder."""
    return option.metavar in _FILE_WORDS


_BASH_HEAD = """\
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
_BASH_TAIL = """\
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


def _bash(commands: Sequence[Command]) -> Iterator[str]:
    """Return the script, line by line."""
    lists = _long_lists(commands)
    yield from (f"{name}={_bash_quoted(words)}\n" for words, name in lists.items())
    yield _BASH_HEAD
    parents: dict[str, list[str]] = {}
    for command in commands:
        if len(command.words) > 1:
            parents.setdefault(command.words[0], []).append(command.words[1])
    alone = [command.words[0] for command in commands if len(command.words) == 1]
    yield f"    {'|'.join(alone)})\n"
    yield '      [[ $COMP_CWORD -gt 1 ]] && command="${COMP_WORDS[1]}" ;;\n'
    yield f"    {'|'.join(parents)})\n"
    yield '      [[ $COMP_CWORD -eq 2 ]] && command="${COMP_WORDS[1]} ?"\n'
    yield '      [[ $COMP_CWORD -gt 2 ]] && command="${COMP_WORDS[*]:1:2}" ;;\n'
    yield '  esac\n  case "$command $previous" in\n'
    for command in commands:
        yield from _bash_values(command, lists)
    yield '    *)\n      case "$command" in\n'
    for name, following in parents.items():
        yield f"        '{name} ?') words={_bash_quoted(following)} ;;\n"
    for command in commands:
        yield from _bash_operands(command, commands)
    yield "      esac ;;\n"
    yield _BASH_TAIL


def _bash_values(command: Command, lists: Mapping[Words, str]) -> Iterator[str]:
    """Yield what may follow each option.

    An option of any text is followed by nothing.
    """
    name = command.name
    for option in command.options:
        if option.kind == "switch":
            continue
        words = _words_of(command, option)
        action = f"words={_bash_quoted(words)}" if words else ":"
        if words in lists:
            action = f"words=${lists[words]}"
        if _takes_a_file(option):
            action = "files=1"
        yield f"    '{name} {option.flag}') {action} ;;\n"


def _bash_operands(command: Command, commands: Sequence[Command]) -> Iterator[str]:
    name = command.name
    flags = [option.flag for option in command.options]
    words = [*_operands(command), *flags]
    files = " files=1" if _takes_files(command) else ""
    if not command.name:
        first = dict.fromkeys(command.words[0] for command in commands if command.name)
        yield f"        '') words={_bash_quoted(flags)}{files}\n"
        begin = "          [[ $COMP_CWORD -eq 1 ]] && words+="
        yield f"{begin}{_bash_quoted(['', *first])} ;;\n"
        return
    yield f"        '{name}') words={_bash_quoted(words)}{files} ;;\n"


def _bash_quoted(words: Sequence[str]) -> str:
    return f"'{' '.join(words)}'"


_ZSH_FIRST = """\
#compdef speccheck
# Completion of speccheck in zsh. In ~/.zshrc, after compinit:
#   eval "$(speccheck completion zsh)"
"""
_ZSH_HEAD = """\
_speccheck() {
  local command=''
  case "${words[2]-}" in
"""
_ZSH_TAIL = """\
  esac
}
compdef _speccheck speccheck
"""


def _zsh(commands: Sequence[Command]) -> Iterator[str]:
    """Return the script, line by line."""
    lists = _long_lists(commands)
    yield _ZSH_FIRST
    yield from (f"{name}='{' '.join(words)}'\n" for words, name in lists.items())
    yield _ZSH_HEAD
    parents = dict.fromkeys(
        command.words[0] for command in commands if len(command.words) > 1
    )
    alone = [command.words[0] for command in commands if len(command.words) == 1]
    yield f"    {'|'.join(alone)}) (( CURRENT > 2 )) && command=$words[2] ;;\n"
    yield f'    {"|".join(parents)}) (( CURRENT > 2 )) && command="$words[2] ?"\n'
    yield '      (( CURRENT > 3 )) && command="$words[2] $words[3]" ;;\n'
    yield '  esac\n  case "$command" in\n'
    for name in parents:
        following = [
            command.words[1] for command in commands if command.words[:1] == (name,)
        ]
        yield f"    '{name} ?') compadd -- {' '.join(following)} ;;\n"
    for command in commands:
        yield from _zsh_of_command(command, commands, lists)
    yield _ZSH_TAIL


def _zsh_of_command(
    command: Command, commands: Sequence[Command], lists: Mapping[Words, str]
) -> Iterator[str]:
    name = command.name
    yield f"    '{name}')\n"
    if not command.name:
        first = dict.fromkeys(command.words[0] for command in commands if command.name)
        yield f"      (( CURRENT == 2 )) && compadd -- {' '.join(first)}\n"
    skipped = len(command.words)
    if skipped:
        yield f"      shift {skipped} words; (( CURRENT -= {skipped} ))\n"
    specifications: list[str] = [
        _zsh_of_option(command, option, lists) for option in command.options
    ]
    if _operands(command):
        specifications.append(_zsh_quoted(f"*:name:({' '.join(_operands(command))})"))
    elif _takes_files(command):
        specifications.append("'*:file:_files'")
    lines = " \\\n        ".join(specifications)
    yield f"      _arguments {lines or ':'} ;;\n"


def _zsh_of_option(command: Command, option: Option, lists: Mapping[Words, str]) -> str:
    text = option.help.replace("\\", "\\\\").replace("[", r"\[").replace("]", r"\]")
    text = text.replace(":", r"\:")
    again = "*" if option.repeatable else ""
    if option.kind == "switch":
        return _zsh_quoted(f"{again}{option.flag}[{text}]")
    words = _words_of(command, option)
    action = f"({' '.join(words)})" if words else " "
    if _takes_a_file(option):
        action = "_files"
    begin = f"{again}{option.flag}=[{text}]:{option.metavar.lower() or 'value'}:"
    if words in lists:
        return _zsh_quoted(f"{begin}(") + f'"${lists[words]})"'
    return _zsh_quoted(begin + action)


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_FISH_HEAD = """\
# Completion of speccheck in fish. In config.fish: speccheck completion fish | source
function __speccheck_command
    set -l words (commandline -opc) ''
    switch $words[2]
"""
_FISH_TAIL = """\
        case '*'
            echo
    end
end
complete -c speccheck -f
"""


def _fish(commands: Sequence[Command]) -> Iterator[str]:
    """Return the script, line by line."""
    lists = _long_lists(commands)
    for words, variable in lists.items():
        yield f"set -g {variable} {' '.join(words)}\n"
    yield _FISH_HEAD
    parents = dict.fromkeys(
        command.words[0] for command in commands if len(command.words) > 1
    )
    alone = [command.words[0] for command in commands if len(command.words) == 1]
    yield f"        case {' '.join(alone)}\n            echo $words[2]\n"
    yield f"        case {' '.join(parents)}\n            echo $words[2] $words[3]\n"
    yield _FISH_TAIL
    first: dict[str, str] = {}
    for command in commands:
        if command.name:
            text = command.help if len(command.words) == 1 else ""
            first.setdefault(command.words[0], text)
    for name, text in first.items():
        yield _fish_line("", f"-a {name}", text, only_first=True)
    for name in parents:
        for command in commands:
            if command.words[:1] == (name,):
                yield _fish_line(f"{name} ", f"-a {command.words[1]}", command.help)
    for command in commands:
        yield from _fish_of_command(command, lists)


def _fish_of_command(command: Command, lists: Mapping[Words, str]) -> Iterator[str]:
    name = command.name
    if _takes_files(command):
        yield _fish_line(name, "-F", "")
    if _operands(command):
        yield _fish_line(name, f"-a {_fish_quoted(' '.join(_operands(command)))}", "")
    for option in command.options:
        words = _words_of(command, option)
        action = f"-l {option.flag.removeprefix('--')}"
        if _takes_a_file(option):
            action += " -rF"
        elif option.kind != "switch":
            action += " -x"
        if words:
            held = f"${lists[words]}" if words in lists else " ".join(words)
            action += f" -a {_fish_quoted(held)}"
        yield _fish_line(name, action, option.help)


def _fish_line(
    command: str, action: str, text: str, *, only_first: bool = False
) -> str:
    condition = f"test (__speccheck_command) = {_fish_quoted(command)}"
    if only_first:
        condition = "test (count (commandline -opc)) = 1"
    result = f" -d {_fish_quoted(text)}" if text else ""
    return f'complete -c speccheck -n "{condition}" {action}{result}\n'


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_POWERSHELL_HEAD = """\
# Completion of speccheck in PowerShell. In $PROFILE:
#   speccheck completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName speccheck -ScriptBlock {
  param($word, $line, $cursor)
  $table = @{}
"""
_POWERSHELL_TAIL = """\
  $before = @($line.CommandElements |
    Where-Object { $_.Extent.EndOffset -lt $cursor } |
    ForEach-Object { $_.Extent.Text })
  $command = ''
  if ($before.Count -gt 1 -and $table.ContainsKey($before[1])) {
    $command = $before[1]
  }
  if ($before.Count -gt 2 -and $table.ContainsKey("$($before[1]) $($before[2])")) {
    $command = "$($before[1]) $($before[2])"
  }
  $words = $table[$command]
  $option = "$command $($before[-1])"
  if ($before.Count -gt 1 -and $table.ContainsKey($option)) {
    $words = $table[$option]
  }
  # Where nothing is returned, PowerShell completes the names of files.
  $words -split ' ' | Where-Object { $_ -and $_.StartsWith($word) } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
"""


def _powershell(commands: Sequence[Command]) -> Iterator[str]:
    """Return the script, line by line."""
    lists = _long_lists(commands)
    yield _POWERSHELL_HEAD
    for words, variable in lists.items():
        yield f"  ${variable} = {_bash_quoted(words)}\n"
    first = dict.fromkeys(command.words[0] for command in commands if command.name)
    for name in first:
        following = [
            command.words[1]
            for command in commands
            if command.words[:1] == (name,) and len(command.words) > 1
        ]
        if following:
            yield f"  $table['{name}'] = {_bash_quoted(following)}\n"
    for command in commands:
        operands = [*_operands(command), *(option.flag for option in command.options)]
        operands += [] if command.name else first
        yield f"  $table['{command.name}'] = {_bash_quoted(operands)}\n"
        for option in command.options:
            if option.kind == "switch":
                continue
            values = () if _takes_a_file(option) else _words_of(command, option)
            held = f"${lists[values]}" if values in lists else _bash_quoted(values)
            yield f"  $table['{command.name} {option.flag}'] = {held}\n"
    yield _POWERSHELL_TAIL


SCRIPTS: dict[str, Callable[[Sequence[Command]], Iterator[str]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
    "powershell": _powershell,
}
