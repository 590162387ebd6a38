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


class CertificateRow(Record):
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


class ComparedCertificates(Record):
    """All of it. notes: what cannot be compared, and why."""

    columns: tuple[Column, ...]
    levels: tuple[Level, ...]
    counts: tuple[Count, ...]
    rows: tuple[CertificateRow, ...]
    notes: tuple[str, ...]


def table_of(
    text_lists: Sequence[tuple[str, Certificate]], now: datetime
) -> ComparedCertificates:
    """Return the table of certificates, each with its file, in their order."""
    columns = tuple(
        _column(letter, path, certificate, now)
        for letter, (path, certificate) in zip(_LETTERS, text_lists, strict=False)
    )
    certificates = [certificate for _, certificate in text_lists]
    rows = tuple(_rows(certificates))
    return ComparedCertificates(
        columns,
        tuple(_levels(certificates)),
        tuple(_counts(certificates)),
        rows,
        tuple(_notes(columns, certificates, rows)),
    )


def _column(letter: str, path: str, certificate: Certificate, now: datetime) -> Column:
    until = datetime.fromisoformat(certificate.validity.not_after)
    return Column(
        letter,
        path,
        certificate.instance_type,
        certificate.provider,
        certificate.edition.id,
        granted_words(certificate),
        len(certificate.specimens),
        certificate.validity.created,
        certificate.validity.not_after,
        certificate.synthetic.by if certificate.synthetic else "",
        now > until,
        tuple(caveats(certificate)),
    )


def _levels(certificates: Sequence[Certificate]) -> Iterator[Level]:
    by_track = [
        {track.track: track.level for track in issued.tracks} for issued in certificates
    ]
    for track in sorted({name for item in by_track for name in item}):
        yield Level(track, tuple(item.get(track) for item in by_track))


def _counts(certificates: Sequence[Certificate]) -> Iterator[Count]:
    yield Count(
        "musts and shoulds judged",
        tuple(certificate.coverage.share for certificate in certificates),
    )
    for name in ("passed", "failed", "unknown", "waived", "not_applicable"):
        values = tuple(
            getattr(certificate.coverage, name) for certificate in certificates
        )
        yield Count(name.replace("_", " "), values)


Key = tuple[str, str, tuple[tuple[str, int], ...]]


def _rows(certificates: Sequence[Certificate]) -> Iterator[CertificateRow]:
    """Yield quantities in the first certificate's order, the largest message first."""
    by_key: list[dict[Key, float]] = [
        _medians(certificate.measurements) for certificate in certificates
    ]
    made_up = {
        number
        for number, certificate in enumerate(certificates)
        if certificate.synthetic
    }
    # What was made up is no better than what was measured.
    beside = made_up if len(made_up) < len(certificates) else set()
    names = dict.fromkeys(key[:2] for item in by_key for key in item)
    for name in names:
        keys = {key for item in by_key for key in item if key[:2] == name}
        for key in sorted(keys, key=_by_size):
            values = tuple(item.get(key) for item in by_key)
            yield CertificateRow(*key, values, _best(values, beside))


def _by_size(key: Key) -> tuple[int, ...]:
    words = dict(key[2])
    return tuple(-words.get(name, 0) for name in ("nodes", "size_bytes", "ranks"))


def _medians(measured: Iterable[Measured]) -> dict[Key, float]:
    """Return the medians by what makes numbers comparable: the largest of several."""
    result: dict[Key, float] = {}
    for item in measured:
        if item.name.endswith(_TIMES):
            continue
        words = tuple(
            (name, int(value))
            for name in _SAME
            if isinstance(value := item.conditions.get(name), int | float)
        )
        key = item.name, item.unit, words
        result[key] = max(item.median, result.get(key, item.median))
    return result


def _best(values: Sequence[float | None], beside: set[int]) -> tuple[int, ...]:
    known = {
        number: value
        for number, value in enumerate(values)
        if value is not None and number not in beside
    }
    if len(known) < 2:  # noqa: PLR2004 - one alone is not better than another
        return ()
    least = max(known.values()) * (1 - _AS_GOOD)
    best = tuple(number for number, value in known.items() if value >= least)
    return best if len(best) < len(known) else ()


def _notes(
    columns: Sequence[Column],
    certificates: Sequence[Certificate],
    rows: Sequence[CertificateRow],
) -> Iterator[str]:
    for column in columns:
        if column.synthetic:
            yield (
                f"{column.letter} is SYNTHETIC: made by {column.synthetic}; no "
                "such machine"
            )
        if column.is_expired:
            yield f"{column.letter} expired on {column.not_after[:10]}"
    editions = sorted(
        {
            (certificate.edition.id, certificate.edition.sha256[:16])
            for certificate in certificates
        }
    )
    if len(editions) > 1:
        words = ", ".join(f"{name} ({digest})" for name, digest in editions)
        yield f"judged by several editions, {words}: levels need not mean the same"
    tools = sorted(
        {str(measured.conditions["tool"]) for measured in _conditioned(certificates)}
    )
    if len(tools) > 1:
        yield f"measured by several tools: {', '.join(tools)}"
    yield from _not_comparable(columns, rows)


def _conditioned(certificates: Sequence[Certificate]) -> Iterator[Measured]:
    for certificate in certificates:
        yield from (
            row for row in certificate.measurements if row.conditions.get("tool")
        )


