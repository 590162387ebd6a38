"""What rules make fixes of: places of which it is certain what stands there.

A leaf of the plan is in one unit whatever its file counts in, and several keys may feed
it. A fix may write to a file only where that file holds the leaf's very value: then the
key counts in the leaf's unit, and another value may stand in its place.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from speccheck.validator.evidence.finding import (
    Change,
    Fix,
    SafeBecause,
    Scalar,
    to_add,
    to_remove,
    to_rename,
    to_set,
)
from speccheck.validator.evidence.value import Place, Value

if TYPE_CHECKING:
    from speccheck.validator.evidence.environment import Variable
    from speccheck.validator.evidence.framework_keys import KeyRow
    from speccheck.validator.evidence.stated_keys import (
        KeyedFile,
        LoadedAs,
        StatedKey,
        StatedKeys,
    )


def place_of(leaf: Value[Any], *keys: str) -> Place | None:
    """Return the one place that states a leaf, if its key ends with one of `keys`.

    For launch options and keys whose unit the rule knows.
    """
    if leaf.status != "stated" or len(leaf.places) != 1:
        return None
    place = leaf.places[0]
    named = any(place.key == key or place.key.endswith(f".{key}") for key in keys)
    return place if named else None


def written_place(leaf: Value[Any], stated: "StatedKeys") -> Place | None:
    """Return a place that states a leaf, if its file holds that very value there."""
    key = _stated_key(leaf, stated)
    if key is None or not _is_same(key.value, leaf.value):
        return None
    return key.value_place


def rewritten(
    leaf: Value[Any],
    value: Scalar,
    stated: "StatedKeys",
    *,
    because: SafeBecause = "",
) -> Fix | None:
    """Return the fix to another value of a leaf; None if the place is not certain."""
    place = written_place(leaf, stated)
    if place is None:
        return None
    return Fix(f"set {place.key} to {shown(value)}", (to_set(place, value),), because)


def switched(
    leaf: Value[bool], stated: "StatedKeys", *, on: bool, because: SafeBecause = ""
) -> Fix | None:
    """Return the fix that turns a switch: true to false, or its flag goes."""
    key = _stated_key(leaf, stated)
    if key is None or leaf.value is not (not on):
        return None
    if key.value is leaf.value:
        return rewritten(leaf, on, stated, because=because)
    return without_keys([key]) if key.value == [] else None


def without_keys(keys: "Iterable[StatedKey]") -> Fix | None:
    """Return the fix that drops keys and flags; None if only sometimes set."""
    gone = tuple(keys)
    if not gone or not all(key.is_certain for key in gone):
        return None
    places = [key.value_place for key in gone]
    names = ", ".join(dict.fromkeys(place.key for place in places))
    return Fix(f"delete {names}", tuple(to_remove(place) for place in places))


def without_variables(variables: "Iterable[Variable]") -> Fix:
    """Remove the variables from every pod of a job."""
    gone = tuple(variables)
    names = ", ".join(variable.name for variable in gone)
    changes = tuple(
        to_remove(place) for variable in gone for place in variable.written_at
    )
    return Fix(f"delete {names}", changes)


def variable_set(variable: "Variable", value: str, *, because: SafeBecause = "") -> Fix:
    """Set a variable to another value in each pod of a job that sets it."""
    changes = tuple(to_set(place, value) for place in variable.written_at)
    return Fix(f"set {variable.name}={value}", changes, because)


def variable_renamed(
    variable: "Variable", name: str, *, because: SafeBecause = ""
) -> Fix:
    """Rename a variable in each pod of a job that sets it."""
    changes = tuple(to_rename(place, name) for place in variable.written_at)
    return Fix(f"rename {variable.name} to {name}", changes, because)


def the_flag(stated: "StatedKeys", name: str) -> "StatedKey | None":
    """Return the flag of a command line, where it is surely given, and once."""
    stated_keys = [
        key for file in stated.files for key in file.keys if key.path == (name,)
    ]
    is_certain = len(stated_keys) == 1 and stated_keys[0].is_certain
    return stated_keys[0] if is_certain else None


def combined(says: str, changes: Iterable[Change], *, because: SafeBecause = "") -> Fix:
    """Return several changes that belong together as one fix."""
    return Fix(says, tuple(changes), because)


def shown(value: Scalar) -> str:
    """Return a value as a message shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _stated_key(leaf: Value[Any], stated: "StatedKeys") -> "StatedKey | None":
    """Return the only key that states a leaf."""
    if leaf.status != "stated" or len(leaf.places) != 1:
        return None
    place = leaf.places[0]
    stated_keys = [
        key
        for file in stated.files
        if file.file == place.file
        for key in file.keys
        if _is_at(key, place)
    ]
    is_certain = len(stated_keys) == 1 and stated_keys[0].is_certain
    return stated_keys[0] if is_certain else None


