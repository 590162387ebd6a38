"""The tables of nccl-tests: collective, columns, ranks, and the lines between.

A log may hold several: of several commands, of several processes that do not know of
each other, or one within which the sizes start over (`-N`). What other programs print
between its lines is passed over.

The program names its collective since 2.16.7. Before, the log may hold the command, and
the rows show what they can: whether values are reduced, whether there is a root, and
what bus bandwidth is of algorithm bandwidth (NVIDIA/nccl-tests doc/PERFORMANCE.md).

Since 2011 the columns were: size, count, type, and redop and root where the collective
has them (until 2.11) or always (since 2.13); then for each placement time, algbw, busbw
and `error` or `#wrong`; then what releases and forks add: `i_min` ... `i_cv%`,
`#bitdiff`, `#iters`, a timestamp. Sources: NVIDIA/nccl-tests src/common.cu and
src/util.cu, NVIDIA/DCGM testing/python3/mocks, ROCm/rccl-tests src/common.cu.

Each rank has a line; until 2.13.4 without a group; the address was that of the bus
alone until 2025:

    #  Rank  3 Group  0 Pid 7061 on node-a device  3 [0000:66:00] NVIDIA H100 80GB HBM3
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import CapturedValue, Where
from speccheck.validator.sources.formats._printed import (
    GIGA,
    NUMBER,
    LeafValue,
    Leaves,
    PrintedLine,
    PrintedPoint,
    absent,
    finite,
    lines_of,
    measured_point,
    over,
    times,
)

_PROGRAMS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_allv",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "sendrecv": "sendrecv",
    "hypercube": "hypercube",
}
COLLECTIVES = tuple(_PROGRAMS.values())
_PROGRAM = lazy_pattern(
    r"(?<![a-z_])(all_reduce|all_gather|reduce_scatter|alltoallv?|broadcast|reduce|"
    r"gather|scatter|sendrecv|hypercube)_perf(?:_mpi)?(?![a-z])"
)
_FILE_NAME = lazy_pattern(
    r"all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all|broadcast"
    r"|send[-_]?recv"
)
_PLAIN = str.maketrans("", "", "-_")
_REDUCED = frozenset({"all_reduce", "reduce_scatter", "sendrecv"})
_NOT_REDUCED = frozenset({"all_gather", "all_to_all", "sendrecv", "hypercube"})
_ROOTED = frozenset({"broadcast", "gather", "scatter"})
_SHARED = frozenset({"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"})
# Rates are printed with two decimals, and tell of a factor where they are large.
_ROUNDING, _LEAST_RATE = 0.005e9, 0.2e9
_MOST_RANKS = 4096  # beyond, the factor of an all-reduce is 2 in the printed digits
TIMES = ("time", "cputime")
OUT, IN = "out_of_place", "in_place"
_LEFT = ("size", "count", "type")
# Of the header's second line; others than these are not printed by any release.
_TIMES_OF_A_SECOND = {"(us)": 1e6, "(ms)": 1e3, "(s)": 1.0}
_RATES = {"(GB/s)": GIGA, "(GiB/s)": 2.0**30, "(MB/s)": 1e6}
_PATTERNS = {
    "size": r"\d{1,19}",
    "count": r"\d{1,19}",
    "type": r"u?int\d{0,2}|char|half|double|b?float\d{0,2}(?:_\w+)?|bf16|fp?\d\w*",
    # Blank where there is none, until 2.11.
    "redop": r"(?:(?:sum|prod|max|min|avg|mulsum|none)(?![a-z]))?",
    "root": r"-1|\d{1,9}",
    "timestamp": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
}
_MEASURED = rf"N/A|{NUMBER}"
_KNOWN = {"algbw", "busbw", "error", "#wrong", "#bitdiff", "#iters", *TIMES}
# How many values are wrong; %6g of a whole number.
_COUNT = lazy_pattern(r"(?:0|[1-9]\d*)(?:\.\d+)?(?:e\+?\d+)?")
# A row of releases since 2.13, of a log whose head is missing.
_USUAL = "size", "count", "type", "redop", "root"
_USUAL_HALF = "time", "algbw", "busbw", "#wrong"
_RANK = lazy_pattern(
    r"#\s*Rank\s+(\d{1,9})\s+(?:Group\s+(\d{1,9})\s+)?Pid\s+(\d{1,19})\s+on\s+(\S+)"
    r"\s+device\s+(\d{1,9})\s+\[([^\]]*)\]\s*(.*)"
)
TOOL = "nccl-tests"
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


class Factor(Record):
    """Bus bandwidth over algorithm bandwidth, as far as the printed digits tell."""

    least: float
    most: float

    def may_be(self, value: float) -> bool:
        """Return whether the digits allow that value."""
        return self.least <= value <= self.most


def program_in(text: str) -> str | None:
    """Return the collective of the program in a line; None for none, or several."""
    result = {match[1] for match in _PROGRAM.finditer(text)}
    return _PROGRAMS[result.pop()] if len(result) == 1 else None


def factor_of(points: Iterable[PrintedPoint]) -> Factor | None:
    """Return the factor by the row of the largest bandwidth; None if all are small."""
    best: PrintedPoint | None = None
    for point in points:
        rate = point.algorithm
        if rate is None or point.bus is None or rate < _LEAST_RATE:
            continue
        if best is None or rate > (best.algorithm or 0.0):
            best = point
    if best is None or best.algorithm is None or best.bus is None:
        return None
    # Rates above 999.99 GB/s have one decimal, and none above 9999.9.
    half = max(_ROUNDING, best.algorithm * 5e-5)
    return Factor(
        (best.bus - half) / (best.algorithm + half),
        (best.bus + half) / (best.algorithm - half),
    )


def candidates(
    redop: str, root: str, factor: Factor | None, ranks: int | None
) -> set[str]:
    """Return the collectives that rows may show.

    redop and root: as they print them; empty where they print none.
    """
    is_rooted = bool(root) and root != "-1"
    is_reduced = redop not in {"", "none"}
    if is_rooted:
        texts = {"reduce"} if is_reduced else set(_ROOTED)
    else:
        texts = set(_REDUCED if is_reduced else _NOT_REDUCED)
    return {text for text in texts if factor is None or _fits(text, factor, ranks)}


def _fits(collective: str, factor: Factor, ranks: int | None) -> bool:
    if collective == "all_reduce":
        if ranks is None:
            return factor.most >= 1 and factor.least < 2  # noqa: PLR2004 - 2 (n - 1) / n
        return factor.may_be(2 * (ranks - 1) / ranks)
    if collective in _SHARED:
        if ranks is None:
            return factor.least < 1
        return factor.may_be((ranks - 1) / ranks)
    return factor.may_be(1.0)


def ranks_of_all_reduce(factor: Factor | None, ranks: int) -> int | None:
    """Return the number of ranks, where an all-reduce over so many has that factor."""
    if factor is None or not 1 < ranks <= _MOST_RANKS:
        return None
    return ranks if factor.may_be(2 * (ranks - 1) / ranks) else None


def chosen(possible: set[str], path: str) -> str | None:
    """Return the only possible collective, or the one that the file is named for."""
    if len(possible) == 1:
        return next(iter(possible))
    name = path.rpartition("/")[2].lower()
    words = {match[0].translate(_PLAIN) for match in _FILE_NAME.finditer(name)}
    texts = [text for text in possible if text.replace("_", "") in words]
    return texts[0] if len(words) == len(texts) == 1 else None


def alternatives(possible: set[str]) -> str:
    """Return what rows may show, in words."""
    if not possible:
        return ", and the rates are those of no collective over these ranks"
    return f", and the rows may be of {' or '.join(sorted(possible))}"


Message = tuple[tuple[str, ...], int]  # type, operation and root; size


def passages(
    messages: Sequence[Message], *, has_one_size: bool, is_mixed: bool
) -> list[list[int]]:
    """Return the numbers of the rows of each passage over the sizes.

    They start over for another type, operation or root, and with `-N`. Rows of
    processes that print at the same time come in any order: the first of each size
    make one passage, the second ones another, whosever they are.
    """
    result: dict[tuple[object, ...], list[int]] = {}
    seen: dict[Message, int] = {}
    count = 0
    before = messages[0] if messages else ((), 0)
    for number, message in enumerate(messages):
        kind, size = message
        if is_mixed:
            times = seen.get(message, 0)
            seen[message] = times + 1
            key: tuple[object, ...] = (kind, times if size else 0)
        else:
            is_again = has_one_size and number > 0 and size == before[1]
            if kind != before[0] or size < before[1] or is_again:
                count += 1
            before = message
            key = (count,)
        result.setdefault(key, []).append(number)
    return list(result.values())


class Columns(Record):
    """The columns of a table: those that tell of the message, those of each half."""

    left: tuple[str, ...]
    halves: tuple[tuple[str, ...], ...]
    placements: tuple[str, ...]
    per_second: float = 1e6  # units of time
    rate: float = GIGA

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in their order."""
        return (*self.left, *(name for half in self.halves for name in half))