def _not_comparable(
    columns: Sequence[Column], rows: Sequence[CertificateRow]
) -> Iterator[str]:
    """Yield quantities that certificates have under other conditions, or not at all."""
    for name in dict.fromkeys(row.name for row in rows):
        several = [row for row in rows if row.name == name]
        lonely = [row for row in several if sum(v is not None for v in row.values) == 1]
        without = [
            column.letter
            for number, column in enumerate(columns)
            if all(row.values[number] is None for row in several)
        ]
        if without:
            yield f"{name}: not measured by {', '.join(without)}"
        if len(several) > 1 and lonely:
            words = "; ".join(
                f"{_owner(columns, row)} at {conditions_words(row)}" for row in lonely
            )
            yield f"{name}: {words}: other conditions, not comparable"


def _owner(columns: Sequence[Column], row: CertificateRow) -> str:
    return next(
        column.letter
        for column, value in zip(columns, row.values, strict=True)
        if value is not None
    )


def conditions_words(row: CertificateRow) -> str:
    """Return the conditions of a row in words: 16 GiB, 2 nodes, 16 ranks."""
    texts = dict(row.conditions)
    nodes, ranks = texts.pop("nodes", None), texts.pop("ranks", None)
    words = conditions_of(texts)
    words += [counted(nodes, "node")] if nodes else []
    words += [counted(ranks, "rank")] if ranks else []
    return ", ".join(words)


def highest(levels: Sequence[str | None]) -> tuple[int, ...]:
    """Return which columns have the highest level, where they are not all alike."""
    ranks = [LEVELS.index(level) + 1 if level in LEVELS else 0 for level in levels]
    best = [number for number, rank in enumerate(ranks) if rank == max(ranks)]
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


def table_text(table: ComparedCertificates, style: Style) -> str:
    """Return the table for a terminal: in blocks of as many columns as fit."""
    lines = [
        wrap(printable(_about(column)), style.width, "") for column in table.columns
    ]
    lines += [style.paint(UNVERIFIED, "dim"), ""]
    fitting = max(1, (style.width - _LABEL) // (_CELL + 2))
    numbers = range(len(table.columns))
    blocks = [numbers[start : start + fitting] for start in numbers[::fitting]]
    for block in blocks:
        lines += [*_block(table, block, style), ""]
    lines.append(style.paint(wrap(_LEGEND, style.width, ""), "dim"))
    lines += [wrap(printable(note), style.width, "") for note in table.notes]
    return "\n".join(lines) + "\n"


def _about(column: Column) -> str:
    parts = [
        f"{column.letter}  {column.instance_type}",
        column.file,
        column.granted,
        f"edition {column.edition}",
        counted(column.specimens, "machine"),
        f"to {column.not_after[:10]}",
        *column.caveats,
        *_marks(column),
    ]
    return ", ".join(parts)


def _marks(column: Column) -> list[str]:
    marks = ["SYNTHETIC"] if column.synthetic else []
    return [*marks, "EXPIRED"] if column.is_expired else marks


def _block(
    table: ComparedCertificates, block: Sequence[int], style: Style
) -> Iterator[str]:
    heads = "  ".join(f"{table.columns[number].letter:>{_CELL}}" for number in block)
    yield style.paint(f"{'':<{_LABEL}}{heads}", "bold")
    for title, lines in _sections(table):
        yield style.paint(title, "bold")
        for line in lines:
            yield from _drawn(line, block, style)


def _drawn(line: _Line, block: Sequence[int], style: Style) -> Iterator[str]:
    label = f"  {printable(line.label)}"
    cells = "  ".join(_cell(line, number, style) for number in block)
    if len(label) >= _LABEL:
        *first, label = wrap(label, _LABEL - 1, "  ").split("\n")
        yield from first
    yield f"{label:<{_LABEL}}{cells}".rstrip()


def _cell(line: _Line, number: int, style: Style) -> str:
    padded = f"{printable(line.cells[number]):>{_CELL}}"
    return style.paint(padded, "good") if number in line.best else padded


def _sections(table: ComparedCertificates) -> Iterator[tuple[str, list[_Line]]]:
    yield (
        "levels",
        [
            _Line(
                level.track,
                [text or _MISSING for text in level.levels],
                highest(level.levels),
            )
            for level in table.levels
        ],
    )
    yield (
        "clauses",
        [
            _Line(count.name, [_count(value) for value in count.values])
            for count in table.counts
        ],
    )
    if table.rows:
        yield "measured, medians", [_measured(row) for row in table.rows]


def _count(value: float | None) -> str:
    if value is None:
        return _MISSING
    return f"{value:,}" if isinstance(value, int) else f"{value:.1%}"


def _measured(row: CertificateRow) -> _Line:
    known = [value for value in row.values if value is not None]
    scale, unit = scale_of(row.unit, max(known, default=0.0))
    about = conditions_words(row)
    label = f"{row.name}{f', {about}' if about else ''}, {unit}"
    cells = [shown(value, scale) or _MISSING for value in row.values]
    return _Line(label, cells, row.best)


def table_markdown(table: ComparedCertificates) -> str:
    """Return the table for a page, with what cannot be compared below."""
    heads = [
        f"{column.letter} {in_cell(column.instance_type)}" for column in table.columns
    ]
    lines = [f"| | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    columns = table.columns
    lines += _markdown_row("edition", [column.edition for column in columns])
    lines += _markdown_row("machines", [str(column.specimens) for column in columns])
    lines += _markdown_row("valid until", [column.not_after[:10] for column in columns])
    marks = [", ".join((*_marks(column), *column.caveats)) for column in columns]
    lines += _markdown_row("beware", marks)
    for _, rows in _sections(table):
        for row in rows:
            lines += _markdown_row(row.label, row.cells, row.best)
    notes = "".join(f"- {in_cell(text)}\n" for text in (UNVERIFIED, *table.notes))
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


def table_json(table: ComparedCertificates) -> str:
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
