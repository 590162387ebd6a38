"""What nccl-tests and rccl-tests print: one run for each placement of each table."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import Capture
from speccheck.validator.sources.formats._nccl_tests import (
    TOOL,
    Columns,
    Factor,
    Log,
    ResultBlock,
    ResultRow,
    ResultTable,
    alternatives,
    candidates,
    chosen,
    factor_of,
    passages,
    points_of,
    rank_leaves,
    ranks_of_all_reduce,
)
from speccheck.validator.sources.formats._printed import (
    LeafValue,
    Leaves,
    PrintedLine,
    PrintedPoint,
    absent,
    printed_reader,
    put_run,
)

_HEADS = lazy_pattern(
    r"#[ \t]*size[ \t]+count[ \t]+type[^\n]*[ \t]busbw"
    r"|# nThread \d+ nGpus \d+ minBytes \d"
)
_TRUTHS = ("#wrong", "error")
_LOG_STOPS = "end of the log"


def _detect(text: str) -> float:
    if _HEADS.search(text):
        return 1.0
    return 0.9 if "# Avg bus bandwidth" in text and Log(text).tables else 0.0


def put(capture: Capture, text: str) -> None:
    """Put down the tables of a log, and the processes that died before theirs."""
    capture.command = TOOL
    log = Log(text)
    for table in log.tables:
        _put_table(capture, log, table)
    for block, end in log.died:
        if block.first is None:
            continue
        at = block.first.span
        leaves = {**_block_leaves(log, block), **_not_complete(log, end)}
        leaves.update(rank_leaves(block.ranks, at))
        if block.program is not None:
            program = block.program
            leaves["collective"] = LeafValue(program.collective, program.line.span)
        put_run(capture, leaves, (), at)


def _block_leaves(log: Log, block: ResultBlock) -> Leaves:
    at = block.first.span if block.first else Span(1, 1, 1)
    shown = {"tool": LeafValue(TOOL, at), "backend": LeafValue(log.backend, at)}
    return {**shown, **block.leaves}


def _not_complete(log: Log, end: tuple[str, PrintedLine] | None) -> Leaves:
    word, line = end or (_LOG_STOPS, log.last)
    at = line.span if line is not None else Span(1, 1, 1)
    return {
        "is_complete": LeafValue(value=False, at=at),
        "ended_by": LeafValue(word, at),
    }


def _put_table(capture: Capture, log: Log, table: ResultTable) -> None:
    shared = _block_leaves(log, table.block)
    if table.is_complete:
        shared["is_complete"] = LeafValue(value=True, at=table.averages[-1].span)
    else:
        shared.update(_not_complete(log, table.ended_by))
    if table.out_of_bounds is not None:
        count, line = table.out_of_bounds
        shared["out_of_bounds"] = LeafValue(count, line.span)
    for rows in _sweeps(table):
        _put_sweep(capture, table, shared, rows)


def _sweeps(table: ResultTable) -> Iterator[list[ResultRow]]:
    """Yield the rows of each passage over the sizes.

    One without rows for an empty table.
    """
    columns, rows = table.columns, table.rows
    if not rows:
        yield []
    names = "type", "redop", "root"
    messages = [
        (tuple(row.text(columns, name) for name in names), int(row.texts[0]))
        for row in rows
    ]
    has_one_size, is_mixed = table.block.has_one_size, table.others > 0
    for passage in passages(messages, has_one_size=has_one_size, is_mixed=is_mixed):
        yield [rows[at] for at in passage]


def _put_sweep(
    capture: Capture, table: ResultTable, shared: Leaves, rows: Sequence[ResultRow]
) -> None:
    columns, at = table.columns, table.head.span
    points = [points_of(columns, row) for row in rows]
    factor = factor_of(point for row in points for point in row if point is not None)
    ranks = table.block.ranks
    last = max((rank.rank for rank in ranks), default=0) + 1
    leaves = {**shared, **rank_leaves(ranks, at, ranks_of_all_reduce(factor, last))}
    leaves["collective"] = _collective(capture, table, rows, factor, leaves["ranks"])
    if not rows:
        put_run(capture, leaves, (), at)
        return
    first = rows[0].at
    leaves["data_type"] = LeafValue(rows[0].text(columns, "type"), first)
    for half, placement in enumerate(columns.placements):
        known = [result for row in points if (result := row[half]) is not None]
        if not known:
            continue  # the log breaks off in its first row
        of_half = {**leaves, "placement": LeafValue(placement, at)}
        truth = _is_compared(columns, rows, half)
        if truth is not None:
            of_half["is_compared"] = LeafValue(truth, first)
        if truth and "error" in columns.halves[half]:
            known = _judged_by_errors(known, of_half)
        put_run(capture, of_half, known, first)


def _is_compared(columns: Columns, rows: Sequence[ResultRow], half: int) -> bool | None:
    """Return whether the results of all messages that are not empty were compared."""
    names = columns.halves[half]
    name = next((name for name in _TRUTHS if name in names), None)
    if name is None:
        return None
    before = len(columns.left) + sum(map(len, columns.halves[:half]))
    column = before + names.index(name)
    shown = [
        row.texts[column]
        for row in rows
        if len(row.texts) > column and int(row.texts[0]) > 0
    ]
    return "N/A" not in shown if shown else None


def _judged_by_errors(
    points: Sequence[PrintedPoint], leaves: Mapping[str, LeafValue]
) -> list[PrintedPoint]:
    """Return rows of up to 2.11, whose last lines state whether results are wrong.

    Where these say that no size is out of bounds, none has a wrong value.
    """
    shown = leaves.get("out_of_bounds")
    if shown is not None and shown.value == 0:
        return [point._replace(wrong=0) for point in points]
    return list(points)


def _collective(
    capture: Capture,
    table: ResultTable,
    rows: Sequence[ResultRow],
    factor: Factor | None,
    stated_ranks: LeafValue,
) -> LeafValue:
    """Return the collective, by the surest source of it, and where that stands."""
    program, named, at = table.block.program, table.mention, table.head.span
    if program is not None:
        return LeafValue(program.collective, program.line.span)
    if not rows:
        return (
            LeafValue(named.collective, named.line.span) if named else _unknown("", at)
        )
    ranks = stated_ranks.value if isinstance(stated_ranks.value, int) else None
    redop, root = (rows[0].text(table.columns, name) for name in ("redop", "root"))
    possible = candidates(redop, root, factor, ranks)
    if named is not None and named.collective in possible:
        return LeafValue(named.collective, named.line.span)
    text = chosen(possible, capture.name)
    return LeafValue(text, rows[0].at) if text else _unknown(alternatives(possible), at)


def _unknown(words: str, at: Span) -> LeafValue:
    return LeafValue(absent(f"no program and no command is named{words}", TOOL), at)


READER = printed_reader("nccl-tests", "nccl_tests", _detect)
