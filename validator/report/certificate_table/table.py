"""What certificates say side by side, and what of it can be compared."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from speccheck.validator.certification.certificate_model import Certificate, Measured
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.certificate_words import (
    LEVELS,
    caveats,
    conditions_of,
    granted_words,
)
from speccheck.validator.report.style import counted

# Conditions that must be the same for two numbers to be compared.
_SAME = ("size_bytes", "nodes", "ranks")
_AS_GOOD = 0.01  # within one percent of the best is as good
_LETTERS = "ABCDEFGH"
_TIMES = " time"  # of the smallest message: no quantity of a table


class Column(Record):
    """One certificate. caveats: what who sees its numbers alone must know as well."""

    letter: str
    file: str
    instance_type: str
    provider: str
    edition: str
    granted: str
    specimens: int
    created: str
    not_after: str
    synthetic: str
    is_expired: bool
    caveats: tuple[str, ...]


class Level(Record):
    """A track; levels: of each column, None for none or no such track."""

    track: str
    levels: tuple[str | None, ...]


class Count(Record):
    """A number of clauses, or a share of them; values: of each certificate."""

    name: str
    values: tuple[int | float | None, ...]


class Row(Record):
    """One quantity under the same conditions.

    values: the medians, None where a column has none under these conditions. best:
    which columns have the best of several that can be compared; none where all are
    alike or one alone has it.
    """

    name: str
    unit: str
    conditions: tuple[tuple[str, int], ...]
    values: tuple[float | None, ...]
    best: tuple[int, ...]


class Table(Record):
    """All of it. notes: what cannot be compared, and why."""

    columns: tuple[Column, ...]
    levels: tuple[Level, ...]
    counts: tuple[Count, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def table_of(found: Sequence[tuple[str, Certificate]], now: datetime) -> Table:
    """The table of certificates, each with its file, in their order."""
    columns = tuple(
        _column(letter, path, one, now)
        for letter, (path, one) in zip(_LETTERS, found, strict=False)
    )
    certificates = [one for _, one in found]
    rows = tuple(_rows(certificates))
    return Table(
        columns,
        tuple(_levels(certificates)),
        tuple(_counts(certificates)),
        rows,
        tuple(_notes(columns, certificates, rows)),
    )


def _column(letter: str, path: str, found: Certificate, now: datetime) -> Column:
    until = datetime.fromisoformat(found.validity.not_after)
    return Column(
        letter,
        path,
        found.instance_type,
        found.provider,
        found.edition.id,
        granted_words(found),
        len(found.specimens),
        found.validity.created,
        found.validity.not_after,
        found.synthetic.by if found.synthetic else "",
        now > until,
        tuple(caveats(found)),
    )


def _levels(found: Sequence[Certificate]) -> Iterator[Level]:
    by_track = [{one.track: one.level for one in one_.tracks} for one_ in found]
    for track in sorted({name for one in by_track for name in one}):
        yield Level(track, tuple(one.get(track) for one in by_track))


def _counts(found: Sequence[Certificate]) -> Iterator[Count]:
    yield Count("musts and shoulds judged", tuple(o.coverage.share for o in found))
    for name in ("passed", "failed", "unknown", "waived", "not_applicable"):
        values = tuple(getattr(one.coverage, name) for one in found)
        yield Count(name.replace("_", " "), values)


Key = tuple[str, str, tuple[tuple[str, int], ...]]


def _rows(found: Sequence[Certificate]) -> Iterator[Row]:
    """Quantities in the order of the first certificate, the largest message first."""
    by_key: list[dict[Key, float]] = [_medians(one.measurements) for one in found]
    made_up = {number for number, one in enumerate(found) if one.synthetic}
    # What was made up is no better than what was measured.
    beside = made_up if len(made_up) < len(found) else set()
    names = dict.fromkeys(key[:2] for one in by_key for key in one)
    for name in names:
        keys = {key for one in by_key for key in one if key[:2] == name}
        for key in sorted(keys, key=_by_size):
            values = tuple(one.get(key) for one in by_key)
            yield Row(*key, values, _best(values, beside))


def _by_size(key: Key) -> tuple[int, ...]:
    told = dict(key[2])
    return tuple(-told.get(name, 0) for name in ("nodes", "size_bytes", "ranks"))


def _medians(measured: Iterable[Measured]) -> dict[Key, float]:
    """By what makes numbers comparable; the largest of several tools or paths."""
    found: dict[Key, float] = {}
    for one in measured:
        if one.name.endswith(_TIMES):
            continue
        told = tuple(
            (name, int(value))
            for name in _SAME
            if isinstance(value := one.conditions.get(name), int | float)
        )
        key = one.name, one.unit, told
        found[key] = max(one.median, found.get(key, one.median))
    return found


def _best(values: Sequence[float | None], beside: set[int]) -> tuple[int, ...]:
    known = {
        number: one
        for number, one in enumerate(values)
        if one is not None and number not in beside
    }
    if len(known) < 2:  # noqa: PLR2004 - one alone is not better than another
        return ()
    least = max(known.values()) * (1 - _AS_GOOD)
    best = tuple(number for number, one in known.items() if one >= least)
    return best if len(best) < len(known) else ()


def _notes(
    columns: Sequence[Column], found: Sequence[Certificate], rows: Sequence[Row]
) -> Iterator[str]:
    for one in columns:
        if one.synthetic:
            yield f"{one.letter} is SYNTHETIC: made by {one.synthetic}; no such machine"
        if one.is_expired:
            yield f"{one.letter} expired on {one.not_after[:10]}"
    editions = sorted({(one.edition.id, one.edition.sha256[:16]) for one in found})
    if len(editions) > 1:
        told = ", ".join(f"{name} ({digest})" for name, digest in editions)
        yield f"judged by several editions, {told}: levels need not mean the same"
    tools = sorted({str(one.conditions["tool"]) for one in _conditioned(found)})
    if len(tools) > 1:
        yield f"measured by several tools: {', '.join(tools)}"
    yield from _not_comparable(columns, rows)


def _conditioned(found: Sequence[Certificate]) -> Iterator[Measured]:
    for one in found:
        yield from (row for row in one.measurements if row.conditions.get("tool"))


def _not_comparable(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[str]:
    """Quantities that certificates have under other conditions, or not at all."""
    for name in dict.fromkeys(one.name for one in rows):
        several = [one for one in rows if one.name == name]
        lonely = [one for one in several if sum(v is not None for v in one.values) == 1]
        without = [
            column.letter
            for number, column in enumerate(columns)
            if all(one.values[number] is None for one in several)
        ]
        if without:
            yield f"{name}: not measured by {', '.join(without)}"
        if len(several) > 1 and lonely:
            told = "; ".join(
                f"{_owner(columns, one)} at {conditions_words(one)}" for one in lonely
            )
            yield f"{name}: {told}: other conditions, not comparable"


def _owner(columns: Sequence[Column], row: Row) -> str:
    return next(
        column.letter
        for column, value in zip(columns, row.values, strict=True)
        if value is not None
    )


def conditions_words(row: Row) -> str:
    """The conditions of a row in words: 16 GiB, 2 nodes, 16 ranks."""
    told = dict(row.conditions)
    nodes, ranks = told.pop("nodes", None), told.pop("ranks", None)
    words = conditions_of(told)
    words += [counted(nodes, "node")] if nodes else []
    words += [counted(ranks, "rank")] if ranks else []
    return ", ".join(words)


def highest(levels: Sequence[str | None]) -> tuple[int, ...]:
    """Which columns have the highest level, where they are not all alike."""
    ranks = [LEVELS.index(one) + 1 if one in LEVELS else 0 for one in levels]
    best = [number for number, one in enumerate(ranks) if one == max(ranks)]
    return tuple(best) if max(ranks) and len(best) < len(ranks) else ()
