"""What `speccheck --help`, `speccheck help TOPIC` and `speccheck COMMAND --help` print.

The first page fits on a screen; all else is a topic, made of the tables that the
program parses by.
"""

from collections.abc import Callable, Iterator, Mapping

from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.command_table import COMMANDS, command_of, help_of
from speccheck.validator.cli.option_table import OPTIONS, options_help, two_columns
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.report.write import write

_FIRST_PAGE = """\
usage: speccheck FILE|FOLDER|- ... [options]
       speccheck COMMAND ... [options]

Judges the files of a large training run together - configuration, launch
script, manifest, machine - and says what is wrong, where, and what to change.

Examples:
  speccheck train.yaml ds_config.json job.sbatch
  speccheck train.yaml --nodes 8 --gpus-per-node 8 --gpu H100-80GB
  speccheck plan train.yaml --gpu H100-80GB   will it fit, how long will it take
  speccheck preflight job.sbatch              is this machine fit for the job
  speccheck explain BATCH-001                 what a finding means, its source

Commands:
{commands}

Options used most:
  --nodes N --gpus-per-node N --gpu NAME  the job's size, where no file says it
  --diff, --fix                           show, or make, changes that mend
  --full, -q, --output FORMAT[=FILE]      more, less, or another form
  -h, --help, -V, --version

More: speccheck COMMAND --help, and speccheck help TOPIC. Topics:
{topics}

Exit codes: 0 nothing wrong found, 1 findings, 2 wrong use or unreadable input,
            3 not enough was seen, 4 a bug of speccheck
"""
# What the first page says of commands that belong together.
_FAMILIES = (
    ("check plan baseline", "files: judge, add up, accept old findings"),
    ("preflight probe bench", "this machine: go or no-go, look, measure"),
    ("fleet history simulate", "many machines: judge, over days, made up"),
    ("diff telemetry", "compare two machines; read logs"),
    ("certify verify evidence keygen", "signed certificates of a type of machine"),
    ("explain list rules spec schema", "look up rules, names, the edition"),
    ("completion help", "for the shell; these pages"),
)
EXIT_CODES = (
    (
        "0",
        "nothing wrong was found, and all that the profile or --require needs was seen",
    ),
    ("1", "findings at or above --fail-on"),
    ("2", "usage or settings are wrong, or an input could not be read"),
    ("3", "not enough was seen: required evidence is missing, or nothing was judged"),
    ("4", "a bug of speccheck"),
    ("130", "interrupted"),
    ("141", "the reader of the output went away"),
)
_EXIT_CODES = """\

Of several that are true the first of 4, 2, 1, 3, 0 counts. In the profile ci a
required check that could not run is listed and changes nothing, as long as
another ran; preflight answers 3 then, and certify denies.
"""
_FACTS = """\
What no file states, options add: the size of the job, its GPU, the time of a
step. A value that a file states is never replaced; where both say otherwise,
the report names the conflict. In settings they stand under [facts]; `speccheck
list gpus`, `instances` and `fabrics` list the names.
"""
_JUDGING = """\
The edition says what is required, the profile which of it and with which
numbers. --select and --ignore take rules (ring_forced_at_scale), clauses
(COMM-001) and areas (COMM). A failure is waived by a file of waivers, a
baseline, or a comment beside the setting; it stays in the report, marked as
waived.
"""
_FILES = """\
A folder is searched; files that belong together are judged as one plan. A file
that is named and cannot be read, or is of no known kind, ends with 2; in a
folder it is only counted. `speccheck list formats` lists the kinds.
"""
_OUTPUT = """\
--output may be repeated, one of them on standard output: --output text --output
sarif=report.sarif. Width and colour follow COLUMNS, NO_COLOR, CLICOLOR,
CLICOLOR_FORCE and FORCE_COLOR; --color decides.
"""
_SETTINGS = """\
Settings are read from the closest speccheck.toml, or pyproject.toml with a
table [tool.speccheck], from the folder of a file up to the top of its
repository. The command line counts before them. `speccheck FILE
--show-settings` prints each value in force with where it is from; --isolated
reads none.

  [facts]
  nodes = 8
  gpus-per-node = 8
  gpu = "H100-80GB"

Settings:
"""
_MACHINES = """\
On a node of the job, before it starts:

  speccheck preflight job.sbatch              go or no-go, by exit code
  speccheck preflight --tier 2 --result out/  also measures; a line a node
  speccheck fleet out/ --job job.sbatch       all nodes: which to drain

A snapshot can be judged again anywhere, by another edition or for another job:

  speccheck probe --out node.json
  speccheck train.yaml --node node.json

Commands:
"""
_FIXES = """\
A fix is made only where its value follows from what the files state; --fix
judges again afterwards and takes back what does not mend. What changes the
training itself needs --unsafe-fixes as well.
"""