def columns_of(text: str, above: str) -> Columns | None:
    """Return the columns that a line names; `above` names the placements."""
    names = text.lstrip("#").split()
    if names[:2] != ["size", "count"] or "busbw" not in names:
        return None
    starts = [at for at, name in enumerate(names) if name in TIMES]
    if not 1 <= len(starts) <= len((OUT, IN)):
        return None
    ends = [*starts[1:], len(names)]
    halves = tuple(
        tuple(names[start:end]) for start, end in zip(starts, ends, strict=True)
    )
    placements: tuple[str, ...] = (OUT, IN)
    if len(halves) == 1:
        is_in_place = "in-place" in above and "out-of-place" not in above
        placements = (IN,) if is_in_place else (OUT,)
    return Columns(tuple(names[: starts[0]]), halves, placements)


def usual_columns() -> Columns:
    """Return those of a log that begins within its table."""
    return Columns(_USUAL, (_USUAL_HALF, _USUAL_HALF), (OUT, IN))


def with_units(columns: Columns, text: str) -> Columns:
    """Return the same columns in the units that the second line of the header names."""
    words = text.split()
    units = (_TIMES_OF_A_SECOND[word] for word in words if word in _TIMES_OF_A_SECOND)
    rates = (_RATES[word] for word in words if word in _RATES)
    return columns._replace(
        per_second=next(units, columns.per_second), rate=next(rates, columns.rate)
    )


