"""Container engines: what they give by default, and the options that change it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.record import Record


class Engine(Record):
    """One engine, by its id in schemas/catalogues/containers/engines.yaml.

    Attributes:
        commands: the programs that start it.
        verbs: those of a program that start a container; empty where it has none.
        entering: verbs that run a command in a container that is there already.
        marks: the option that says that a container is meant, of another program.
        options: setting by flag.
        present: what a flag without a value means, by setting.
        switches: further flags without a value.
        lists: settings whose values are parted by commas.
        defaults: what holds without an option, by setting.
        source: where its options are documented.

    """

    id: str
    defaults: Mapping[str, str]
    source: str
    commands: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    entering: tuple[str, ...] = ()
    marks: str = ""
    options: Mapping[str, str] = {}
    present: Mapping[str, str] = {}
    switches: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()

    def takes_value(self, flag: str) -> bool:
        """Return whether an option takes the word behind it."""
        setting = self.options.get(flag)
        if setting is not None:
            return setting not in self.present
        return flag not in self.switches

    def default(self, setting: str) -> str:
        """Return what holds without an option; raises KeyError for a wrong name."""
        return self.defaults[setting]


@cache
def engines() -> Mapping[str, Engine]:
    """Return all engines by id."""
    return {row["id"]: _engine(row) for row in read_compiled("containers")}


@cache
def engines_by_command() -> Mapping[str, Engine]:
    """Return the engines by the programs that start them."""
    return {name: engine for engine in engines().values() for name in engine.commands}


def _engine(row: Mapping[str, Any]) -> Engine:
    return Engine(
        id=row["id"],
        defaults=row["defaults"],
        source=row["source"],
        commands=tuple(row.get("commands", ())),
        verbs=tuple(row.get("verbs", ())),
        entering=tuple(row.get("entering", ())),
        marks=row.get("marks", ""),
        options=row.get("options", {}),
        present=row.get("present", {}),
        switches=frozenset(row.get("switches", ())),
        lists=frozenset(row.get("lists", ())),
    )
