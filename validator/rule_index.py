"""Finds the rules: every module below the package of rules holds one.

`rules/index.json` says which clause each rule judges, so that a run imports only the
rules of clauses that apply: a third of the rules for most files. It is generated, and
the folders count, not the index: a rule that is not in it is imported to be asked.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.machinery import SourceFileLoader
from types import ModuleType

import speccheck.rules
from speccheck.validator.evidence.record import Record
from speccheck.validator.rule import Rule

_FOLDER = os.path.dirname(speccheck.rules.__file__)
INDEX = os.path.join(_FOLDER, "index.json")


class RuleEntry(Record):
    """A rule by its names, whether or not its module is imported."""

    area: str
    name: str
    clause: str


class StaleIndex(Exception):  # noqa: N818 - says what is wrong with a generated file
    """The index names another clause than a rule does."""


class RulesByClause(Mapping[str, Sequence[Rule]]):
    """The rules of each clause, imported when they are asked for."""

    def __init__(self, entries: Sequence[RuleEntry]) -> None:
        """Take the rules that count."""
        self._entries: dict[str, list[RuleEntry]] = {}
        for entry in entries:
            self._entries.setdefault(entry.clause, []).append(entry)

    def __getitem__(self, clause: str) -> Sequence[Rule]:
        """The rules of a clause; raises StaleIndex when one judges another clause."""
        return [_imported(entry) for entry in self._entries[clause]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@cache
def rule_entries() -> tuple[RuleEntry, ...]:
    """All rules that come with speccheck, ordered by area and name."""
    known = _index()
    return tuple(
        RuleEntry(area, name, known.get(name) or _rule(area, name).clause)
        for area, name in _modules()
    )


def built_in_rules() -> list[Rule]:
    """All rules that come with speccheck, imported, ordered by area and name."""
    return [_rule(area, name) for area, name in _modules()]


def index_text() -> str:
    """What `rules/index.json` must hold."""
    clauses = {rule.name: rule.clause for rule in built_in_rules()}
    return json.dumps(clauses, indent=1, sort_keys=True) + "\n"


def _index() -> dict[str, str]:
    try:
        with open(INDEX, encoding="utf-8") as file:
            found: dict[str, str] = json.load(file)
    except FileNotFoundError:
        return {}
    return found


def _modules() -> Iterator[tuple[str, str]]:
    for area in sorted(entry.name for entry in os.scandir(_FOLDER) if entry.is_dir()):
        for name in sorted(os.listdir(os.path.join(_FOLDER, area))):
            if name.endswith(".py") and not name.startswith("_"):
                yield area, name[:-3]


def _rule(area: str, name: str) -> Rule:
    """Import the module of a rule.

    Its file is known, so that nothing has to be searched for: to leave that to the
    finders of the import system costs as much again for each of a hundred modules.
    """
    full_name = f"speccheck.rules.{area}.{name}"
    module = sys.modules.get(full_name)
    if module is None:
        path = os.path.join(_FOLDER, area, f"{name}.py")
        loader = SourceFileLoader(full_name, path)
        module = ModuleType(full_name)
        module.__file__ = path
        sys.modules[full_name] = module
        loader.exec_module(module)
    found: Rule = getattr(module, name)
    return found


def _imported(entry: RuleEntry) -> Rule:
    found = _rule(entry.area, entry.name)
    if found.clause != entry.clause:
        message = f"{INDEX}: {entry.name} judges {found.clause}: run make generate"
        raise StaleIndex(message)
    return found


def main() -> int:
    """Write the index."""
    with open(INDEX, "w", encoding="utf-8", newline="\n") as file:
        file.write(index_text())
    return 0


if __name__ == "__main__":
    main()
