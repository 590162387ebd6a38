"""What certificates say side by side, and what of it can be compared."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal

from speccheck.validator.certification.certificate_model import Certificate, Measured
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.certificate_text import (
    LEVELS,
    caveats,
    conditions_of,
    granted_words,
    scale_of,
    shown,
)
from speccheck.validator.report.serialise import TOOL, Tool, alike, document_text
from speccheck.validator.report.style import Style, counted, printable, wrap
from speccheck.validator.report.write_markdown import in_cell

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
    words = dict(key[2])
    return tuple(-words.get(name, 0) for name in ("nodes", "size_bytes", "ranks"))


def _medians(measured: Iterable[Measured]) -> dict[Key, float]:
    """By what makes numbers comparable; the largest of several tools or paths."""
    found: dict[Key, float] = {}
    for one in measured:
        if one.name.endswith(_TIMES):
            continue
        words = tuple(
            (name, int(value))
            for name in _SAME
            if isinstance(value := one.conditions.get(name), int | float)
        )
        key = one.name, one.unit, words
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
        words = ", ".join(f"{name} ({digest})" for name, digest in editions)
        yield f"judged by several editions, {words}: levels need not mean the same"
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
            words = "; ".join(
                f"{_owner(columns, one)} at {conditions_words(one)}" for one in lonely
            )
            yield f"{name}: {words}: other conditions, not comparable"


def _owner(columns: Sequence[Column], row: Row) -> str:
    return next(
        column.letter
        for column, value in zip(columns, row.values, strict=True)
        if value is not None
    )


def conditions_words(row: Row) -> str:
    """The conditions of a row in words: 16 GiB, 2 nodes, 16 ranks."""
    texts = dict(row.conditions)
    nodes, ranks = texts.pop("nodes", None), texts.pop("ranks", None)
    words = conditions_of(texts)
    words += [counted(nodes, "node")] if nodes else []
    words += [counted(ranks, "rank")] if ranks else []
    return ", ".join(words)


def highest(levels: Sequence[str | None]) -> tuple[int, ...]:
    """Which columns have the highest level, where they are not all alike."""
    ranks = [LEVELS.index(one) + 1 if one in LEVELS else 0 for one in levels]
    best = [number for number, one in enumerate(ranks) if one == max(ranks)]
    return tuple(best) if max(ranks) and len(best) < len(ranks) else ()


UNVERIFIED = "signatures are not verified here: speccheck verify knows whom to trust"
_BEST = "*"
_LEGEND = f"{_BEST} best, by more than 1 %, of what can be compared; - not known"
_MISSING = "-"
_CELL = 11  # characters of a column, and two between
_LABEL = 34


class _Line:
    """One line of the table: a label, and a cell of each column."""

    def __init__(
        self, label: str, cells: Sequence[str], best: Sequence[int] = ()
    ) -> None:
        self.label = label
        self.cells = [
            f"{cell} {_BEST}" if number in best else cell
            for number, cell in enumerate(cells)
        ]
        self.best = frozenset(best)


def table_text(table: Table, style: Style) -> str:
    """For a terminal: in blocks of as many columns as fit."""
    lines = [wrap(printable(_about(one)), style.width, "") for one in table.columns]
    lines += [style.paint(UNVERIFIED, "dim"), ""]
    fitting = max(1, (style.width - _LABEL) // (_CELL + 2))
    numbers = range(len(table.columns))
    blocks = [numbers[start : start + fitting] for start in numbers[::fitting]]
    for block in blocks:
        lines += [*_block(table, block, style), ""]
    lines.append(style.paint(wrap(_LEGEND, style.width, ""), "dim"))
    lines += [wrap(printable(one), style.width, "") for one in table.notes]
    return "\n".join(lines) + "\n"


def _about(one: Column) -> str:
    parts = [
        f"{one.letter}  {one.instance_type}",
        one.file,
        one.granted,
        f"edition {one.edition}",
        counted(one.specimens, "machine"),
        f"to {one.not_after[:10]}",
        *one.caveats,
        *_marks(one),
    ]
    return ", ".join(parts)


def _marks(one: Column) -> list[str]:
    marks = ["SYNTHETIC"] if one.synthetic else []
    return [*marks, "EXPIRED"] if one.is_expired else marks


def _block(table: Table, block: Sequence[int], style: Style) -> Iterator[str]:
    heads = "  ".join(f"{table.columns[one].letter:>{_CELL}}" for one in block)
    yield style.paint(f"{'':<{_LABEL}}{heads}", "bold")
    for title, lines in _sections(table):
        yield style.paint(title, "bold")
        for line in lines:
            yield from _drawn(line, block, style)


def _drawn(line: _Line, block: Sequence[int], style: Style) -> Iterator[str]:
    label = f"  {printable(line.label)}"
    cells = "  ".join(_cell(line, one, style) for one in block)
    if len(label) >= _LABEL:
        *first, label = wrap(label, _LABEL - 1, "  ").split("\n")
        yield from first
    yield f"{label:<{_LABEL}}{cells}".rstrip()


def _cell(line: _Line, number: int, style: Style) -> str:
    padded = f"{printable(line.cells[number]):>{_CELL}}"
    return style.paint(padded, "good") if number in line.best else padded


def _sections(table: Table) -> Iterator[tuple[str, list[_Line]]]:
    yield (
        "levels",
        [
            _Line(one.track, [o or _MISSING for o in one.levels], highest(one.levels))
            for one in table.levels
        ],
    )
    yield (
        "clauses",
        [
            _Line(one.name, [_count(value) for value in one.values])
            for one in table.counts
        ],
    )
    if table.rows:
        yield "measured, medians", [_measured(one) for one in table.rows]


def _count(value: float | None) -> str:
    if value is None:
        return _MISSING
    return f"{value:,}" if isinstance(value, int) else f"{value:.1%}"


def _measured(row: Row) -> _Line:
    known = [one for one in row.values if one is not None]
    scale, unit = scale_of(row.unit, max(known, default=0.0))
    about = conditions_words(row)
    label = f"{row.name}{f', {about}' if about else ''}, {unit}"
    cells = [shown(one, scale) or _MISSING for one in row.values]
    return _Line(label, cells, row.best)


def table_markdown(table: Table) -> str:
    """For a page: one table, with what cannot be compared below."""
    heads = [f"{one.letter} {in_cell(one.instance_type)}" for one in table.columns]
    lines = [f"| | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    columns = table.columns
    lines += _markdown_row("edition", [one.edition for one in columns])
    lines += _markdown_row("machines", [str(one.specimens) for one in columns])
    lines += _markdown_row("valid until", [one.not_after[:10] for one in columns])
    marks = [", ".join((*_marks(one), *one.caveats)) for one in columns]
    lines += _markdown_row("beware", marks)
    for _, rows in _sections(table):
        for row in rows:
            lines += _markdown_row(row.label, row.cells, row.best)
    notes = "".join(f"- {in_cell(one)}\n" for one in (UNVERIFIED, *table.notes))
    legend = _LEGEND.replace("*", r"\*")
    return "\n".join(lines) + f"\n\n{legend}\n\n{notes}"


def _markdown_row(
    label: str, cells: Sequence[str], best: Sequence[int] | frozenset[int] = ()
) -> Iterator[str]:
    words = [
        f"**{in_cell(cell[: -len(_BEST)].strip())}** \\*"
        if number in best
        else in_cell(cell)
        for number, cell in enumerate(cells)
    ]
    yield f"| {in_cell(label)} | {' | '.join(words)} |"


class TableLevel(Record):
    """A track, with the level of each certificate; best: which of them, from 0."""

    track: str
    levels: tuple[Literal["L1", "L2", "L3"] | None, ...]
    best: tuple[int, ...]


class TableRow(Record):
    """One quantity under the same conditions; values: medians, null where none."""

    name: str
    unit: str
    conditions: dict[str, int]
    values: tuple[float | None, ...]
    best: tuple[int, ...]


class CertificateTable(Record):
    """Certificates side by side; notes: what cannot be compared, and why."""

    schema_name: Literal["speccheck-certificate-table/1"]
    tool: Tool
    signatures_verified: Literal[False]
    certificates: tuple[Column, ...]
    levels: tuple[TableLevel, ...]
    counts: tuple[Count, ...]
    measured: tuple[TableRow, ...]
    notes: tuple[str, ...]


def table_json(table: Table) -> str:
    """Return the document `speccheck-certificate-table/1`."""
    document = alike(
        CertificateTable,
        table,
        schema_name="speccheck-certificate-table/1",
        tool=TOOL,
        signatures_verified=False,
        certificates=table.columns,
        levels=[
            alike(TableLevel, level, best=highest(level.levels))
            for level in table.levels
        ],
        measured=[
            alike(TableRow, row, conditions=dict(row.conditions)) for row in table.rows
        ],
    )
    return document_text(document)
