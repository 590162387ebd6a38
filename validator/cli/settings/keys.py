"""The settings: one table for parsing, help, the JSON Schema and the documentation.

What an option of the command line says as well takes its kind and its help from there.
"""

from typing import Literal

from speccheck.validator.cli.option_table import FAIL_ON, OPTIONS
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.context import ROLES

# texts: a list of texts, or one. levels, names_by_pattern, facts_by_pattern: tables
# whose keys the user chooses.
Kind = Literal[
    "switch",
    "text",
    "texts",
    "integer",
    "number",
    "path",
    "levels",
    "names_by_pattern",
    "facts_by_pattern",
]
# run: for all that is judged at once. plan: by the file that a plan is about.
Scope = Literal["run", "plan"]
FACTS = "facts"
FACTS_FOR = "facts-for"
EXTEND = "extend"
MANDATORY = "mandatory"
LEVELS = "levels"
IGNORES_BY_FILE = ("per-file-ignores", "extend-per-file-ignores")
# Of several files the values of these add up; of all others the closest file counts.
ADDING = frozenset(
    {"extend-select", "extend-ignore", "extend-per-file-ignores", MANDATORY}
)
LEVEL_NAMES = ("error", "warning", "info")


class Key(Record):
    """One setting.

    default: as JSON; empty where there is none. option: the flag that says the same for
    one run; empty where none does.
    undone_by: the flag that turns it off for one run. words: the only values, where
    there are but a few.
    """

    name: str
    kind: Kind
    scope: Scope
    help: str
    default: str = ""
    option: str = ""
    words: tuple[str, ...] = ()
    undone_by: str = ""

    @property
    def option_name(self) -> str:
        """The name under which the command line keeps the value."""
        return self.option.removeprefix("--").replace("-", "_")


_OPTIONS = {option.flag: option for option in OPTIONS}


def _as_option(
    name: str,
    scope: Scope,
    default: str = "",
    words: tuple[str, ...] = (),
    kind: Kind | None = None,
) -> Key:
    """A setting that is an option as well, by the last part of its name."""
    option = _OPTIONS["--" + name.rpartition(".")[2]]
    kind = kind or ("texts" if option.repeatable else option.kind)
    return Key(name, kind, scope, option.help, default, option.flag, words)


KEYS: tuple[Key, ...] = (
    Key(
        EXTEND,
        "path",
        "plan",
        "another settings file, whose values hold where this one has none",
    ),
    _as_option("spec", "run", '"1.0"'),
    _as_option("warn", "run"),
    Key(
        "tailoring",
        "path",
        "run",
        _OPTIONS["--tailor"].help,
        option="--tailor",
    ),
    _as_option("profile", "plan", '["ci"]'),
    _as_option("select", "plan"),
    _as_option("ignore", "plan", "[]"),
    _as_option("extend-select", "plan", "[]"),
    _as_option("extend-ignore", "plan", "[]"),
    Key(
        MANDATORY,
        "texts",
        "plan",
        "clauses, areas or rules that nothing below can switch off or waive",
        "[]",
    ),
    _as_option("fail-on", "run", '"error"', FAIL_ON),
    _as_option("output", "run", '["text"]'),
    _as_option("color", "run", '"auto"', ("auto", "always", "never")),
    _as_option("full", "run", "false"),
    _as_option("plugins", "run", "false"),
    _as_option("by-folder", "run", "false"),
    _as_option("each", "run", "false"),
    _as_option("skip-unknown", "run", "false"),
    _as_option("exclude", "run", "[]"),
    _as_option("force-exclude", "run", "false"),
    _as_option("waivers", "plan", kind="path"),
    _as_option("baseline", "plan", kind="path"),
    Key(
        "inline-ignores",
        "switch",
        "plan",
        "whether comments beside settings may waive what fails",
        "true",
        undone_by="--no-inline-ignores",
    ),
    *(
        Key(name, "names_by_pattern", "plan", text, "{}")
        for name, text in zip(
            IGNORES_BY_FILE,
            (
                "names whose failures are waived in files that match a pattern",
                "the same, beside those of the files that this one extends",
            ),
            strict=True,
        )
    ),
    Key(
        LEVELS,
        "levels",
        "plan",
        "clauses, areas or rules whose failures weigh at least so much: error, "
        "warning or info",
        "{}",
        words=LEVEL_NAMES,
    ),
    _as_option("facts.gpu", "plan"),
    _as_option("facts.gpus-per-node", "plan"),
    _as_option("facts.nodes", "plan"),
    _as_option("facts.instance", "plan"),
    _as_option("facts.fabric", "plan"),
    _as_option("facts.nvlink-domain", "plan"),
    _as_option("facts.hours", "plan"),
    _as_option("facts.step-seconds", "plan"),
    _as_option("facts.mtbf-hours", "plan"),
    _as_option("facts.framework-version", "plan"),
    _as_option("facts.nccl-version", "plan"),
    _as_option("facts.role", "plan", words=ROLES),
    Key(
        FACTS_FOR,
        "facts_by_pattern",
        "plan",
        "facts of plans with a file that matches a pattern; of several the last counts",
        "{}",
    ),
)
BY_NAME = {key.name: key for key in KEYS}
FACT_KEYS = {
    key.name.partition(".")[2]: key for key in KEYS if key.name.startswith(FACTS + ".")
}
# What may stand at the top of a settings file.
TOP = tuple(dict.fromkeys(key.name.partition(".")[0] for key in KEYS))
