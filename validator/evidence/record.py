"""Frozen records: `typing.NamedTuple`, whose classes are made in a seventh of the time.

`typing.NamedTuple` compiles a constructor for each class as it is made: 4.5 ms for the
hundred classes of a run, half of what the interpreter needs to start. Here it is
compiled when a class has made some records, which few classes do in a run. Type
checkers see `NamedTuple`; what a record does is the same (tests/test_record.py).
"""

import sys
from typing import TYPE_CHECKING, Any, NoReturn, Self

__all__ = ["Frozen", "Record"]


class Frozen:
    """An object whose attributes nobody sets once it is made."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: evidence is frozen."""
        message = f"evidence is frozen: {type(self).__name__}.{name}"
        raise AttributeError(message)


if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:
    from collections import _tuplegetter as tuple_field

    _make_tuple = tuple.__new__
    # To compile a constructor takes 20 us; with it a record takes 1.4 us less.
    _RECORDS_BEFORE_COMPILING = 16
    # As collections.namedtuple has it, from Python 3.13 on.
    _UnexpectedName = TypeError if sys.version_info >= (3, 13) else ValueError

    class _RecordType(type):
        """Makes the annotated names of a class the fields of its records."""

        def __new__(
            mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
        ) -> type:
            if bases[0] is tuple or hasattr(bases[0], "_fields"):
                return super().__new__(mcs, name, bases, namespace)
            namespace["__slots__"] = ()
            made = super().__new__(mcs, name, bases, namespace)
            made._records_left = _RECORDS_BEFORE_COMPILING
            made._fields = made.__match_args__ = tuple(made.__annotations__)
            made._field_defaults = {
                field: namespace[field] for field in made._fields if field in namespace
            }
            for index, field in enumerate(made._fields):
                setattr(made, field, tuple_field(index, ""))
            return made

    class Record(tuple, metaclass=_RecordType):
        """A tuple whose items have names and defaults; derive a class from it."""

        __slots__ = ()

        def __new__(cls, *values: object, **named: object) -> Self:
            """Make one of the first records of a class.

            The others, and those that are refused, are made by its own constructor.
            """
            fields = cls._fields
            cls._records_left -= 1
            if cls._records_left > 0 and len(values) <= len(fields):
                rest = fields[len(values) :]
                if not rest and not named:
                    return _make_tuple(cls, values)
                given = {**cls._field_defaults, **named}
                if given.keys() >= set(rest) and named.keys() <= set(rest):
                    return _make_tuple(cls, (*values, *[given[item] for item in rest]))
            cls.__new__ = _constructor(cls)
            return cls.__new__(cls, *values, **named)

        @classmethod
        def _make(cls, values: object) -> Self:
            made = _make_tuple(cls, values)
            if len(made) != len(cls._fields):
                message = f"expected {len(cls._fields)} arguments, got {len(made)}"
                raise TypeError(message)
            return made

        def _replace(self, /, **changes: object) -> Self:
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                message = f"Got unexpected field names: {list(changes)!r}"
                raise _UnexpectedName(message)
            return made

        def _asdict(self) -> dict[str, object]:
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self) -> tuple[object, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            named = (f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({', '.join(named)})"

    def _constructor(cls: type) -> Any:  # noqa: ANN401 - as of any class
        names = "".join(f"{field}, " for field in cls._fields)
        code = f"lambda _class, {names}: _make(_class, ({names}))"
        scope = {"_make": _make_tuple, "__builtins__": {}}
        made = eval(code, scope)  # noqa: S307 - as collections.namedtuple does
        made.__defaults__ = tuple(cls._field_defaults.values())
        made.__qualname__ = f"{cls.__qualname__}.__new__"
        return made
