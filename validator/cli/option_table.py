"""Every option of every command, and every setting: the one table.

Parsing, `--help`, completion, the settings files with their JSON Schema, and the pages
docs/command-line.md and docs/settings.md are made of these rows.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any, Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.context import ROLES

# path: a text that names a file, in settings relative to theirs. The last three are of
# settings alone: tables whose keys the user chooses.
Kind = Literal[
    "switch",
    "text",
    "integer",
    "number",
    "path",
    "levels",
    "names_by_pattern",
    "facts_by_pattern",
]
# run: for all that is judged at once. plan: by the file that a plan is about.
Scope = Literal["run", "plan"]
Value = str | int | float | bool | list[str]
FAIL_ON = ("error", "warning", "info", "never")
COLORS = ("auto", "always", "never")
LEVEL_NAMES = ("error", "warning", "info")


class Option(Record):
    """One option of some commands, one setting, or both.

    Attributes:
        flag: as it is written, with its dashes; empty for what only settings say.
        help: what it says, for `--help`, completion, the pages and the schema.
        kind: what its value is.
        metavar: what help shows for the value.
        repeatable: whether it may be given several times.
        group: the heading under which help lists it.
        commands: the commands that take it, as the table of commands names them.
        words: the only values, or the name of what lists them for completion.
        setting: its name in settings files; empty for what only options say.
        default: of the setting, as JSON; empty where there is none.
        scope: what one value of the setting is for.
        letter: its short form, with the dash; empty for none.

    """

    flag: str
    help: str
    kind: Kind = "text"
    metavar: str = ""
    repeatable: bool = False
    group: str = ""
    commands: AbstractSet[str] = frozenset()
    words: tuple[str, ...] | str = ()
    setting: str = ""
    default: str = ""
    scope: Scope = "plan"
    letter: str = ""

    @property
    def name(self) -> str:
        """The name under which the parsed value is kept."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def written(self) -> str:
        """How help shows it: short form, flag and value."""
        flag = f"{self.letter}, {self.flag}" if self.letter else self.flag
        return f"{flag} {self.metavar}".rstrip()


Columns = dict[str, Any]


def row(
    result: str,
    text: str,
    kind: Kind | None = None,
    commands: AbstractSet[str] | None = None,
    setting: str = "",
    default: str = "",
    scope: Scope = "plan",
    words: tuple[str, ...] | str = (),
) -> Columns:
    """Return the columns of a row.

    Args:
        result: the option as help shows it, after its short form (`-q|--quiet`), with
            `...` where it may be repeated.
        text: the help.
        kind: what its value is; a switch, or a text where it has a value, by default.
        commands: those that take it; those of its group by default.
        setting: as in `Option`, and the others.
        default: of the setting.
        scope: of the setting.
        words: the only values.

    """
    flags, _, metavar = result.partition(" ")
    letter, _, flag = flags.rpartition("|")
    columns: Columns = {
        "flag": flag,
        "letter": letter,
        "help": text,
        "kind": kind or ("text" if metavar else "switch"),
        "metavar": metavar.removesuffix(" ..."),
        "repeatable": metavar.endswith(" ..."),
        "words": words,
        "setting": setting,
        "default": default,
        "scope": scope,
    }
    return columns if commands is None else {**columns, "commands": commands}


def rows(
    group: str, commands: AbstractSet[str], *several: Columns
) -> tuple[Option, ...]:
    """Return rows of a group, of these commands where a row names none itself."""
    of_all: Columns = {"group": group, "commands": commands}
    return tuple(Option(**{**of_all, **columns}) for columns in several)


def _alone(name: str, text: str, kind: Kind, default: str = "{}") -> Columns:
    """Return the columns of what only settings files may say."""
    return {**row("", text, kind, setting=name, default=default)}


FILE = "FILE"  # the command without a name, `speccheck FILE...`
_FILES = frozenset({FILE, "plan", "preflight", "baseline"})
_MEASURING = frozenset({"collective", "bench memory", "bench gemm"})
_JUDGING = _FILES | _MEASURING | {"fleet"}
_LOGS = _JUDGING | {"telemetry"}
_MACHINES = _LOGS | {"bench expect"}
_REPORTING = (_FILES | _MEASURING) - {"baseline"}
_DEMANDING = _REPORTING - {"plan"}  # that end with a verdict of their own
_WITH_WAIVERS = _JUDGING - {"fleet"}
_SHOWING = _REPORTING | {"fleet", "telemetry"}

