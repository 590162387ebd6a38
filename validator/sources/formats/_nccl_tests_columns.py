"""The columns of a table of nccl-tests, by the names in its header, and its rows.

Since 2011 the columns were: size, count, type, and redop and root where the collective
has them (until 2.11) or always (since 2.13); then for each placement time, algbw, busbw
and `error` or `#wrong`; then what releases and forks add: `i_min` ... `i_cv%`,
`#bitdiff`, `#iters`, a timestamp. Sources: NVIDIA/nccl-tests src/common.cu and
src/util.cu, NVIDIA/DCGM testing/python3/mocks, ROCm/rccl-tests src/common.cu.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.formats._collective_runs import (
    GIGA,
    Point,
    measured_point,
    over,
    times,
)
from speccheck.validator.sources.formats._printed_lines import NUMBER, finite

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
    """The columns that a line names; `above` is the line that names the placements."""
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
    """Those of a log that begins within its table."""
    return Columns(_USUAL, (_USUAL_HALF, _USUAL_HALF), (OUT, IN))


def with_units(columns: Columns, text: str) -> Columns:
    """The same columns in the units that the second line of the header names."""
    words = text.split()
    units = (_TIMES_OF_A_SECOND[word] for word in words if word in _TIMES_OF_A_SECOND)
    rates = (_RATES[word] for word in words if word in _RATES)
    return columns._replace(
        per_second=next(units, columns.per_second), rate=next(rates, columns.rate)
    )


class Row(Record):
    """A row as far as it was printed: its texts in the order of the columns."""

    texts: tuple[str, ...]
    at: Span  # where it begins

    def text(self, columns: Columns, name: str) -> str:
        """What stands in a column left of the halves; empty where there is none."""
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
    """What of a row stands in a text after what is known of it, and the text behind.

    Rows are printed in pieces; other processes print between them, also without a
    break: `... sum      -1node7:3442:3442 [0] NCCL INFO ...`.
    """
    found = list(before)
    at = 0
    for pattern in _patterns(columns.names)[len(before) :]:
        match = pattern.match(text, at)
        if match is None:
            break
        found.append(match[1])
        at = match.end()
    if len(found) < len(_LEFT):
        return [], text
    return found, text[at:]


def points_of(columns: Columns, row: Row) -> tuple[Point | None, ...]:
    """What a row says of each placement; None for one that it breaks off in."""
    made: list[Point | None] = []
    at = len(columns.left)
    size = int(row.texts[0])
    for half in columns.halves:
        texts = row.texts[at : at + len(half)]
        at += len(half)
        told = dict(zip(half, texts, strict=False))
        made.append(_point(columns, size, told) if "busbw" in told else None)
    return tuple(made)


def _point(columns: Columns, size: int, told: dict[str, str]) -> Point:
    values = {name: finite(text) for name, text in told.items()}

    return measured_point(
        size,
        # `cputime` is what it takes to start one, not until it is done.
        over(values.get("time"), columns.per_second),
        times(values.get("algbw"), columns.rate),
        times(values.get("busbw"), columns.rate),
        wrong=_wrong(told.get("#wrong", "")),
        variation=over(values.get("i_cv%"), 100),
        p99_seconds=over(values.get("i_p99"), columns.per_second),
    )


def _wrong(text: str) -> float | None:
    return finite(text) if _COUNT.fullmatch(text) else None