def _is_at(key: "StatedKey", place: Place) -> bool:
    if place.path:
        own = key.place
        return own.path == place.path and own.document == place.document
    return key.path == (place.key,)


def _is_same(written: object, value: object) -> bool:
    """Return whether a file holds the value itself.

    Texts of a command line are read.
    """
    if isinstance(written, bool) or isinstance(value, bool):
        return written is value
    if isinstance(written, str) and isinstance(value, int | float):
        try:
            return float(written) == value
        except ValueError:
            return False
    return written == value


def renamed_key(file: "KeyedFile", key: "StatedKey", row: "KeyRow") -> Fix | None:
    """Return the fix of a key's name; None where another name means something else.

    Safe where the file states its release: an older one knows the old name alone.
    """
    if not row.renamed or len(row.deprecated_by) != 1 or not key.is_certain:
        return None
    above, _, old = row.path.rpartition(".")
    new_above, _, new = row.deprecated_by[0].rpartition(".")
    if key.path[-1] != old or above != new_above:
        return None  # an alias, or a name at another level
    if any(stated_key.path == (*key.path[:-1], new) for stated_key in file.keys):
        return None
    says = f"rename {key.place.key} to {new}"
    because: SafeBecause = "same meaning" if _takes(file, key, row) else ""
    return Fix(says, (to_rename(key.value_place, new),), because)


def _takes(file: "KeyedFile", key: "StatedKey", row: "KeyRow") -> bool:
    """Return whether the release of a file has the old name and the new one."""
    table, version = file.catalogue, file.version
    if table is None or version is None or version.or_newer:
        return False
    successor = tuple(row.deprecated_by[0].split("."))
    return not table.removed(key.path, version) and not table.too_new(
        successor, version
    )


def typed(loaded_as: "LoadedAs", *, because: SafeBecause = "") -> Fix | None:
    """Write a text so that it loads as what its writer means.

    Never safe for a text that means false: as a text it has counted as true.
    """
    value = _meant(loaded_as.written.strip("\"'"), loaded_as.expected)
    if value is None:
        return None
    says = f"write {loaded_as.key} as {_AS.get(loaded_as.expected, loaded_as.expected)}"
    return Fix(
        says, (to_set(loaded_as.place, value),), "" if value is False else because
    )


_AS = {"true or false": "a switch", "the word 'no' in quotes": "a text"}


def _meant(text: str, expected: str) -> Scalar:
    """Return the value of a text as the expected type; None if that is not certain."""
    if expected == "a text in quotes":
        return text
    if expected == "the word 'no' in quotes":
        return "no"
    if expected == "true or false":
        return {"true": True, "false": False}.get(text.lower())
    digits = text.removeprefix("-")
    if expected == "a whole number" or digits.isdecimal():
        return int(text) if digits.isdecimal() else None
    try:
        return float(text) if expected == "a number" else None
    except ValueError:
        return None


def flag_added(beside: Place, name: str) -> Fix:
    """Add a flag without argument behind another one of the same command."""
    return Fix(f"add {name}", (to_add(beside, name, None),))
