"""The numbers of clauses, and how people write them."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place

NumberValue: TypeAlias = int | float | str | tuple[int | float | str, ...]

_NODES = "nodes/"
_MEBIBYTE = 1 << 20
_GIBIBYTE = 1 << 30


class Unit(Record):
    """How a number of this unit is written."""

    name: str
    is_bare: bool = False  # the value alone, without the unit
    singular: str = ""  # of units that are words: node, link


class Number(Record):
    """A number, name or list that a clause compares with.

    value: without a key of `by_profile` that matches; None: there is no such default.
    by_profile: keyed by profile id, `precision/NAME` or `nodes/COUNT`. plausible: the
    range that no numeric value leaves. released: as the edition has it, where somebody
    put an own number in its place.
    """

    name: str
    value: NumberValue | None
    unit: Unit
    by_profile: Mapping[str, NumberValue]
    source: str
    confidence: str
    note: str = ""
    plausible: tuple[float, float] | None = None
    released: "Number | None" = None

    def under(
        self, profiles: Sequence[str], nodes: int | None, precision: str | None
    ) -> NumberValue | None:
        """The value that holds; None when the edition has none for this job.

        The first of these that the number has a key for: the profiles, from the last
        to the first; the precision; the table over node counts; the default.

        The table is read by linear interpolation, which fits what it is made for: the
        ring-versus-tree crossover of COMM-001 grows a little faster than the nodes, so
        a chord lies at most a few percent above it, and the clause halves it anyway.
        Beyond the last entry the last value holds: too low for a growing quantity, so
        fewer plans fail. Below the first entry there is no value, as the model does not
        reach there (one node has no network).
        """
        if not self.by_profile:
            return self.value
        for key in (*reversed(profiles), f"precision/{precision}"):
            if key in self.by_profile:
                return self.by_profile[key]
        table = self._table() if nodes is not None else []
        if nodes is None or not table or nodes < table[0][0]:
            return self.value
        return _interpolated(table, nodes)

    def _table(self) -> list[tuple[int, int | float]]:
        return sorted(
            (int(key[len(_NODES) :]), value)
            for key, value in self.by_profile.items()
            if key.startswith(_NODES) and isinstance(value, int | float)
        )


class OwnNumber(Record):
    """A number of the edition that somebody replaced, and who answers for that.

    released: the number as the edition has it. expires: the last day on which the own
    value counts, a date of UTC. place: of the entry in the file of own numbers.
    """

    clause: str
    number: str
    value: NumberValue
    released: Number
    reason: str
    owner: str
    expires: str
    place: Place


def _interpolated(table: list[tuple[int, int | float]], nodes: int) -> int | float:
    before, low = table[0]
    for after, high in table:
        if nodes == after:
            return high
        if nodes < after:
            value = low + (high - low) * (nodes - before) / (after - before)
            return round(value) if isinstance(low, int) else value
        before, low = after, high
    return low


def number_text(number: Number, value: NumberValue | None) -> str:
    """A value of that number as people write it: `8 nodes`, `50 MiB`, `a, b and c`."""
    unit = number.unit
    if value is None:
        return f"[{number.name.replace('_', ' ')} of the profile]"
    if isinstance(value, tuple):
        *first, last = (_plain(one) for one in value)
        return f"{', '.join(first)} and {last}" if first else last
    if unit.name == "B" and isinstance(value, int | float) and value >= _MEBIBYTE:
        if value >= _GIBIBYTE:
            return f"{round(value / _GIBIBYTE, 1):g} GiB"
        return f"{round(value / _MEBIBYTE, 1):g} MiB"
    if unit.is_bare:
        # A compute capability of 8.0 is written so; 8 is another way to say sm_80.
        has_point = unit.name == "compute capability"
        return str(value) if has_point else _plain(value)
    name = unit.singular if value == 1 and unit.singular else unit.name
    return f"{_plain(value)} {name}"


def _plain(value: float | str) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else value


def number_of(name: str, row: dict[str, Any], units: Mapping[str, Unit]) -> Number:
    """A number of a compiled edition."""
    by_profile = row.get("by_profile") or {}
    return Number(
        name=name,
        value=_value(row.get("value")),
        unit=units[row["unit"]],
        by_profile={key: _value(one) for key, one in by_profile.items()},
        source=row["source"],
        confidence=row["confidence"],
        note=row.get("note", ""),
        plausible=_value(row.get("plausible")),
    )


def _value(raw: Any) -> Any:  # noqa: ANN401 - JSON; the compiler held it to its unit
    return tuple(raw) if isinstance(raw, list) else raw