class ResultRow(Record):
    """A row as far as it was printed: its texts in the order of the columns."""

    texts: tuple[str, ...]
    at: Span  # where it begins

    def text(self, columns: Columns, name: str) -> str:
        """Return the text of a column left of the halves; empty where there is none."""
        left = columns.left
        return self.texts[left.index(name)] if name in left else ""


@lru_cache(maxsize=64)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    made: list[re.Pattern[str]] = []
    for name in names:
        known = _PATTERNS.get(name)
        if known is None:
            is_number = name in _KNOWN or name.startswith("i_")
            known = _MEASURED if is_number else r"\S+"
        made.append(re.compile(rf"[ \t]*({known})"))
    return tuple(made)


def scanned(
    columns: Columns, before: Sequence[str], text: str
) -> tuple[list[str], str]:
    """Return what a text holds of a row beyond what is known, and the rest of it.

    Rows are printed in pieces; other processes print between them, also without a
    break: `... sum      -1node7:3442:3442 [0] NCCL INFO ...`.
    """
    texts = list(before)
    at = 0
    for pattern in _patterns(columns.names)[len(before) :]:
        match = pattern.match(text, at)
        if match is None:
            break
        texts.append(match[1])
        at = match.end()
    if len(texts) < len(_LEFT):
        return [], text
    return texts, text[at:]


def points_of(columns: Columns, row: ResultRow) -> tuple[PrintedPoint | None, ...]:
    """Return what a row says of each placement; None for one that it breaks off in."""
    made: list[PrintedPoint | None] = []
    at = len(columns.left)
    size = int(row.texts[0])
    for half in columns.halves:
        texts = row.texts[at : at + len(half)]
        at += len(half)
        stated = dict(zip(half, texts, strict=False))
        made.append(_point(columns, size, stated) if "busbw" in stated else None)
    return tuple(made)


def _point(columns: Columns, size: int, stated: dict[str, str]) -> PrintedPoint:
    values = {name: finite(text) for name, text in stated.items()}

    return measured_point(
        size,
        # `cputime` is what it takes to start one, not until it is done.
        over(values.get("time"), columns.per_second),
        times(values.get("algbw"), columns.rate),
        times(values.get("busbw"), columns.rate),
        wrong=_wrong(stated.get("#wrong", "")),
        variation=over(values.get("i_cv%"), 100),
        p99_seconds=over(values.get("i_p99"), columns.per_second),
    )


def _wrong(text: str) -> float | None:
    return finite(text) if _COUNT.fullmatch(text) else None


class ResultRank(Record):
    """A rank as its line names it."""

    rank: int
    group: int
    host: str
    device: int
    gpu: str
    at: Where


def rank_of(text: str, at: Where) -> ResultRank | None:
    """Return the rank that a line names."""
    match = _RANK.match(text)
    if match is None:
        return None
    rank, group, _, host, device, _, gpu = match.groups()
    return ResultRank(int(rank), int(group or 0), host, int(device), gpu.strip(), at)


