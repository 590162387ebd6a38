"""Readers and rules of installed packages; looked for only when the user asks.

A package names them in its metadata: `speccheck.sources` for a reader (or a module with
a `READER`), `speccheck.rules` for a package whose modules each hold one rule, as those
of speccheck do.
"""

import os
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points

from speccheck.validator.engine.rule_index import RuleEntry, entry_of, imported_rule
from speccheck.validator.sources.reader import AnyReader, PluginFault

SOURCES = "speccheck.sources"
RULES = "speccheck.rules"


def plugin_readers() -> list[AnyReader]:
    """The readers of installed packages; raises PluginFault, naming the package."""
    found: list[AnyReader] = []
    for point in _points(SOURCES):
        loaded = _loaded(point)
        reader = getattr(loaded, "READER", loaded)
        if not isinstance(reader, AnyReader):
            message = f"{_name(point)} holds no READER"
            raise PluginFault(message)
        found.append(reader)
    return found


def plugin_rules() -> list[RuleEntry]:
    """The rules of installed packages; raises PluginFault, naming the package."""
    return [entry for point in _points(RULES) for entry in _rules(point)]


def _rules(point: EntryPoint) -> Iterator[RuleEntry]:
    package = _loaded(point)
    folders = getattr(package, "__path__", None)
    if folders is None:
        message = f"{_name(point)} is no package with a rule in each file"
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
                message = f"{_name(point)}: {name} holds no rule of that name: {error}"
                raise PluginFault(message) from error
            yield entry_of(rule, point.name, module)


def _points(group: str) -> list[EntryPoint]:
    return sorted(entry_points(group=group), key=lambda point: point.name)


def _loaded(point: EntryPoint) -> object:
    try:
        return point.load()
    except Exception as error:  # a plugin may raise anything when imported
        message = f"{_name(point)} does not load: {error}"
        raise PluginFault(message) from error


def _name(point: EntryPoint) -> str:
    return f"plugin {point.name} ({point.group} = {point.value})"
