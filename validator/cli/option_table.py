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

    @property
    def name(self) -> str:
        """The name under which the line value is kept."""
        return self.flag.lstrip("-").replace("-", "_")


Columns = dict[str, Any]


def row(said: str, text: str, kind: Kind | None = None, **columns: object) -> Columns:
    """Return the columns of a row.

    Args:
        said: the option as help shows it, with `...` where it may be repeated.
        text: the help.
        kind: what its value is; a switch, or a text where it has a value, by default.
        columns: the others.

    """
    flag, _, metavar = said.partition(" ")
    return {
        "flag": flag,
        "help": text,
        "kind": kind or ("text" if metavar else "switch"),
        "metavar": metavar.removesuffix(" ..."),
        "repeatable": metavar.endswith(" ..."),
        **columns,
    }


def rows(group: str, commands: AbstractSet[str], *several: Columns) -> Iterator[Option]:
    """Return rows of a group, of these commands where a row names none itself."""
    for columns in several:
        yield Option(**{"group": group, "commands": commands, **columns})


def setting(name: str, default: str = "", scope: Scope = "plan") -> Columns:
    """Return the columns of what settings files may say as well."""
    return {"setting": name, "default": default, "scope": scope}


def _alone(name: str, text: str, kind: Kind, default: str = "{}") -> Columns:
    """Return the columns of what only settings files may say."""
    return {"flag": "", "help": text, "kind": kind, **setting(name, default)}


FILE = "FILE"  # the command without a name, `speccheck FILE...`
_FILES = frozenset({FILE, "plan", "preflight", "baseline"})
_MEASURING = frozenset({"collective", "bench memory", "bench gemm"})
_JUDGING = _FILES | _MEASURING | {"fleet"}
_LOGS = _JUDGING | {"telemetry"}
_MACHINES = _LOGS | {"bench expect"}
_REPORTING = (_FILES | _MEASURING) - {"baseline"}
_WITH_WAIVERS = _JUDGING - {"fleet"}
_SHOWING = _REPORTING | {"fleet", "telemetry"}

