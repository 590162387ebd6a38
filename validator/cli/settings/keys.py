"""The settings: the rows of the table of options that settings files know by a name."""

from typing import Literal

from speccheck.validator.cli.option_table import ROWS, Kind, Option, Scope
from speccheck.validator.evidence.record import Record

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
_UNDONE = {"inline-ignores": "--no-inline-ignores"}
# As the page and the schema list them.
_ORDER = (
    *(EXTEND, "spec", "warn", "tailoring", "profile", "select", "ignore"),
    *("extend-select", "extend-ignore", MANDATORY, "fail-on", "require"),
    *("min-coverage", "output", "color"),
    *("full", "plugins", "by-folder", "each", "skip-unknown", "exclude"),
    *("force-exclude", "waivers", "baseline", "inline-ignores", *IGNORES_BY_FILE),
    *(LEVELS, "facts.gpu", "facts.gpus-per-node", "facts.nodes", "facts.instance"),
    *("facts.fabric", "facts.nvlink-domain", "facts.hours", "facts.step-seconds"),
    *("facts.mtbf-hours", "facts.framework-version", "facts.nccl-version"),
    *("facts.role", FACTS_FOR),
)


class Key(Record):
    """One setting.

    Attributes:
        name: in settings files, with its table.
        kind: that of the option; "texts" for a list of texts, or one.
        scope: what one value of it is for.
        help: what it says.
        default: as JSON; empty where there is none.
        option: the flag that says the same for one run; empty where none does.
        words: the only values, where there are but a few.
        undone_by: the flag that turns it off for one run.

    """

    name: str
    kind: Kind | Literal["texts"]
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


def _key(row: Option) -> Key:
    return Key(
        row.setting,
        "texts" if row.repeatable else row.kind,
        row.scope,
        row.help,
        row.default,
        row.flag,
        () if isinstance(row.words, str) else row.words,
        _UNDONE.get(row.setting, ""),
    )


_ROWS = {row.setting: row for row in ROWS if row.setting}
KEYS = tuple(_key(_ROWS[name]) for name in _ORDER)
BY_NAME = {key.name: key for key in KEYS}
FACT_KEYS = {
    key.name.partition(".")[2]: key for key in KEYS if key.name.startswith(FACTS + ".")
}
# What may stand at the top of a settings file.
TOP = tuple(dict.fromkeys(key.name.partition(".")[0] for key in KEYS))