def rank_leaves(
    named: Sequence[ResultRank], at: Where, factor_ranks: int | None = None
) -> Leaves:
    """Return what follows from the ranks that are named; `at` is where they should be.

    Groups run beside each other (NCCL_TESTS_SPLIT), and each is a run of its own of
    which the table shows one; the number of ranks is that of a group. factor_ranks:
    what the bus bandwidth of an all-reduce says, which counts only where it confirms
    the last rank of a list that is not whole.
    """
    if not named:
        reason = absent("no line of the log names a rank", TOOL)
        return {
            leaf: LeafValue(reason, at) for leaf in ("ranks", "nodes", "hosts", "gpu")
        }
    at = named[0].at
    by_rank = {rank.rank: rank for rank in named}
    leaves: Leaves = {"gpu": LeafValue(_gpu(named), at)}
    last = max(by_rank)
    if last + 1 != len(by_rank):
        shown = f"the log names {len(by_rank)} of at least {last + 1} ranks"
        reason = absent(shown, TOOL)
        is_confirmed = factor_ranks == last + 1
        leaves["ranks"] = LeafValue(last + 1 if is_confirmed else reason, at)
        leaves["nodes"] = leaves["hosts"] = LeafValue(reason, at)
        return leaves
    sizes = Counter(rank.group for rank in by_rank.values())
    if len(sizes) > 1:
        reason = absent(f"{len(sizes)} groups ran at the same time", TOOL)
        size, *others = set(sizes.values())
        leaves["ranks"] = LeafValue(reason if others else size, at)
        leaves["nodes"] = leaves["hosts"] = LeafValue(reason, at)
        return leaves
    leaves["ranks"] = LeafValue(len(by_rank), at)
    leaves["nodes"], leaves["hosts"] = _nodes_and_hosts(named, at)
    return leaves


def _gpu(named: Sequence[ResultRank]) -> str | dict[str, str]:
    names = sorted({rank.gpu for rank in named if rank.gpu})
    if len(names) == 1:
        return names[0]
    shown = ", ".join(names[:4]) or "no line names it"
    return dict(absent(f"the GPUs differ: {shown}" if names else shown, TOOL))


def _nodes_and_hosts(
    named: Sequence[ResultRank], at: Where
) -> tuple[LeafValue, LeafValue]:
    """Return the hosts by name; two machines of one name cannot be distinguished.

    Processes of a build without MPI do not know of each other: each is rank 0.
    """
    ranks = Counter(rank.rank for rank in named)
    devices = Counter((rank.host, rank.device) for rank in named)
    rank, times = ranks.most_common(1)[0]
    (host, device), ranks_of_device = devices.most_common(1)[0]
    reason = ""
    if times > 1:
        reason = f"{times} processes are rank {rank}: built without MPI"
    elif ranks_of_device > 1:
        reason = f"{ranks_of_device} ranks name device {device} of {host}"
    if reason:
        unknown = LeafValue(absent(reason, TOOL), at)
        return unknown, unknown
    hosts = list(dict.fromkeys(rank.host for rank in sorted(named, key=_by_rank)))
    return LeafValue(len(hosts), at), LeafValue([*hosts], at)


def _by_rank(rank: ResultRank) -> int:
    return rank.rank


class Mention(Record):
    """A line that names one program of nccl-tests."""

    collective: str
    line: PrintedLine


class ResultBlock:
    """What processes say before their tables, that they print at the same time."""

    def __init__(self) -> None:
        """Start an empty one."""
        self.leaves: Leaves = {}
        self.program: Mention | None = None
        self.ranks: list[ResultRank] = []
        self.first: PrintedLine | None = None
        self.has_one_size = False


