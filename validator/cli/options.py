"""The options of `speccheck FILE...`: one table for parsing, help and completion."""

from typing import TYPE_CHECKING, Literal

from speccheck.validator.evidence.record import Record

if TYPE_CHECKING:
    from speccheck.validator.cli.settled import Settled

Kind = Literal["switch", "text", "integer", "number"]


class Option(Record):
    """One option; `metavar` is what help shows for its value."""

    flag: str
    help: str
    kind: Kind = "text"
    metavar: str = ""
    repeatable: bool = False
    group: str = "Report"

    @property
    def name(self) -> str:
        """The name under which the parsed value is kept."""
        return self.flag.lstrip("-").replace("-", "_")


class UsageError(Exception):
    """The command line is wrong; the message says what and how to mend it."""


_JOB = "Facts of the job that files seldom state"
_SPEC = "What is judged"
_FILES = "Files"
_REPORT = "Report"
_FIXES = "Fixes"
_PLAN = "Plan (speccheck plan)"


def _job(flag: str, help_text: str, kind: Kind, metavar: str) -> Option:
    return Option(flag, help_text, kind, metavar, group=_JOB)


def _names(flag: str, help_text: str, metavar: str, group: str) -> Option:
    return Option(flag, help_text, "text", metavar, repeatable=True, group=group)


def _file(flag: str, help_text: str, kind: Kind = "text", metavar: str = "") -> Option:
    return Option(flag, help_text, kind, metavar, group=_FILES)


OPTIONS: tuple[Option, ...] = (
    _job("--nodes", "nodes of the job", "integer", "N"),
    _job("--gpus-per-node", "GPUs on each node", "integer", "N"),
    _job("--gpu", "GPU as people write it: H100, H100-80GB", "text", "NAME"),
    _job("--instance", "provider's name: p5.48xlarge", "text", "NAME"),
    _job("--fabric", "infiniband, roce, efa, mrc, ...", "text", "NAME"),
    _job("--nvlink-domain", "GPUs that NVLink joins", "integer", "N"),
    _job("--role", "pretrain, continued, sft, lora, rl, debug", "text", "ROLE"),
    _job("--hours", "expected run time", "number", "H"),
    _job("--step-seconds", "time of one optimizer step", "number", "S"),
    _job("--mtbf-hours", "mean time between job failures", "number", "H"),
    _job("--framework-version", 'such as "transformers 4.57.1"', "text", "V"),
    _job("--nccl-version", "such as 2.27.3", "text", "V"),
    _job("--node", "snapshot of the machine that it runs on", "text", "NODE.JSON"),
    _names("--profile", "ci (default), preflight, certify, size/L, ...", "P", _SPEC),
    Option("--spec", "edition, or a folder with one", "text", "EDITION", group=_SPEC),
    _names("--select", "judge only these clauses, areas or rules", "NAMES", _SPEC),
    _names("--ignore", "do not judge these", "NAMES", _SPEC),
    _names("--extend-select", "judge these as well", "NAMES", _SPEC),
    _names("--extend-ignore", "nor these", "NAMES", _SPEC),
    Option("--settings", "the one settings file for all", "text", "FILE", group=_SPEC),
    Option("--isolated", "read no settings file", "switch", group=_SPEC),
    _names("--exclude", "do not search these in folders", "PATTERN", _FILES),
    _file("--force-exclude", "leave these out where they are named, too", "switch"),
    Option("--waivers", "what may fail, why, until when", "text", "FILE", group=_SPEC),
    Option("--baseline", "what failed before: not new", "text", "FILE", group=_SPEC),
    Option("--no-inline-ignores", "comments waive nothing", "switch", group=_SPEC),
    _file("--format", "read every file as this format", "text", "FORMAT"),
    _file("--stdin-filename", "name of the file that `-` reads", "text", "NAME"),
    _file("--each", "judge every file alone", "switch"),
    _file("--by-folder", "files of different folders are no one plan", "switch"),
    _file("--plugins", "use readers and rules of installed packages", "switch"),
    _file("--skip-unknown", "files of other kinds are no error", "switch"),
    _file("--show-files", "list what each file was taken for, and stop", "switch"),
    _file("--show-settings", "each value in force, from where, and stop", "switch"),
    _file("--watch", "judge again whenever a file changes", "switch"),
    _names(
        "--output",
        "text (default); speccheck --help lists all",
        "FORMAT[=FILE]",
        _REPORT,
    ),
    Option(
        "--diff",
        "show what --fix would change; exit 1 if anything",
        "switch",
        group=_FIXES,
    ),
    Option(
        "--fix",
        "mend what can be mended safely, and judge again",
        "switch",
        group=_FIXES,
    ),
    Option(
        "--unsafe-fixes",
        "also what changes the training itself",
        "switch",
        group=_FIXES,
    ),
    Option("--sarif-include-waived", "what is waived, too: not for GitHub", "switch"),
    Option("--plot", "draw measured curves: .svg or .png", "text", "FILE"),
    Option("--full", "show every finding, also what holds", "switch"),
    Option("--statistics", "count the findings of each rule", "switch"),
    Option("--fail-on", "error (default), warning, info or never", "text", "LEVEL"),
    _names("--what-if", "judge the plan with other values too", "NAME=VALUE", _PLAN),
    Option("--color", "auto (default), always or never", "text", "WHEN"),
)

