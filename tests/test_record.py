"""A record is a named tuple in all that the project uses."""

import copy
import pickle
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import pytest

from speccheck.validator.evidence.record import Record

T_co = TypeVar("T_co", covariant=True)


class Named(NamedTuple):
    """What `typing` makes."""

    line: int
    text: str = "a"
    columns: tuple[int, ...] = ()

    @property
    def doubled(self) -> int:
        return 2 * self.line


class Recorded(Record):
    """The same as a record."""

    line: int
    text: str = "a"
    columns: tuple[int, ...] = ()

    @property
    def doubled(self) -> int:
        return 2 * self.line


class Often(Record):
    """The same, of which many have been made."""

    line: int
    text: str = "a"
    columns: tuple[int, ...] = ()

    @property
    def doubled(self) -> int:
        return 2 * self.line


for _number in range(100):
    Often(_number)


class Derived(Recorded):
    """Adds behaviour, no fields."""

    __slots__ = ()

    def tripled(self) -> int:
        return 3 * self.line


class Holder(Record, Generic[T_co]):
    """A generic one."""

    value: T_co | None = None


class Empty(Record):
    """One without fields."""


def _outcome(use: Callable[[Any], object], kind: type) -> object:
    """Return what a use gives, with the name of the class taken out."""
    try:
        found = use(kind)
    except (TypeError, ValueError, AttributeError) as error:
        return type(error), str(error).replace(kind.__name__, "KIND").lower()
    if isinstance(found, str):
        return found.replace(kind.__name__, "KIND")
    return tuple(found) if isinstance(found, tuple) else found


def _matched(kind: Any) -> object:  # noqa: ANN401 - either class
    match kind(1, "b"):
        case kind(line, text):
            return line, text
        case _:
            return None


USES: dict[str, Callable[[Any], object]] = {
    "by position": lambda kind: kind(1, "b", (2,)),
    "by name": lambda kind: kind(columns=(2,), line=1),
    "defaults": lambda kind: kind(1),
    "too few": lambda kind: kind(),
    "too many": lambda kind: kind(1, "b", (), 4),
    "unknown name": lambda kind: kind(1, other=2),
    "twice": lambda kind: kind(1, line=2),
    "field": lambda kind: (kind(1).line, kind(1).text, kind(1).columns),
    "property": lambda kind: kind(4).doubled,
    "assignment": lambda kind: setattr(kind(1), "line", 2),
    "new attribute": lambda kind: setattr(kind(1), "other", 2),
    "no dictionary": lambda kind: hasattr(kind(1), "__dict__"),
    "representation": lambda kind: repr(kind(1, "it's")),
    "equality": lambda kind: (kind(1) == kind(1, "a"), kind(1) == (1, "a", ())),
    "hash": lambda kind: hash(kind(1)) == hash((1, "a", ())),
    "order": lambda kind: sorted([kind(2), kind(1, "b"), kind(1)]),
    "unpacking": lambda kind: [*kind(1)],
    "match": _matched,
    "fields": lambda kind: (kind._fields, kind._field_defaults),
    "annotations": lambda kind: kind.__annotations__,
    "make": lambda kind: kind._make([1, "b", ()]),
    "make of too few": lambda kind: kind._make([1]),
    "replace": lambda kind: kind(1)._replace(text="c"),
    "replace unknown": lambda kind: kind(1)._replace(other="c"),
    "dictionary": lambda kind: kind(1)._asdict(),
    "copy": lambda kind: copy.deepcopy(kind(1, "b", (3,))),
    "pickle": lambda kind: pickle.loads(pickle.dumps(kind(1, "b"))),  # noqa: S301
}


@pytest.mark.parametrize("use", USES)
def test_a_record_does_what_a_named_tuple_does(use: str) -> None:
    assert _outcome(USES[use], Recorded) == _outcome(USES[use], Named)
    assert _outcome(USES[use], Often) == _outcome(USES[use], Named)


def test_the_first_records_of_a_class_are_those_of_a_named_tuple() -> None:
    for use in USES.values():
        fields = {"line": int, "text": str, "columns": tuple[int, ...]}
        body = {"__annotations__": fields, "text": "a", "columns": ()}
        make: Any = type(Record)
        fresh = make("Fresh", (Record,), {**body, "doubled": Named.doubled})
        if use is not USES["pickle"] and use is not USES["annotations"]:
            assert _outcome(use, fresh) == _outcome(use, Named)


def test_a_record_made_first_by_replacing_or_copying_is_whole() -> None:
    class Fresh(Record):
        line: int = 1
        text: str = "a"

    assert Fresh._make([2, "b"])._replace(line=3) == (3, "b")
    assert Fresh() == (1, "a")


def test_a_derived_class_makes_its_own() -> None:
    item = Derived(2)
    assert (item.tripled(), type(item), type(Recorded(2))) == (6, Derived, Recorded)
    assert type(item._replace(line=3)) is Derived


def test_a_generic_record_keeps_its_parameter() -> None:
    held: Holder[int] = Holder(3)
    assert held.value == 3
    assert Holder[int].__origin__ is Holder  # type: ignore[attr-defined]


def test_a_record_may_have_no_fields() -> None:
    assert Empty() == ()
    with pytest.raises(TypeError):
        Empty(1)  # type: ignore[call-arg]
