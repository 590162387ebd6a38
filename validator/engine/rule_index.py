"""Finds the rules: every module below the package of rules holds one.

`rules/index.json` says which clause each rule judges and for which plans, so that a
run imports only the rules that apply: two thirds of them for most files. It is
generated, and the folders count, not the index: a rule that is not in it is imported to
be looked at.

Rules and readers of installed packages are looked for only when the user asks. A
package names them in its metadata: `speccheck.sources` for a reader (or a module with a
`READER`), `speccheck.rules` for a package whose modules each hold one rule, as those of
speccheck do.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

import speccheck.rules
from speccheck.validator.evidence.record import Record
from speccheck.validator.rule import Confidence, Rule, Scope
from speccheck.validator.sources.reader import AnyReader, PluginFault

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_FOLDER = os.path.dirname(speccheck.rules.__file__)
INDEX = os.path.join(_FOLDER, "index.json")
_OF_ANY: tuple[Any, ...] = ((), (), (), "plan")  # frameworks, about, needs, scope


class RuleEntry(Record):
    """A rule by its names, whether or not its module is imported.

    module: where a rule of a plugin lies; empty for those that come with speccheck.
    """

    area: str
    name: str
    clause: str
    confidence: Confidence = "exact"
    frameworks: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    scope: Scope = "plan"
    module: str = ""

    def load(self) -> Rule:
        """Import the rule; raises StaleIndex when it says otherwise than this."""
        rule = imported_rule(self)
        if entry_of(rule, self.area, self.module) != self:
            message = f"{INDEX}: {self.name} judges {rule.clause}: run make generate"
            raise StaleIndex(message)
        return rule


# A rule before and after its module is imported.
ListedRule = RuleEntry | Rule


class StaleIndex(Exception):  # noqa: N818 - says what is wrong with a generated file
    """The index says of a rule what the rule does not say of itself."""


class RulesByClause(Mapping[str, Sequence[RuleEntry]]):
    """The rules of each clause; none of them is imported yet."""

    def __init__(self, entries: Sequence[RuleEntry]) -> None:
        """Take the rules that count."""
        self._entries: dict[str, list[RuleEntry]] = {}
        for entry in entries:
            self._entries.setdefault(entry.clause, []).append(entry)

    def __getitem__(self, clause: str) -> Sequence[RuleEntry]:
        """Return the rules of a clause."""
        return self._entries[clause]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@cache
def rule_entries() -> tuple[RuleEntry, ...]:
    """Return all rules that come with speccheck, ordered by area and name."""
    known = _index()
    return tuple(
        known.get(name) or entry_of(_rule(area, name)) for area, name in _modules()
    )


def built_in_rules() -> list[Rule]:
    """Return all rules that come with speccheck, imported, ordered by area and name."""
    return [_rule(area, name) for area, name in _modules()]


def index_text() -> str:
    """Return what `rules/index.json` must hold."""
    entries = [entry_of(rule) for rule in built_in_rules()]
    content: dict[str, list[object]] = {}
    for entry in entries:
        row: list[object] = [entry.area, entry.clause, entry.confidence]
        row += [entry.frameworks, entry.about, entry.needs, entry.scope]
        while row[-1] in {(), _OF_ANY[-1]}:
            row.pop()
        content[entry.name] = row
    rows = (
        f"{json.dumps(name)}: {json.dumps(content[name])}" for name in sorted(content)
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"


def entry_of(rule: Rule, area: str = "", module: str = "") -> RuleEntry:
    """Return what the index says of a rule; area and module: of one from a plugin."""
    return RuleEntry(
        area or rule.area,
        rule.name,
        rule.clause,
        rule.confidence,
        rule.frameworks,
        rule.about,
        rule.needs,
        rule.scope,
        module,
    )


def _index() -> dict[str, RuleEntry]:
    try:
        with open(INDEX, encoding="utf-8") as file:
            result: dict[str, list[Any]] = json.load(file)
    except FileNotFoundError:
        return {}
    entries: dict[str, RuleEntry] = {}
    for name, (area, clause, confidence, *rest) in result.items():
        *concerns, scope = *rest, *_OF_ANY[len(rest) :]
        frameworks, about, needs = map(tuple, concerns)
        entries[name] = RuleEntry(
            area, name, clause, confidence, frameworks, about, needs, scope
        )
    return entries


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
    rule: Rule = getattr(module, name)
    return rule


def imported_rule(entry: RuleEntry) -> Rule:
    """Return the rule of an entry; raises what its import raises."""
    if not entry.module:
        return _rule(entry.area, entry.name)
    rule = getattr(import_module(entry.module), entry.name)
    if not isinstance(rule, Rule):
        message = f"{entry.module}.{entry.name} is no rule"
        raise TypeError(message)
    return rule


SOURCES = "speccheck.sources"
RULES = "speccheck.rules"


def plugin_readers() -> list[AnyReader]:
    """Return the readers of installed packages.

    Raises PluginFault, naming the package.
    """
    result: list[AnyReader] = []
    for point in _points(SOURCES):
        loaded = _loaded(point)
        reader = getattr(loaded, "READER", loaded)
        if not isinstance(reader, AnyReader):
            message = f"{_point_name(point)} holds no READER"
            raise PluginFault(message)
        result.append(reader)
    return result


def plugin_rules() -> list[RuleEntry]:
    """Return the rules of installed packages.

    Raises PluginFault, naming the package.
    """
    return [entry for point in _points(RULES) for entry in _rules_of(point)]


def _rules_of(point: "EntryPoint") -> Iterator[RuleEntry]:
    package = _loaded(point)
    folders = getattr(package, "__path__", None)
    if folders is None:
        message = f"{_point_name(point)} is no package with a rule in each file"
        raise PluginFault(message)
    for folder in folders:
        for file in sorted(os.listdir(folder)):
            if not file.endswith(".py") or file.startswith("_"):
                continue
            name = file[:-3]
            module = f"{point.value}.{name}"
            entry = RuleEntry(point.name, name, "", module=module)
            try:
                rule = imported_rule(entry)
            except Exception as error:  # a plugin may raise anything when imported
                message = (
                    f"{_point_name(point)}: {name} holds no rule of that name: {error}"
                )
                raise PluginFault(message) from error
            yield entry_of(rule, point.name, module)


def _points(group: str) -> "list[EntryPoint]":
    from importlib.metadata import entry_points  # noqa: PLC0415 - 10 ms, and seldom

    return sorted(entry_points(group=group), key=lambda point: point.name)


def _loaded(point: "EntryPoint") -> object:
    try:
        return point.load()
    except Exception as error:  # a plugin may raise anything when imported
        message = f"{_point_name(point)} does not load: {error}"
        raise PluginFault(message) from error


def _point_name(point: "EntryPoint") -> str:
    return f"plugin {point.name} ({point.group} = {point.value})"