class Topic(Record):
    """One page of the help; help: what it is about, in a line."""

    help: str
    text: Callable[[], str]


def _options(introduction: str, group: str) -> Callable[[], str]:
    """Return what gives an introduction with the options of a group."""

    def text() -> str:
        options = tuple(option for option in OPTIONS if option.group == group)
        return f"{introduction}{options_help(options)}\n"

    return text


def _output() -> str:
    from speccheck.validator.report.form import FORMS  # noqa: PLC0415 - for help alone

    options = tuple(option for option in OPTIONS if option.group == "Report")
    lines = [options_help(options), ""]
    lines.append("Forms of a report (--output):")
    for form in FORMS.values():
        lines.extend(two_columns(form.name, form.help))
    return _OUTPUT + "\n".join(lines) + "\n"


def _settings() -> str:
    from speccheck.validator.cli.option_table import ROWS  # noqa: PLC0415

    lines = [
        line
        for option in ROWS
        if option.setting
        for line in two_columns(option.setting, option.help)
    ]
    return _SETTINGS + "\n".join(lines) + "\n"


def _codes() -> str:
    lines = [
        line for code, text in EXIT_CODES for line in two_columns(code, text, left=8)
    ]
    return "\n".join(("Exit codes:", *lines)) + "\n" + _EXIT_CODES


def _machines() -> str:
    names = ("probe", "preflight", "fleet", "history", "diff", "bench", "certify")
    return _MACHINES + "\n".join(_command_lines(names)) + "\n"


def _what_if() -> str:
    from speccheck.validator.changes.what_if.assignments import names_help  # noqa: PLC0415

    text = (
        "speccheck plan FILE --what-if NAME=VALUE judges the plan with other values.\n"
    )
    return f"{text}{names_help()}\n"


TOPICS: Mapping[str, Topic] = {
    "commands": Topic("all commands, a line each", lambda: f"{commands_help()}\n"),
    "facts": Topic(
        "what to say of a job that its files leave open",
        _options(_FACTS, "Facts of the job that files seldom state"),
    ),
    "judging": Topic(
        "what is judged, and what may fail", _options(_JUDGING, "What is judged")
    ),
    "files": Topic("which files are read, and as what", _options(_FILES, "Files")),
    "output": Topic("forms of a report, colour, width", _output),
    "fixes": Topic("edits that mend what fails", _options(_FIXES, "Fixes")),
    "settings": Topic("what a repository says once for all runs", _settings),
    "machines": Topic("nodes, fleets, measurements, certificates", _machines),
    "what-if": Topic("names of values for speccheck plan --what-if", _what_if),
    "exit-codes": Topic("what each exit code means", _codes),
}


def first_page() -> str:
    """Return what `speccheck --help` prints."""
    commands = (f"  {names.replace(' ', ', '):<36} {text}" for names, text in _FAMILIES)
    names = list(TOPICS)
    half = len(names) - len(names) // 3
    topics = f"  {', '.join(names[:half])},\n  {', '.join(names[half:])}"
    return _FIRST_PAGE.format(commands="\n".join(commands), topics=topics)


def commands_help() -> str:
    """Return the list of commands."""
    names = [command.name for command in COMMANDS if command.synopsis]
    return "\n".join(("Commands:", *_command_lines(names)))


def _command_lines(names: Iterator[str] | tuple[str, ...] | list[str]) -> Iterator[str]:
    """Yield what each of these commands does."""
    for command in COMMANDS:
        if command.name in names:
            yield from two_columns(f"{command.name} {command.synopsis}", command.help)


def show_help(line: CommandLine) -> int:
    """Print a topic, or the help of a command; raises UsageError for neither."""
    name = "-".join(line.files).lower()
    command = command_of(list(line.files)) if line.files else None
    if not name:
        write(first_page(), None)
    elif name in TOPICS:
        write(TOPICS[name].text(), None)
    elif command is not None and len(command.words) == len(line.files):
        write(help_of(command), None)
    else:
        known = [*TOPICS, *(command.words[0] for command in COMMANDS if command.words)]
        close = nearest(name, known)
        hint = f"did you mean {close}?" if close else f"topics are {', '.join(TOPICS)}"
        message = f"help {' '.join(line.files)}: no such topic or command: {hint}"
        raise UsageError(message)
    return 0
