"""One thing under its names in several frameworks: for keys in the wrong one."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from speccheck.validator.catalogue.files import read_compiled

COMPILED = "synonyms"
# A shorter last part (`seed`, `tp`, `steps`) means different things here and there.
_SHORTEST = 7


def compile_synonyms(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The key of each field of the plan by framework, from the tables' `plan_mapping`.

    Fields that several keys state together, and sections of launchers, are left out.
    """
    found: dict[str, dict[str, str]] = {}
    for name, table in tables.items():
        keys: dict[str, str] = {}
        for field, rows in (table.get("plan_mapping") or {}).items():
            row = rows[0] if isinstance(rows, list) else rows
            key = row.get("key") or ""
            if key and "," not in key and ":" not in key:
                keys[field] = key
        found[name] = keys
    return found


def name_elsewhere(framework: str, path: str) -> tuple[str, str] | None:
    """The framework that has this key, and what `framework` calls the same thing.

    None when no other framework has it, when it means several things, or when there is
    no name for it here.
    """
    last = _last(path)
    if len(last) < _SHORTEST:
        return None
    own = _tables().get(framework, {})
    found = {
        (field, name)
        for name, keys in _tables().items()
        if name != framework
        for field, key in keys.items()
        if _last(key) == last
    }
    here = {own[field] for field, _ in found if field in own}
    if len(here) != 1:
        return None
    (key,) = here
    others = sorted(name for field, name in found if own.get(field) == key)
    return (" and ".join(others[:2]), key) if _last(key) != last else None


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    tables: Mapping[str, Mapping[str, str]] = read_compiled(COMPILED)
    return tables


def _last(key: str) -> str:
    return key.rpartition(".")[2].strip("-").replace("-", "_").lower()
