"""What readers of printed measurements share: lines of a log, runs of collectives.

The log of a job often holds the output of several tools. Whichever of them names its
format, all of them read it, so that nothing in it is lost. Each line knows the process
that it names: the lines of several processes mix, and only together with the others of
its own process does a line mean something.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import (
    Capture,
    CapturedValue,
    Where,
    line_span,
    measurement_reading,
)
from speccheck.validator.sources.nccl_log import add_communicators, has_lines
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

# By module: a text without any of these holds nothing of that tool.
MARKS: dict[str, tuple[str, ...]] = {
    "nccl_tests": ("busbw", "# Avg bus bandwidth", "# nThread "),
    "nvbandwidth": ("memcpy CE ", "memcpy SM ", "memcpy local GPU"),
    "perftest": (" BW Test", " Latency Test", "BW average[", "t_typical["),
    "osu": ("# OSU ",),
    "mllog": (":::MLLOG",),
}
# Puts down what a tool has printed in a text.
Put = Callable[[Capture, str], None]
# Numbers of lines as tools print them; `inf`, `nan` and `N/A` are no values.
NUMBER = r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf|nan)"
_TIME = (
    r"\[?(?:\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}"  # mpirun --timestamp-output
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[-+]\d\d:?\d\d)?)"
    r"\]?:? ?"
)
_PROCESS = (
    r"\[(?:[\w.@-]+@)?\d+(?:,\d+)+\](?:<std\w+>)?: ?"  # mpirun --tag-output
    r"|\[1,mpirank:\d+,[\w.-]+\]<std\w+>: ?"  # mpirun of SageMaker
    r"|\[pod/[^\]\s]+\] ?"  # kubectl logs --prefix
    r"| {0,8}\d{1,7}: ?(?!\d)"  # srun --label
    r"|\[\d{1,7}\] ?(?=#| )"  # mpiexec -prepend-rank
    r"|[A-Za-z][\w.-]*: (?=#| *\d)"  # pdsh
)
_PREFIX = lazy_pattern(rf"(?P<time>{_TIME})|(?P<process>{_PROCESS})")
_MOST_PREFIXES = 3
_MOST = 1e18  # of bytes, microseconds and their rates
KIND = CollectiveRun.kind
GIGA = 1e9  # of NVIDIA/nccl-tests src/common.cu: GB/s are 10^9 bytes per second


class LeafValue(Record):
    """The value of a leaf, and where the log has it."""

    value: CapturedValue
    at: Where


Leaves = dict[str, LeafValue]


def printed_reader(
    format_id: str, module: str, detect: Callable[[str], float]
) -> CaptureReader:
    """Return the reader of a module, which has a function `put`."""

    def detected(source: Source) -> float:
        return detect(source.text)

    return CaptureReader(format_id, MARKS[module], detected, _read, role="measurement")


def _read(source: Source) -> Reading:
    """Return what all tools and NCCL itself have printed in a log."""
    capture = Capture(source.name, "")
    for module, marks in MARKS.items():
        if any(mark in source.text for mark in marks):
            put: Put = import_module(f"{__package__}.{module}").put
            put(capture, source.text)
    if has_lines(source.text):
        capture.command = "NCCL log"
        add_communicators(capture, source.text)
    return measurement_reading(capture.node(), FactSheet(source.name))


class PrintedLine(Record):
    """A line of a log.

    Attributes:
        number: of the line, from 1.
        whole: the line as it stands.
        text: what follows the prefixes of launchers.
        label: of the process that printed it; empty if it is not known.
        is_cut: the log ends in it, without an end of line.
    """

    number: int
    whole: str
    text: str
    label: str
    is_cut: bool = False

    @property
    def span(self) -> Span:
        """Where it stands."""
        return line_span(self.number, self.whole)


def lines_of(text: str) -> Iterator[PrintedLine]:
    """Return the lines of a log in their order."""
    lines = text.splitlines()
    cut = 0 if text.endswith(("\n", "\r")) else len(lines)
    for number, whole in enumerate(lines, 1):
        at, label = 0, ""
        for _ in range(_MOST_PREFIXES):
            match = _PREFIX.match(whole, at)
            if match is None:
                break
            at = match.end()
            label = (match["process"] or "").strip() or label
        yield PrintedLine(number, whole, whole[at:], label, number == cut)


def finite(text: str) -> float | None:
    """Return a number that a tool has printed; None if no measurement can be it."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < _MOST else None


