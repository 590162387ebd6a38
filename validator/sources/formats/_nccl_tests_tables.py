"""The tables of a log of nccl-tests, with what the lines around them say of each.

A log may hold several: of several commands, of several processes that do not know of
each other, or one within which the sizes start over (`-N`). What other programs print
between its lines is passed over.
"""

from bisect import bisect_left

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.capture import Found
from speccheck.validator.sources.formats._collective_runs import Leaves, Told
from speccheck.validator.sources.formats._nccl_tests_collective import (
    COLLECTIVES,
    program_in,
)
from speccheck.validator.sources.formats._nccl_tests_columns import (
    Columns,
    Row,
    columns_of,
    scanned,
    usual_columns,
    with_units,
)
from speccheck.validator.sources.formats._nccl_tests_ranks import Rank, rank_of
from speccheck.validator.sources.formats._printed_lines import Line, lines_of

_VERSION = lazy_pattern(r"# nccl-tests version (\S+)(?:.*?nccl-library=(\d{4,6})\b)?")
_STARTS = lazy_pattern(r"# Collective test starting: (\S+)")
_SETTINGS = lazy_pattern(r"# nThread \d+ nGpus \d+ minBytes (\d+) maxBytes (\d+)")
_HEAD = lazy_pattern(r"# (?:nccl-tests version |Collective test starting: |nThread )")
_ITERATIONS = lazy_pattern(
    r"warmup iters: (\d{1,9}) iters: (\d{1,9})(?: agg iters: \d+)?"
    r"(?: validation: (\d{1,9}))?"
)
_OUT_OF_BOUNDS = lazy_pattern(r"#\s*Out of bounds values\s*:\s*(\d{1,9})\b")
_AVERAGE = lazy_pattern(r"#\s*Avg bus bandwidth\s*:")
# What ends a run before its time, by the words of nccl-tests, launchers and kernels.
_ENDS = lazy_pattern(
    r"(?P<time>CANCELLED.{1,99}DUE TO TIME LIMIT|Test timeout)"
    r"|(?P<interrupt>CANCELLED|SIGINT|SIGTERM|KeyboardInterrupt)"
    r"|(?P<fault>(?:NCCL|CUDA|Test) failure|Segmentation fault|Caught signal"
    r"|exited on signal|[Ee]xited with exit code [1-9]|non-zero (?:status|exit)"
    r"|Bus error|Killed|[Oo]ut [Oo]f [Mm]emory|oom[-_]kill|MPI_ABORT)"
)
_WORDS = {"time": "time budget", "interrupt": "interrupt", "fault": "fault"}


class Mention(Record):
    """A line that names one program of nccl-tests."""

    collective: str
    line: Line


class Block:
    """What processes say before their tables, that they print at the same time."""

    def __init__(self) -> None:
        """Start an empty one."""
        self.leaves: Leaves = {}
        self.program: Mention | None = None
        self.ranks: list[Rank] = []
        self.first: Line | None = None
        self.has_one_size = False