ROWS: tuple[Option, ...] = (
    *rows(
        "Facts of the job that files seldom state",
        {FILE},
        row(
            "--nodes N",
            "nodes of the job",
            "integer",
            commands=_MACHINES - {"fleet"},
            **setting("facts.nodes"),
        ),
        row(
            "--gpus-per-node N",
            "GPUs on each node",
            "integer",
            commands=_MACHINES,
            **setting("facts.gpus-per-node"),
        ),
        row(
            "--gpu NAME",
            "GPU as people write it: H100, H100-80GB",
            commands=_MACHINES,
            **setting("facts.gpu"),
        ),
        row(
            "--instance NAME",
            "provider's name: p5.48xlarge",
            commands=_MACHINES,
            words="instances",
            **setting("facts.instance"),
        ),
        row(
            "--fabric NAME",
            "infiniband, roce, efa, mrc, ...",
            commands=_MACHINES,
            words="fabrics",
            **setting("facts.fabric"),
        ),
        row(
            "--nvlink-domain N",
            "GPUs that NVLink joins",
            "integer",
            commands=_JUDGING,
            **setting("facts.nvlink-domain"),
        ),
        row(
            "--role ROLE",
            "pretrain, continued, sft, lora, rl, debug",
            commands=_LOGS,
            words=ROLES,
            **setting("facts.role"),
        ),
        row(
            "--hours H",
            "expected run time",
            "number",
            commands=_JUDGING,
            **setting("facts.hours"),
        ),
        row(
            "--step-seconds S",
            "time of one optimizer step",
            "number",
            commands=_LOGS,
            **setting("facts.step-seconds"),
        ),
        row(
            "--mtbf-hours H",
            "mean time between job failures",
            "number",
            commands=_JUDGING,
            **setting("facts.mtbf-hours"),
        ),
        row(
            "--framework-version V",
            'such as "transformers 4.57.1"',
            commands=_JUDGING,
            **setting("facts.framework-version"),
        ),
        row(
            "--nccl-version V",
            "such as 2.27.3",
            commands=_JUDGING,
            **setting("facts.nccl-version"),
        ),
        row(
            "--node NODE.JSON",
            "snapshot of the machine that it runs on",
            commands=_FILES - {"preflight"},
        ),
    ),
    *rows(
        "What is judged",
        {FILE},
        row(
            "--profile P ...",
            "ci (files), preflight (machines), size/L, ...",
            commands=_JUDGING,
            words="profiles",
            **setting("profile", '["ci"]'),
        ),
        row(
            "--spec EDITION",
            "edition, or a folder with one",
            commands=_LOGS,
            words="editions",
            **setting("spec", '"1.0"', "run"),
        ),
        row(
            "--enforce EDITION",
            "the same, beside --warn",
            commands=_REPORTING,
            words="editions",
        ),
        row(
            "--warn EDITION",
            "a second one, which only warns",
            commands=_REPORTING,
            words="editions",
            **setting("warn", "", "run"),
        ),
        row(
            "--tailor FILE",
            "own numbers: why, whose, until",
            "path",
            commands=_JUDGING,
            **setting("tailoring", "", "run"),
        ),
        row(
            "--select NAMES ...",
            "judge only these clauses, areas or rules",
            commands=_LOGS,
            words="names",
            **setting("select"),
        ),
        row(
            "--ignore NAMES ...",
            "do not judge these",
            commands=_LOGS,
            words="names",
            **setting("ignore", "[]"),
        ),
        row(
            "--extend-select NAMES ...",
            "judge these as well",
            commands=_JUDGING,
            **setting("extend-select", "[]"),
        ),
        row(
            "--extend-ignore NAMES ...",
            "nor these",
            commands=_JUDGING,
            **setting("extend-ignore", "[]"),
        ),
        row("--settings FILE", "the one settings file for all", commands=_LOGS),
        row("--isolated", "read no settings file", commands=_LOGS),
        row(
            "--waivers FILE",
            "what may fail, why, until when",
            "path",
            commands=_WITH_WAIVERS | {"telemetry"},
            **setting("waivers"),
        ),
        row(
            "--baseline FILE",
            "what failed before: not new",
            "path",
            commands=_REPORTING | {"telemetry"},
            **setting("baseline"),
        ),
        row("--no-inline-ignores", "comments waive nothing", commands=_WITH_WAIVERS),
    ),
    *rows(
        "Files",
        _FILES,
        row(
            "--exclude PATTERN ...",
            "do not search these in folders",
            **setting("exclude", "[]", "run"),
        ),
        row(
            "--force-exclude",
            "leave these out where they are named, too",
            **setting("force-exclude", "false", "run"),
        ),
        row("--format FORMAT", "read every file as this format", words="formats"),
        row("--stdin-filename NAME", "name of the file that `-` reads"),
        row("--each", "judge every file alone", **setting("each", "false", "run")),
        row(
            "--by-folder",
            "files of different folders are no one plan",
            **setting("by-folder", "false", "run"),
        ),
        row(
            "--plugins",
            "use readers and rules of installed packages",
            commands=_JUDGING,
            **setting("plugins", "false", "run"),
        ),
        row(
            "--skip-unknown",
            "files of other kinds are no error",
            **setting("skip-unknown", "false", "run"),
        ),
        row(
            "--show-files",
            "list what each file was taken for, and stop",
            commands={FILE, "plan"},
        ),
        row(
            "--show-settings",
            "each value in force, from where, and stop",
            commands=_FILES - {"preflight"},
        ),
        row("--watch", "judge again whenever a file changes"),
    ),
    *rows(
        "Report",
        _REPORTING,
        row(
            "--output FORMAT[=FILE] ...",
            "text (default); speccheck --help lists all",
            words="reports",
            **setting("output", '["text"]', "run"),
        ),
        row(
            "--sarif-include-waived",
            "what is waived, too: not for GitHub",
            commands=_WITH_WAIVERS,
        ),
        row("--plot FILE", "draw measured curves: .svg or .png"),
        row(
            "--full",
            "show every finding, also what holds",
            commands=_SHOWING,
            **setting("full", "false", "run"),
        ),
        row("--statistics", "count the findings of each rule", commands=_WITH_WAIVERS),
        row(
            "--fail-on LEVEL",
            "error (default), warning, info or never",
            commands=_SHOWING,
            words=FAIL_ON,
            **setting("fail-on", '"error"', "run"),
        ),
        row(
            "--color WHEN",
            "auto (default), always or never",
            commands=_SHOWING | {"bench expect"},
            words=COLORS,
            **setting("color", '"auto"', "run"),
        ),
        row(
            "--out FILE",
            "the baseline; speccheck-baseline.json by default",
            commands={"baseline"},
        ),
    ),
    *rows(
        "Fixes",
        _FILES,
        row("--diff", "show what --fix would change; exit 1 if anything"),
        row("--fix", "mend what can be mended safely, and judge again"),
        row("--unsafe-fixes", "also what changes the training itself"),
    ),
    *rows(
        "Plan (speccheck plan)",
        {FILE, "plan"},
        row("--what-if NAME=VALUE ...", "judge the plan with other values too"),
    ),
    *rows(
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
            "facts of plans with a file that matches a pattern; of several the last "
            "counts",
            "facts_by_pattern",
        ),
    ),
)


OPTIONS = tuple(option for option in ROWS if FILE in option.commands)


def options_help(options: tuple[Option, ...] = OPTIONS) -> str:
    """Return the help of options, by group."""
    lines: list[str] = []
    for group in dict.fromkeys(option.group for option in options):
        lines.append(f"\n{group}:")
        for option in options:
            if option.group == group:
                left = f"{option.flag} {option.metavar}".rstrip()
                lines.append(f"  {left:<26} {option.help}")
    return "\n".join(lines)
