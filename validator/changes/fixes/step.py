"""A change of a document by key paths alone, and what it makes of the data."""

from typing import Literal

from speccheck.validator.changes.fixes.edit import CannotEdit
from speccheck.validator.evidence.finding import Change, Scalar
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import path_step

# By which keys lists name their entries: of `- name: NCCL_DEBUG`, `value: WARN`.
_ENTRY_NAMES = ("name", "key")


class Step(Record):
    """One change of one document.

    set: the value at the path becomes `value`. remove: it goes with its key. rename:
    its key becomes `name`. add: `name` with `value` stands behind the key at the path.
    add_entry: an entry as that at the path, with another `name` and `value`, stands
    behind it.
    """

    kind: Literal["set", "remove", "rename", "add", "add_entry"]
    path: KeyPath
    value: Scalar = None
    name: str = ""


def step_of(change: Change, data: object) -> Step:
    """A change as one of the document; raises CannotEdit where there is no such place.

    A variable that a list holds as an entry with a name, as pods do, is that entry.
    """
    place = change.place
    at_path(data, place.path)
    entry = _entry(place.path, place.key, data)
    if entry is None:
        return Step(change.kind, place.path, change.value, change.name)
    path, named_by = entry
    if change.kind == "rename":
        return Step("set", (*path, named_by), change.name)
    if change.kind == "remove":
        return Step("remove", path)
    text = _as_text(change.value)
    if change.kind == "add":
        return Step("add_entry", path, text, change.name)
    return Step("set", place.path, text)


def _entry(path: KeyPath, key: str, data: object) -> tuple[KeyPath, str] | None:
    """The entry of a list that is called `key`, and the key that names it."""
    if len(path) < len(("list", 0, "value")) or not isinstance(path[-2], int):
        return None
    entry = at_path(data, path[:-1])
    for name in _ENTRY_NAMES:
        if isinstance(entry, dict) and entry.get(name) == key:
            return path[:-1], name
    return None


def _as_text(value: Scalar) -> str:
    """A value as an environment variable holds it."""
    if value is None:
        message = "a variable has a text, not null"
        raise CannotEdit(message)
    return str(value).lower() if isinstance(value, bool) else str(value)


def at_path(data: object, path: KeyPath) -> object:
    """What lies at a path; raises CannotEdit where nothing does."""
    for step in path:
        key = _key(data, step)
        if isinstance(data, dict) and key in data:
            data = data[key]
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            message = "the key is not there any more"
            raise CannotEdit(message)
    return data


def _key(data: object, step: str | int) -> object:
    """The key that a step names: that of `true` and `null` is their text."""
    if isinstance(data, dict) and step not in data:
        return next((key for key in data if path_step(key) == step), step)
    return step


def after(data: object, step: Step) -> object:
    """The data after a step; nothing of what is given is changed."""
    return _after(data, step.path, step)


def _after(data: object, path: KeyPath, step: Step) -> object:
    if not path:
        return step.value
    first, *rest = path
    if isinstance(data, list) and isinstance(first, int):
        found = list(data)
        if rest or step.kind == "set":
            found[first] = _after(found[first], tuple(rest), step)
        elif step.kind == "remove":
            del found[first]
        elif step.kind == "add_entry":
            found.insert(first + 1, entry_like(found[first], step))
        else:
            message = "an item of a list has no key"
            raise CannotEdit(message)
        return found
    if not isinstance(data, dict):
        message = "the key is not there any more"
        raise CannotEdit(message)
    key = _key(data, first)
    if rest or step.kind == "set":
        return {**data, key: _after(data[key], tuple(rest), step)}
    return _of_mapping(data, key, step)


def _of_mapping(data: dict[object, object], key: object, step: Step) -> object:
    if step.kind in {"rename", "add"} and step.name in data:
        message = f"{step.name} is set there already"
        raise CannotEdit(message)
    found: dict[object, object] = {}
    for name, value in data.items():
        if name != key:
            found[name] = value
        elif step.kind == "rename":
            found[step.name] = value
        elif step.kind == "add":
            found |= {name: value, step.name: step.value}
    return found


def entry_like(entry: object, step: Step) -> dict[object, object]:
    """An entry of the same keys, with the name and the value of a step."""
    if isinstance(entry, dict):
        keys = list(entry)
        for name in _ENTRY_NAMES:
            if sorted(map(str, keys)) == sorted([name, "value"]):
                return {key: step.name if key == name else step.value for key in keys}
    message = "the entry beside it holds more than a name and a value"
    raise CannotEdit(message)


def is_same(one: object, other: object) -> bool:
    """Whether two trees hold the same values of the same types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return list(map(repr, sorted(one, key=repr))) == list(
            map(repr, sorted(other, key=repr))
        ) and all(is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other or (one != one and other != other)  # noqa: PLR0124 - NaN