# Of commands that take their evidence themselves, and read no files of a job.
_OF_FILES = {
    *("--node", "--what-if", "--show-files", "--format", "--stdin-filename"),
    *("--each", "--by-folder", "--skip-unknown", "--watch"),
    *("--diff", "--fix", "--unsafe-fixes"),
    *("--exclude", "--force-exclude", "--show-settings"),
}
OF_JUDGING = tuple(one for one in OPTIONS if one.flag not in _OF_FILES)
# Switches that settings may turn on, so that the command line can turn them off.
UNDONE = frozenset(
    {"full", "plugins", "by_folder", "each", "skip_unknown", "force_exclude"}
)
_NO = "--no-"

Value = str | int | float | bool | list[str]


class Parsed(Record):
    """The command line, taken apart."""

    files: tuple[str, ...]
    values: dict[str, Value]
    settled: "Settled | None" = None  # what settings files say, once they are read


def parse(arguments: list[str], options: tuple[Option, ...] = OPTIONS) -> Parsed:
    """Take the command line apart; raises UsageError."""
    by_flag = {option.flag: option for option in options}
    files: list[str] = []
    values: dict[str, Value] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            files.extend(rest)
        elif argument == "-" or not argument.startswith("-"):
            files.append(argument)
        else:
            flag, equal, text = argument.partition("=")
            option = by_flag.get(flag) or _undone(flag, by_flag)
            if option is None:
                raise UsageError(_unknown(flag, by_flag))
            if option.kind != "switch" and not equal:
                following = next(rest, None)
                if following is None:
                    message = f"{flag} needs a value: {flag} {option.metavar}"
                    raise UsageError(message)
                text = following
            elif option.kind == "switch" and equal:
                message = f"{flag} takes no value"
                raise UsageError(message)
            _put(values, option, text)
    return Parsed(tuple(files), values)


def _unknown(flag: str, known: dict[str, Option]) -> str:
    from speccheck.validator.evidence.nearest import nearest  # noqa: PLC0415 - rare

    close = nearest(flag, known)
    hint = f"did you mean {close}?" if close else "see speccheck --help"
    return f"no option {flag}: {hint}"


def _undone(flag: str, known: dict[str, Option]) -> Option | None:
    """`--no-full`: a switch that settings turn on is off for this run."""
    if "--settings" not in known or not flag.startswith(_NO):
        return None
    undone = known.get("--" + flag.removeprefix(_NO))
    if undone is None or undone.name not in UNDONE:
        return None
    return Option(flag, "", "switch")


def _put(values: dict[str, Value], option: Option, text: str) -> None:
    if option.kind == "switch" and option.flag.startswith(_NO):
        undone = option.flag.removeprefix(_NO).replace("-", "_")
        if undone in UNDONE:
            values[undone] = False
            return
    if option.kind == "switch":
        values[option.name] = True
        return
    if option.repeatable:
        known = values.setdefault(option.name, [])
        if isinstance(known, list):
            known.append(text)
        return
    values[option.name] = _converted(option, text)


def _converted(option: Option, text: str) -> Value:
    if option.kind == "text":
        return text
    try:
        number: int | float = int(text) if option.kind == "integer" else float(text)
    except ValueError:
        number = 0
    if not 0 < number < 1e12:  # noqa: PLR2004 - also refuses nan and infinity
        wanted = "a whole number" if option.kind == "integer" else "a number"
        message = f"{option.flag} {text}: must be {wanted} above zero"
        raise UsageError(message)
    return number


def options_help(options: tuple[Option, ...] = OPTIONS) -> str:
    """The help of all options, by group."""
    lines: list[str] = []
    for group in dict.fromkeys(option.group for option in options):
        lines.append(f"\n{group}:")
        for option in options:
            if option.group == group:
                left = f"{option.flag} {option.metavar}".rstrip()
                lines.append(f"  {left:<26} {option.help}")
    return "\n".join(lines)
