"""Writes docs/command-line.md and docs/exit-codes.md, from what the program parses.

Run `python tools/reference_pages.py`; a test holds the pages equal.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from speccheck.validator.changes.what_if.assignments import names_help
from speccheck.validator.cli.command_table import COMMANDS
from speccheck.validator.cli.help import EXIT_CODES, commands_help, first_page
from speccheck.validator.cli.option_table import OPTIONS, Option
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.report.write_markdown import in_cell

FOLDER = Path(__file__).resolve().parents[1] / "docs"
COMMAND_LINE, CODES = "command-line.md", "exit-codes.md"

_MAIN = "speccheck FILE..."
_UNKNOWN_MUSTS = {
    "listed": "listed, and the code stays as it is while another one ran",
    "inconclusive": "3",
    "denied": "3",
}
_CODES_INTRODUCTION = """\
The exit code is the verdict, so that a pipeline needs no parser. Of several that are
true, the first of 4, 2, 1, 3, 0 counts: a file that could not be read never hides
behind the findings of another, and what was not seen is never a pass.
"""
_CODES_NOTES = """\
## What findings do to it

`--fail-on error` is the default: findings of that level or above give 1. `--fail-on
warning` and `--fail-on info` are stricter, and `--fail-on never` leaves 1 out; 2, 3 and
4 stay, as they do not speak of findings.

## What too little sight does to it

The first line of a report says how many of the required checks could run. These ask for
more than that one did, and give 3 where it is not so; the report names the option:

- `--require CLAUSE,...` (setting `require`): each of these clauses must have been
  judged and hold. One that is waived, switched off, only warns or does not apply does
  not.
- `--min-coverage PERCENT` (setting `min-coverage`): so many of the required checks that
  apply must have run.

A file that another one names - a DeepSpeed file of a configuration, the configuration
of a launch command - is read with it. In a repository that lacks it, this is a finding;
outside of a repository, where nothing else can be looked at, the first line says that
it is not here, and the code is that of the rest.

Nothing judged is 3 in every profile, also where settings exclude every file or
`--skip-unknown` passes over all of them. `--allow-nothing` makes it 0 in `ci`: for
hooks that get the files of a commit, whatever they are.
"""
_CODES_COMMANDS = """\
## Commands with codes of their own

Each command says its codes with `--help` ([the command line](command-line.md));
`speccheck plan` answers 0 when there is a plan and 3 when there is none.
[Machines](nodes.md) shows what to do with the codes of `preflight` in a prolog of
Slurm, a health test and an init container.
"""


def pages() -> dict[str, str]:
    """Return both pages by file name."""
    return {COMMAND_LINE: _command_line(), CODES: _exit_codes()}


def _command_line() -> str:
    lines = [
        "# The command line",
        "",
        "What every command takes; `--help` says the same. Options may stand anywhere",
        "on the line, as `--option value` or `--option=value`; `--` ends them.",
        "",
        f"## {_MAIN}",
        "",
        *_fenced(first_page()),
        "All commands:",
        "",
        *_fenced(commands_help().partition("\n")[2]),
        *_tables(OPTIONS),
    ]
    shown = set()
    for command in COMMANDS:
        if command.words and command.usage and command.usage not in shown:
            shown.add(command.usage)  # collectives share theirs
            lines.extend((f"## speccheck {command.name}", "", *_fenced(command.usage)))
        elif command.usage or not command.words:
            continue
        else:  # it is told with its group
            lines.extend((f"## speccheck {command.name}", ""))
        lines.extend(
            _tables([option for option in command.options if option not in OPTIONS])
        )
        shared = [f"`{option.flag}`" for option in command.options if option in OPTIONS]
        if command.name == "plan":
            lines.extend(_fenced(names_help()))
        if shared and len(shared) < len(OPTIONS):
            lines.extend((f"Also, as for `{_MAIN}`: {', '.join(shared)}.", ""))
    return "\n".join(lines).rstrip() + "\n"


def _fenced(text: str) -> tuple[str, ...]:
    return ("```text", text.strip("\n"), "```", "")


def _tables(options: Sequence[Option]) -> Iterator[str]:
    """Return a table for each group of options."""
    for group in dict.fromkeys(option.group for option in options):
        yield f"**{group}**"
        yield ""
        yield "| option | what it says |"
        yield "| --- | --- |"
        for option in options:
            if option.group == group:
                several = "; may be repeated" if option.repeatable else ""
                left = option.written
                yield f"| `{left}` | {in_cell(option.help)}{several} |"
        yield ""


def _exit_codes() -> str:
    lines = [
        "# Exit codes",
        "",
        _CODES_INTRODUCTION,
        "| code | meaning |",
        "| --- | --- |",
        *(f"| {code} | {in_cell(text)} |" for code, text in EXIT_CODES),
        "",
        _CODES_NOTES,
        "## What an unknown must does to it",
        "",
        "| `--profile` | a must that could not be judged |",
        "| --- | --- |",
    ]
    for profile in load_edition().profiles.values():
        if profile.terms is not None:
            name = profile.id.partition("/")[2]
            lines.append(f"| `{name}` | {_UNKNOWN_MUSTS[profile.terms.unknown_must]} |")
    return "\n".join((*lines, "", _CODES_COMMANDS)).rstrip() + "\n"


def write_pages(folder: Path) -> None:
    """Write both pages."""
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(FOLDER)
