"""The table of certificates as text, as Markdown and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.certificate_table.table import (
    Column,
    Count,
    Row,
    Table,
    conditions_words,
    highest,
)
from speccheck.validator.report.certificate_words import scale_of, shown
from speccheck.validator.report.markdown_text import in_cell
from speccheck.validator.report.serialise import TOOL, Tool, alike, document_text
from speccheck.validator.report.style import Style, counted, printable, wrap

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
    told = [
        f"**{in_cell(cell[: -len(_BEST)].strip())}** \\*"
        if number in best
        else in_cell(cell)
        for number, cell in enumerate(cells)
    ]
    yield f"| {in_cell(label)} | {' | '.join(told)} |"


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
