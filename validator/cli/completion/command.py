"""`speccheck completion SHELL`: a script that completes the command line there."""

import sys
from importlib import import_module

from speccheck.validator.cli.completion.grammar import SHELLS, commands
from speccheck.validator.report.write import write

_USAGE = 2
HELP = """\
usage: speccheck completion bash|zsh|fish

Prints a script that completes commands, options and their values. It is made of the
tables that the program reads, so it fits the version that printed it:

  bash   eval "$(speccheck completion bash)"         in ~/.bashrc
  zsh    eval "$(speccheck completion zsh)"          in ~/.zshrc, after compinit
  fish   speccheck completion fish | source          in config.fish
"""


def completion(words: list[str]) -> int:
    """Print the script of a shell; returns the exit code."""
    if words and words[0] in {"-h", "--help"}:
        write(HELP, None)
        return 0
    if len(words) != 1 or words[0] not in SHELLS:
        told = " ".join(words) or "no shell given"
        sys.stderr.write(
            f"speccheck: completion: {told}: must be one of {', '.join(SHELLS)}\n"
        )
        return _USAGE
    shell = import_module(f"speccheck.validator.cli.completion.{words[0]}")
    write(shell.script(commands()), None)
    return 0