class ResultTable:
    """One table; `others` of the same head may have mixed their rows into it."""

    def __init__(self, block: ResultBlock, columns: Columns, head: PrintedLine) -> None:
        """Start an empty one."""
        self.block = block
        self.columns = columns
        self.head = head
        self.mention: Mention | None = None
        self.rows: list[ResultRow] = []
        self.others = 0
        self.averages: list[PrintedLine] = []
        self.out_of_bounds: tuple[int, PrintedLine] | None = None
        self.ended_by: tuple[str, PrintedLine] | None = None
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

    def add(self, line: PrintedLine) -> bool:
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
            self.rows.append(ResultRow(tuple(self._begun), self._begun_at.span))
        self._begun = []

    def end(self, line: PrintedLine, text: str) -> bool:
        """Read a line as one of those at the end."""
        if self.is_complete:
            return False
        if match := _OUT_OF_BOUNDS.match(text):
            before, count = self.out_of_bounds, int(match[1])
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
        self.tables: list[ResultTable] = []
        self.died: list[tuple[ResultBlock, tuple[str, PrintedLine] | None]] = []
        self.last: PrintedLine | None = None
        self.backend = "nccl"
        self._ends: list[tuple[str, PrintedLine]] = []
        self._streams: dict[str, _Stream] = {}
        self._mentions: dict[tuple[str, str], PrintedLine] = {}
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
        """Note what ended each table: the last such line before the next table."""
        numbers = [line.number for _, line in self._ends]
        next_heads: dict[str, int] = {}
        for table in reversed(self.tables):
            head = table.head
            until = next_heads.get(head.label)
            stop = len(numbers) if until is None else bisect_left(numbers, until)
            if stop > bisect_left(numbers, head.number):
                table.ended_by = self._ends[stop - 1]
            next_heads[head.label] = head.number

    def _end_after(self, line: PrintedLine) -> tuple[str, PrintedLine] | None:
        last = self._ends[-1] if self._ends else None
        return last if last is not None and last[1].number > line.number else None

    def _read(self, line: PrintedLine) -> None:
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

    def _foreign(self, line: PrintedLine, text: str) -> None:
        """Note a line that is not of nccl-tests."""
        self._mention(line, text)
        match = _ENDS.search(text)
        if match is not None:
            self._ends.append((_WORDS[match.lastgroup or "fault"], line))
        if "RCCL version" in text:
            self.backend = "rccl"

    def _remark(self, stream: "_Stream", line: PrintedLine, text: str) -> None:
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

    def _open(self, stream: "_Stream", columns: Columns, line: PrintedLine) -> None:
        last = stream.table
        if last is not None and last.is_empty and self._end_after(last.head) is None:
            last.others += 1  # processes that print at the same time
            return
        table = ResultTable(stream.block, columns, line)
        table.mention = self._named(line.label, last.head.number if last else 0)
        stream.table, stream.is_head = table, True
        self.tables.append(table)

    def _starts_within(self, stream: "_Stream", line: PrintedLine) -> bool:
        """Return a row of a log that begins within its table."""
        columns = usual_columns()
        texts, _ = scanned(columns, (), line.text)
        if len(texts) < len(columns.names):
            return False
        self._open(stream, columns, line)
        stream.is_head = False
        return stream.table is not None and stream.table.add(line)

    def _mention(self, line: PrintedLine, text: str) -> None:
        collective = program_in(text) if "_perf" in text else None
        if collective is not None:
            self._mentions[line.label, collective] = line

    def _named(self, label: str, after: int) -> Mention | None:
        """Return the one program that was named since the table before, or at all."""
        known = [
            Mention(name, line)
            for of in dict.fromkeys(("", label))
            for name in COLLECTIVES
            if (line := self._mentions.get((of, name))) is not None
        ]
        recent = [mention for mention in known if mention.line.number > after]
        names = {mention.collective for mention in recent or known}
        return (recent or known)[-1] if len(names) == 1 else None


class _Stream:
    """What one process has printed so far, or several that look alike."""

    def __init__(self) -> None:
        self.block = ResultBlock()
        self.table: ResultTable | None = None
        self.is_head = False
        self.above = ""

    @property
    def start(self) -> PrintedLine | None:
        """Where the table, or what is before the next one, begins."""
        return self.table.head if self.table and self.is_shown else self.block.first

    @property
    def is_shown(self) -> bool:
        """Whether the block has its table."""
        return self.table is not None and self.table.block is self.block

    def read(self, line: PrintedLine, text: str, *, has_died: bool) -> None:
        """Read a line of the head of a table, or of nothing that counts."""
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

    def _block_for(self, line: PrintedLine, *, is_start: bool, has_died: bool) -> None:
        """Begin another block, where such a line cannot be of the same."""
        is_over = self.is_shown and self.table is not None and not self.table.is_empty
        if is_over or (has_died and is_start and self.block.first is not None):
            self.block = ResultBlock()
        self.block.first = self.block.first or line


def _head_leaves(line: PrintedLine, text: str) -> Leaves:
    stated: dict[str, CapturedValue] = {}
    if match := _VERSION.match(text):
        stated["tool_version"] = match[1]
        if match[2]:
            stated["library_version"] = library_version(int(match[2]))
    elif match := _ITERATIONS.search(text):
        stated["warmup_iterations"] = int(match[1])
        stated["iterations"] = int(match[2])
        if match[3] == "0":
            stated["is_compared"] = False
    return {leaf: LeafValue(value, line.span) for leaf, value in stated.items()}


def library_version(code: int) -> str:
    """Return the release of NCCL: 22501 is 2.25.1 (nccl.h, NCCL_VERSION)."""
    if code < 10_000:  # noqa: PLR2004 - until 2.8
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"
