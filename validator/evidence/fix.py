"""A change of files that mends a failure: what to do at which places."""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place

Scalar = str | int | float | bool | None


class Change(Record):
    """One edit of one file, symbolic like every place.

    set: the value at the place becomes `value`. remove: the key goes with its value, a
    variable with its assignment, a flag with its argument. rename: the key, variable or
    flag becomes `name`; its value stays. add: `name` is set to `value` beside the key
    at the place, which shows the level and the style to write it in.
    """

    kind: Literal["set", "remove", "rename", "add"]
    place: Place
    value: Scalar = None
    name: str = ""


class Fix(Record):
    """Edits that belong together: all of them are made, or none.

    is_safe: it changes nothing of what the model learns, neither the mathematics of a
    step nor the data nor the schedule. Only such a fix is made without being asked for
    by name. says: the change in a line, for people.
    """

    says: str
    changes: tuple[Change, ...]
    is_safe: bool


def to_set(place: Place, value: Scalar) -> Change:
    """The value at a place becomes another."""
    return Change("set", place, value)


def to_remove(place: Place) -> Change:
    """A key, variable or flag goes, with its value."""
    return Change("remove", place)


def to_rename(place: Place, name: str) -> Change:
    """A key, variable or flag takes another name and keeps its value."""
    return Change("rename", place, name=name)


def to_add(beside: Place, name: str, value: Scalar) -> Change:
    """A key, variable or flag is set beside another that stands already."""
    return Change("add", beside, value, name)


class PlacedEdit(Record):
    """What stands from one place to another becomes `text`; the end is excluded.

    Lines and columns count from 1, columns in code points.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str
