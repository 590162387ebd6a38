"""The options of `speccheck FILE...`: one table for all that knows them.

Parsing, help, completion, settings and the reference of the command line follow it.
"""

from typing import Literal

from speccheck.validator.evidence.record import Record

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
    _names("--profile", "ci (files), preflight (machines), size/L, ...", "P", _SPEC),
    Option("--spec", "edition, or a folder with one", "text", "EDITION", group=_SPEC),
    Option("--enforce", "the same, beside --warn", "text", "EDITION", group=_SPEC),
    Option("--warn", "a second one, which only warns", "text", "EDITION", group=_SPEC),
    Option("--tailor", "own numbers: why, whose, until", "text", "FILE", group=_SPEC),
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
FAIL_ON = ("error", "warning", "info", "never")

Value = str | int | float | bool | list[str]