def number_of(result: object) -> float | None:
    """Return a number of a document, in the same way; `"nan"` and true are none."""
    if type(result) not in {int, float} or not isinstance(result, int | float):
        return None
    return float(result) if abs(result) < _MOST else None


def absent(message: str, source: str) -> Mapping[str, str]:
    """Return a leaf of which a tool says nothing, and why."""
    return {"status": "absent", "message": message, "source": source}


class PrintedPoint(Record):
    """What was measured of messages of one size."""

    size_bytes: int
    seconds: float | None = None
    algorithm: float | None = None  # bytes per second
    bus: float | None = None
    wrong: int | None = None
    spread: float | None = None
    variation: float | None = None
    p99_seconds: float | None = None


def over(value: float | None, unit: float) -> float | None:
    """Return a value divided by a unit, if there is one: seconds to the picosecond."""
    return None if value is None else round(value / unit, 12)


def times(value: float | None, unit: float) -> float | None:
    """Return a rate multiplied by its unit, where there is one, in whole bytes."""
    return None if value is None else float(round(value * unit))


def measured_point(
    size_bytes: int,
    seconds: float | None,
    algorithm: float | None,
    bus: float | None,
    *,
    wrong: float | None = None,
    spread: float | None = None,
    variation: float | None = None,
    p99_seconds: float | None = None,
) -> PrintedPoint:
    """Return a point without what cannot be measured: no time, rates of no bytes.

    A collective of nothing has a time and no bandwidth; one that took no time was not
    timed. Rates stay zero where the tool has rounded them.
    """
    has_bytes = size_bytes > 0
    return PrintedPoint(
        size_bytes,
        _kept(seconds, is_kept=seconds is not None and seconds > 0),
        _kept(algorithm, is_kept=has_bytes),
        _kept(bus, is_kept=has_bytes),
        None if wrong is None else int(wrong),
        _kept(spread),
        _kept(variation),
        _kept(p99_seconds, is_kept=p99_seconds is not None and p99_seconds > 0),
    )


def _kept(value: float | None, *, is_kept: bool = True) -> float | None:
    return value if is_kept and value is not None and value >= 0 else None


# Leaf, field of the point, and whether a run that does not measure it says so.
_LISTS = (
    ("size_bytes", "size_bytes", True),
    ("seconds", "seconds", True),
    ("algorithm_bytes_per_second", "algorithm", True),
    ("bus_bytes_per_second", "bus", True),
    ("wrong_values", "wrong", False),
    ("spread", "spread", False),
    ("variation", "variation", False),
    ("p99_seconds", "p99_seconds", False),
)


def put_run(
    capture: Capture,
    leaves: Mapping[str, LeafValue],
    points: Iterable[PrintedPoint],
    at: Where,
) -> None:
    """Put down another run; `at` is where its points stand."""
    part = KIND, capture.add(KIND, at)
    for leaf, reported in leaves.items():
        capture.put_at(part, leaf, reported.value, reported.at)
    rows = list(points)
    for leaf, field, is_shown in _LISTS:
        if leaf in leaves:
            continue
        values = [getattr(row, field) for row in rows]
        if any(value is not None for value in values):
            capture.put_at(part, leaf, values, at)
        elif is_shown:
            reason = "no value was measured" if rows else "no row was measured"
            capture.put_at(part, leaf, absent(reason, capture.command), at)