class Table:
    """One table; `others` of the same head may have mixed their rows into it."""

    def __init__(self, block: Block, columns: Columns, head: Line) -> None:
        """Start an empty one."""
        self.block = block
        self.columns = columns
        self.head = head
        self.mention: Mention | None = None
        self.rows: list[Row] = []
        self.others = 0
        self.averages: list[Line] = []
        self.out_of_bounds: tuple[int, Line] | None = None
        self.ended_by: tuple[str, Line] | None = None
        self._begun: list[str] = []
        self._begun_at = head

    @property
    def is_complete(self) -> bool:
        """Whether each process has printed its last lines."""
        return len(self.averages) > self.others

    @property
    def is_empty(self) -> bool:
        """Whether no row was begun."""
        return not self.rows and not self._begun and not self.averages

    def add(self, line: Line) -> bool:
        """Read a line as a row, or as what is missing of one."""
        text = line.text
        if line.is_cut:  # its last value may have lost digits
            text = text.rstrip().rpartition(" ")[0]
        texts, rest = scanned(self.columns, (), text)
        wanted = len(self.columns.names)
        if texts:
            self.end_row()
            self._begun_at = line
        elif self._begun:
            texts, rest = scanned(self.columns, self._begun, text)
            if len(texts) == len(self._begun) or (rest.strip() and len(texts) < wanted):
                return False
        else:
            return False
        self._begun = texts
        if len(texts) == wanted:
            self.end_row()
        return True

    def end_row(self) -> None:
        """Keep what was printed of a row, if that is a placement at least."""
        least = len(self.columns.left) + len(self.columns.halves[0])
        if len(self._begun) >= least:
            self.rows.append(Row(tuple(self._begun), self._begun_at.span))
        self._begun = []

    def end(self, line: Line, text: str) -> bool:
        """Read a line as one of those at the end."""
        if self.is_complete:
            return False
        if found := _OUT_OF_BOUNDS.match(text):
            before, count = self.out_of_bounds, int(found[1])
            if before is None or count > before[0]:
                self.out_of_bounds = count, line
        elif _AVERAGE.match(text):
            self.averages.append(line)
        else:
            return False
        return True


class Log:
    """The tables of a log in their order, and processes that died before theirs."""

    def __init__(self, text: str) -> None:
        """Read a log."""
        self.tables: list[Table] = []
        self.died: list[tuple[Block, tuple[str, Line] | None]] = []
        self.last: Line | None = None
        self.backend = "nccl"
        self._ends: list[tuple[str, Line]] = []
        self._streams: dict[str, _Stream] = {}
        self._mentions: dict[tuple[str, str], Line] = {}
        for line in lines_of(text):
            self._read(line)
            self.last = line
        for table in self.tables:
            table.end_row()
        self._find_ends()
        for stream in self._streams.values():
            if stream.block.first is not None and not stream.is_shown:
                self.died.append((stream.block, self._end_after(stream.block.first)))

    def _find_ends(self) -> None:
        """What ended each table: the last such line before the next table."""
        numbers = [line.number for _, line in self._ends]
        next_heads: dict[str, int] = {}
        for table in reversed(self.tables):
            head = table.head
            until = next_heads.get(head.label)
            stop = len(numbers) if until is None else bisect_left(numbers, until)
            if stop > bisect_left(numbers, head.number):
                table.ended_by = self._ends[stop - 1]
            next_heads[head.label] = head.number

    def _end_after(self, line: Line) -> tuple[str, Line] | None:
        last = self._ends[-1] if self._ends else None
        return last if last is not None and last[1].number > line.number else None

    def _read(self, line: Line) -> None:
        stream = self._streams.get(line.label)
        if stream is None:
            stream = self._streams[line.label] = _Stream()
        text = line.text.lstrip()
        if text.startswith("#"):
            self._remark(stream, line, text)
        elif stream.table is not None and not stream.table.is_complete:
            if not stream.table.add(line):
                self._foreign(line, text)
        elif stream.table is not None or not self._starts_within(stream, line):
            self._foreign(line, text)

    def _foreign(self, line: Line, text: str) -> None:
        """A line that is not of nccl-tests."""
        self._mention(line, text)
        found = _ENDS.search(text)
        if found is not None:
            self._ends.append((_WORDS[found.lastgroup or "fault"], line))
        if "RCCL version" in text:
            self.backend = "rccl"

    def _remark(self, stream: "_Stream", line: Line, text: str) -> None:
        columns = columns_of(text, stream.above)
        if columns is not None:
            self._open(stream, columns, line)
            return
        table = stream.table
        if table is not None and stream.is_head:
            table.columns = with_units(table.columns, text)
        stream.is_head = False
        if table is not None and table.end(line, text):
            return
        if "place" in text:
            stream.above = text
        block, is_shown = stream.block, stream.is_shown
        end = self._end_after(stream.start or line)
        stream.read(line, text, has_died=end is not None)
        if stream.block is not block and not is_shown:
            self.died.append((block, end))
        if " concluded" not in text:
            self._mention(line, text)

    def _open(self, stream: "_Stream", columns: Columns, line: Line) -> None:
        last = stream.table
        if last is not None and last.is_empty and self._end_after(last.head) is None:
            last.others += 1  # processes that print at the same time
            return
        table = Table(stream.block, columns, line)
        table.mention = self._named(line.label, last.head.number if last else 0)
        stream.table, stream.is_head = table, True
        self.tables.append(table)

    def _starts_within(self, stream: "_Stream", line: Line) -> bool:
        """A row of a log that begins within its table."""
        columns = usual_columns()
        texts, _ = scanned(columns, (), line.text)
        if len(texts) < len(columns.names):
            return False
        self._open(stream, columns, line)
        stream.is_head = False
        return stream.table is not None and stream.table.add(line)

    def _mention(self, line: Line, text: str) -> None:
        collective = program_in(text) if "_perf" in text else None
        if collective is not None:
            self._mentions[line.label, collective] = line

    def _named(self, label: str, after: int) -> Mention | None:
        """The one program that was named since the table before, or at all."""
        known = [
            Mention(name, line)
            for of in dict.fromkeys(("", label))
            for name in COLLECTIVES
            if (line := self._mentions.get((of, name))) is not None
        ]
        recent = [one for one in known if one.line.number > after]
        names = {one.collective for one in recent or known}
        return (recent or known)[-1] if len(names) == 1 else None