_FACTS = rows(
    "Facts of the job that files seldom state",
    {FILE},
    row(
        "--nodes N", "nodes of the job", "integer", _MACHINES - {"fleet"}, "facts.nodes"
    ),
    row(
        "--gpus-per-node N",
        "GPUs on each node",
        "integer",
        _MACHINES,
        "facts.gpus-per-node",
    ),
    row(
        "--gpu NAME",
        "GPU as people write it: H100, H100-80GB",
        "text",
        _MACHINES,
        "facts.gpu",
    ),
    row(
        "--instance NAME",
        "provider's name: p5.48xlarge",
        "text",
        _MACHINES,
        "facts.instance",
        words="instances",
    ),
    row(
        "--fabric NAME",
        "infiniband, roce, efa, mrc, ...",
        "text",
        _MACHINES,
        "facts.fabric",
        words="fabrics",
    ),
    row(
        "--nvlink-domain N",
        "GPUs that NVLink joins",
        "integer",
        _JUDGING,
        "facts.nvlink-domain",
    ),
    row(
        "--role ROLE",
        "pretrain, continued, sft, lora, rl, debug",
        "text",
        _LOGS,
        "facts.role",
        words=ROLES,
    ),
    row("--hours H", "expected run time", "number", _JUDGING, "facts.hours"),
    row(
        "--step-seconds S",
        "time of one optimizer step",
        "number",
        _LOGS,
        "facts.step-seconds",
    ),
    row(
        "--mtbf-hours H",
        "mean time between job failures",
        "number",
        _JUDGING,
        "facts.mtbf-hours",
    ),
    row(
        "--framework-version V",
        'such as "transformers 4.57.1"',
        "text",
        _JUDGING,
        "facts.framework-version",
    ),
    row("--nccl-version V", "such as 2.27.3", "text", _JUDGING, "facts.nccl-version"),
    row(
        "--node NODE.JSON",
        "snapshot of the machine that it runs on",
        "text",
        _FILES - {"preflight"},
    ),
)
_JUDGED = rows(
    "What is judged",
    {FILE},
    row(
        "--profile P ...",
        "ci (files), preflight (machines), size/L, ...",
        "text",
        _JUDGING,
        "profile",
        '["ci"]',
        words="profiles",
    ),
    row(
        "--spec EDITION",
        "edition, or a folder with one",
        "text",
        _LOGS,
        "spec",
        '"1.1"',
        "run",
        words="editions",
    ),
    row(
        "--enforce EDITION",
        "the same, beside --warn",
        "text",
        _REPORTING,
        words="editions",
    ),
    row(
        "--warn EDITION",
        "a second one, which only warns",
        "text",
        _REPORTING,
        "warn",
        "",
        "run",
        words="editions",
    ),
    row(
        "--tailor FILE",
        "own numbers: why, whose, until",
        "path",
        _JUDGING,
        "tailoring",
        "",
        "run",
    ),
    row(
        "--select NAMES ...",
        "judge only these clauses, areas or rules",
        "text",
        _LOGS,
        "select",
        words="names",
    ),
    row(
        "--ignore NAMES ...",
        "do not judge these",
        "text",
        _LOGS,
        "ignore",
        "[]",
        words="names",
    ),
    row(
        "--extend-select NAMES ...",
        "judge these as well",
        "text",
        _JUDGING,
        "extend-select",
        "[]",
    ),
    row(
        "--extend-ignore NAMES ...",
        "nor these",
        "text",
        _JUDGING,
        "extend-ignore",
        "[]",
    ),
    row("--settings FILE", "the one settings file for all", "text", _LOGS),
    row("--isolated", "read no settings file", "switch", _LOGS),
    row(
        "--waivers FILE",
        "what may fail, why, until when",
        "path",
        _WITH_WAIVERS | {"telemetry"},
        "waivers",
    ),
    row(
        "--baseline FILE",
        "what failed before: not new",
        "path",
        _REPORTING | {"telemetry"},
        "baseline",
    ),
    row("--no-inline-ignores", "comments waive nothing", "switch", _WITH_WAIVERS),
)
_FILES_READ = rows(
    "Files",
    _FILES,
    row(
        "--exclude PATTERN ...",
        "do not search these in folders",
        "text",
        None,
        "exclude",
        "[]",
        "run",
    ),
    row(
        "--force-exclude",
        "leave these out where they are named, too",
        "switch",
        None,
        "force-exclude",
        "false",
        "run",
    ),
    row("--format FORMAT", "read every file as this format", words="formats"),
    row("--stdin-filename NAME", "name of the file that `-` reads"),
    row("--each", "judge every file alone", "switch", None, "each", "false", "run"),
    row(
        "--by-folder",
        "files of different folders are no one plan",
        "switch",
        None,
        "by-folder",
        "false",
        "run",
    ),
    row(
        "--plugins",
        "use readers and rules of installed packages",
        "switch",
        _JUDGING,
        "plugins",
        "false",
        "run",
    ),
    row(
        "--skip-unknown",
        "files of other kinds are no error",
        "switch",
        None,
        "skip-unknown",
        "false",
        "run",
    ),
    row(
        "--allow-nothing",
        "exit 0, not 3, if no file is a configuration (hooks)",
        "switch",
        {FILE},
    ),
    row(
        "--show-files",
        "list what each file was taken for, and stop",
        "switch",
        {FILE, "plan"},
    ),
    row(
        "--show-settings",
        "each value in force, from where, and stop",
        "switch",
        _FILES - {"preflight"},
    ),
    row("--watch", "judge again whenever a file changes", commands={FILE}),
)
_REPORT = rows(
    "Report",
    _REPORTING,
    row(
        "--output FORMAT[=FILE] ...",
        "text (default), json, ...: speccheck help output",
        "text",
        None,
        "output",
        '["text"]',
        "run",
        words="reports",
    ),
    row(
        "--sarif-include-waived",
        "what is waived, too: not for GitHub",
        "switch",
        _DEMANDING,
    ),
    row("--plot FILE", "draw measured curves: .svg or .png", commands=_DEMANDING),
    row(
        "-q|--quiet",
        "only what is wrong; nothing where nothing is",
        commands=_DEMANDING,
    ),
    row(
        "--full",
        "show every finding, also what holds",
        "switch",
        _SHOWING,
        "full",
        "false",
        "run",
    ),
    row("--statistics", "count the findings of each rule", "switch", _DEMANDING),
    row(
        "--fail-on LEVEL",
        "error (default), warning, info or never",
        "text",
        _SHOWING - {"plan"},
        "fail-on",
        '"error"',
        "run",
        words=FAIL_ON,
    ),
    row(
        "--require CLAUSES ...",
        "exit 3 unless these were judged and hold",
        "text",
        _DEMANDING,
        "require",
        "[]",
        "run",
        words="names",
    ),
    row(
        "--min-coverage PERCENT",
        "exit 3 if fewer required checks could run",
        "number",
        _DEMANDING,
        "min-coverage",
        "",
        "run",
    ),
    row(
        "--color WHEN",
        "auto (default), always or never",
        "text",
        _SHOWING | {"bench expect"},
        "color",
        '"auto"',
        "run",
        words=COLORS,
    ),
    row(
        "--out FILE",
        "the baseline; speccheck-baseline.json by default",
        "text",
        {"baseline"},
    ),
)
_FIXES = rows(
    "Fixes",
    {FILE, "preflight"},
    row("--diff", "show what --fix would change; exit 1 if anything"),
    row("--fix", "mend what can be mended safely, and judge again"),
    row("--unsafe-fixes", "also what changes the training itself"),
)
_WHAT_IF = rows(
    "Plan (speccheck plan)",
    {FILE, "plan"},
    row("--what-if NAME=VALUE ...", "judge the plan with other values too"),
)
_SETTINGS = rows(
    "Settings alone",
    frozenset(),
    _alone(
        "extend",
        "another settings file, whose values hold where this one has none",
        "path",
        "",
    ),
    {
        **_alone(
            "mandatory",
            "clauses, areas or rules that nothing below can switch off or waive",
            "text",
            "[]",
        ),
        "repeatable": True,
    },
    _alone(
        "inline-ignores",
        "whether comments beside settings may waive what fails",
        "switch",
        "true",
    ),
    _alone(
        "per-file-ignores",
        "names whose failures are waived in files that match a pattern",
        "names_by_pattern",
    ),
    _alone(
        "extend-per-file-ignores",
        "the same, beside those of the files that this one extends",
        "names_by_pattern",
    ),
    _alone(
        "levels",
        "clauses, areas or rules whose failures weigh at least so much: error, "
        "warning or info",
        "levels",
    )
    | {"words": LEVEL_NAMES},
    _alone(
        "facts-for",
        "facts of plans with a file that matches a pattern; of several the last counts",
        "facts_by_pattern",
    ),
)
ROWS: tuple[Option, ...] = (
    *_FACTS,
    *_JUDGED,
    *_FILES_READ,
    *_REPORT,
    *_FIXES,
    *_WHAT_IF,
    *_SETTINGS,
)


OPTIONS = tuple(option for option in ROWS if FILE in option.commands)


_LEFT, _WIDTH = 28, 80


def two_columns(name: str, text: str, left: int = _LEFT) -> Iterator[str]:
    """Yield a row of a help: what is written, and what it says, within the width."""
    import textwrap  # noqa: PLC0415 - for help alone

    lines = textwrap.wrap(text, _WIDTH - left - 1, break_long_words=False) or [""]
    if len(name) >= left - 2:
        yield f"  {name}"
    else:
        yield f"  {name:<{left - 2}} {lines.pop(0)}".rstrip()
    yield from (f"{'':<{left + 1}}{line}" for line in lines)


def options_help(options: tuple[Option, ...] = OPTIONS) -> str:
    """Return the help of options, by group."""
    lines: list[str] = []
    for group in dict.fromkeys(option.group for option in options):
        lines.append(f"\n{group}:")
        for option in options:
            if option.group == group:
                lines.extend(two_columns(option.written, option.help))
    return "\n".join(lines)
