"""What the OSU micro-benchmarks print: collectives of MPI, and copies of two ranks.

They print neither how many ranks took part nor a last line. Of all-gather, all-to-all,
gather and scatter the size is the share of one rank, so that the size of the whole is
not known. MB/s are 10^6 bytes. Source: OSU micro-benchmarks 5.9 and 7.5,
c/util/osu_util_mpi.c and c/mpi/pt2pt/standard/osu_bw.c.
"""

import re

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import Capture, CapturedValue
from speccheck.validator.sources.formats._printed import (
    LeafValue,
    Leaves,
    PrintedLine,
    PrintedPoint,
    absent,
    finite,
    lines_of,
    measured_point,
    over,
    printed_reader,
    put_run,
    times,
)

TOOL = "osu"
_TITLE = lazy_pattern(
    r"# OSU (MPI[\w-]*|NCCL|RCCL) (?:(.+?) )?(Latency|Bandwidth) Test(?: v(\S+))?\s*$"
)
_COLLECTIVES = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "alltoall": "all_to_all",
    "all-to-all personalized exchange": "all_to_all",
    "reduce_scatter": "reduce_scatter",
    "broadcast": "broadcast",
    "bcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
}
_OF_A_SHARE = frozenset({"all_gather", "all_to_all", "gather", "scatter"})
_BETWEEN_TWO = "point_to_point"
_TIMES = ("Max Latency(us)", "Avg Latency(us)", "Latency (us)", "Avg Lat(us)")
_MOST_DIGITS = 19


def _detect(text: str) -> float:
    lines = (line for line in text.splitlines() if "# OSU " in line)
    return 1.0 if any(_TITLE.search(line) for line in lines) else 0.0


class _Test:
    """One test of one process."""

    def __init__(self, line: PrintedLine, leaves: Leaves, collective: str) -> None:
        self.at = line.span
        self.leaves = leaves
        self.collective = collective
        self.columns: list[str] = []
        self.points: list[PrintedPoint] = []
        self.failed = 0

    def read(self, line: PrintedLine, text: str) -> None:
        """Read a line below its title."""
        if text.startswith("# Size"):
            self.columns = re.split(r"\s{2,}", text[2:])
        elif self.columns and text[:1].isdecimal():
            words = text.split()
            if line.is_cut:
                words = words[:-1]  # its last value may have lost digits
            shown = dict(zip(self.columns, words, strict=False))
            size = shown.get("Size", "")
            if len(shown) == len(self.columns) == len(words) and size.isdecimal():
                self._add(shown, int(size[:_MOST_DIGITS]))

    def _add(self, shown: dict[str, str], size: int) -> None:
        values = {name: finite(text) for name, text in shown.items()}
        waits = (values[name] for name in _TIMES if values.get(name) is not None)
        self.failed += shown.get("Validation", "") == "Fail"
        self.points.append(
            measured_point(
                size,
                over(next(waits, None), 1e6),
                times(values.get("Bandwidth (MB/s)"), 1e6),
                None,
                p99_seconds=over(values.get("P99 Tail Lat(us)"), 1e6),
            )
        )

    def put(self, capture: Capture) -> None:
        """Put down its run."""
        leaves = dict(self.leaves)
        if "Validation" in self.columns and self.points:
            leaves["is_compared"] = LeafValue(value=True, at=self.at)
            leaves["out_of_bounds"] = LeafValue(self.failed, self.at)
        if self.collective in _OF_A_SHARE:
            reason = "the size is that of one rank, and the ranks are not told"
            leaves["size_bytes"] = LeafValue(absent(reason, TOOL), self.at)
        put_run(capture, leaves, self.points, self.at)


def put(capture: Capture, text: str) -> None:
    """Put down the tests of all processes whose output a log holds."""
    capture.command = TOOL
    tests: dict[str, _Test] = {}
    for line in lines_of(text):
        words = line.text.strip()
        test = tests.get(line.label)
        title = _TITLE.match(words) if words.startswith("# OSU ") else None
        if title is not None:
            if test is not None:
                test.put(capture)
            tests[line.label] = _started(line, *title.groups())
        elif test is not None:
            test.read(line, words)
    for test in tests.values():
        test.put(capture)


def _started(
    line: PrintedLine, library: str, name: str | None, kind: str, version: str | None
) -> _Test:
    """Return a test by its title: `# OSU MPI-CUDA Allreduce Latency Test v7.0`."""
    name = (name or kind).lower().removeprefix("non-blocking ")
    collective = _COLLECTIVES.get(name, "")
    if not collective:
        is_bidirectional = "bi-directional" in name
        collective = "" if is_bidirectional or kind == "Latency" else _BETWEEN_TWO
    shown: dict[str, CapturedValue] = {
        "tool": TOOL,
        "backend": library.lower().partition("-")[0],
        "ranks": absent("the tool does not print how many", TOOL),
        "is_complete": absent("the tool prints no last line", TOOL),
    }
    if version:
        shown["tool_version"] = version
    if collective == _BETWEEN_TWO:
        shown["ranks"] = 2
    shown["collective"] = collective or absent(f"is called {name[:60]!r}", TOOL)
    leaves = {leaf: LeafValue(item, line.span) for leaf, item in shown.items()}
    return _Test(line, leaves, collective)


READER = printed_reader(TOOL, TOOL, _detect)