class _Stream:
    """What one process has printed so far, or several that cannot be told apart."""

    def __init__(self) -> None:
        self.block = Block()
        self.table: Table | None = None
        self.is_head = False
        self.above = ""

    @property
    def start(self) -> Line | None:
        """Where the table, or what is before the next one, begins."""
        return self.table.head if self.table and self.is_shown else self.block.first

    @property
    def is_shown(self) -> bool:
        """Whether the block has its table."""
        return self.table is not None and self.table.block is self.block

    def read(self, line: Line, text: str, *, has_died: bool) -> None:
        """A line of the head of a table, or of nothing that counts."""
        if "Rank" in text:
            rank = rank_of(text, line.span)
            if rank is not None:
                self._block_for(line, is_start=False, has_died=has_died)
                self.block.ranks.append(rank)
        elif _HEAD.match(text):
            self._block_for(line, is_start=True, has_died=has_died)
            self.block.leaves.update(_head_leaves(line, text))
            if _STARTS.match(text) and (collective := program_in(text)):
                self.block.program = Mention(collective, line)
            if sizes := _SETTINGS.match(text):
                self.block.has_one_size = sizes[1] == sizes[2]

    def _block_for(self, line: Line, *, is_start: bool, has_died: bool) -> None:
        """Another block, where such a line cannot be of the same."""
        is_over = self.is_shown and self.table is not None and not self.table.is_empty
        if is_over or (has_died and is_start and self.block.first is not None):
            self.block = Block()
        self.block.first = self.block.first or line


def _head_leaves(line: Line, text: str) -> Leaves:
    told: dict[str, Found] = {}
    if found := _VERSION.match(text):
        told["tool_version"] = found[1]
        if found[2]:
            told["library_version"] = library_version(int(found[2]))
    elif found := _ITERATIONS.search(text):
        told["warmup_iterations"] = int(found[1])
        told["iterations"] = int(found[2])
        if found[3] == "0":
            told["is_compared"] = False
    return {leaf: Told(value, line.span) for leaf, value in told.items()}


def library_version(code: int) -> str:
    """The release of NCCL by its number: 22501 is 2.25.1 (nccl.h, NCCL_VERSION)."""
    if code < 10_000:  # noqa: PLR2004 - until 2.8
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"
