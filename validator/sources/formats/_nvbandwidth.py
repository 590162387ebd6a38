"""What a test of nvbandwidth is, by its name and the line above its matrix.

    memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)

The arrow says which way the bytes go: not every matrix has the source in its rows.
GB/s are 10^9 bytes per second. Source: NVIDIA/nvbandwidth output.cpp, testcases_ce.cpp,
testcases_sm.cpp, json_output.cpp.
"""

from collections.abc import Iterable, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.measurement.device import CopyTest
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.capture import Capture, Found, Scalar, Where
from speccheck.validator.sources.formats._collective_runs import GIGA, times
from speccheck.validator.sources.formats._printed_lines import absent, finite

TOOL = "nvbandwidth"
KIND = CopyTest.kind
_MATRIX = lazy_pattern(
    r"memcpy (?:(CE|SM) ([CG]PU)\(row\) (<->|->|<-) ([CG]PU)\(column\)"
    r"|(local) GPU\(column\))(.*?)\bbandwidth \(GB/s\)"
)
_METHODS = {"CE": "copy_engine", "SM": "sm"}


class Cell(Record):
    """A rate as it is printed, between the row and the column that it stands in."""

    row: int
    column: int
    text: str


class Copying(Record):
    """Leaves of a test, but for its rates; the ends of a copy by row and column."""

    leaves: dict[str, Scalar]
    from_row: bool = True
    has_host: bool = False
    is_local: bool = False


def copying_of(name: str, text: str) -> Copying | None:
    """What a line above a matrix says; None for another line, also for latencies."""
    found = _MATRIX.search(text)
    if found is None:
        return None
    method, row, arrow, _, local, detail = found.groups()
    leaves: dict[str, Scalar] = {"method": _METHODS.get(method or "", "copy_engine")}
    leaves["is_bidirectional"] = "bidirectional" in name or arrow == "<->"
    if name:
        leaves["name"] = name
        is_all = "all_to_" in name or "_to_all" in name
        leaves["is_all_at_once"] = is_all
    for operation in ("read", "write"):
        if f"_{operation}" in name or operation in detail.lower():
            leaves["operation"] = operation
    if leaves["is_bidirectional"]:
        leaves["is_sum_of_both_ways"] = "Total" in detail
    if local is not None:
        return Copying({**leaves, "direction": "local"}, is_local=True)
    if row == "GPU":
        return Copying({**leaves, "direction": "device_to_device"}, arrow != "<-")
    # Of a bidirectional copy the stream that is measured is that of the name.
    is_to_host = arrow == "<-" or (arrow == "<->" and not name.startswith("host_to"))
    direction = "device_to_host" if is_to_host else "host_to_device"
    return Copying({**leaves, "direction": direction}, not is_to_host, has_host=True)


def gpu_name(texts: Iterable[str]) -> Found:
    """The name of all GPUs, without their addresses."""
    names = sorted({text.partition(" (")[0].strip() for text in texts} - {""})
    if len(names) == 1:
        return names[0]
    shown = ", ".join(names[:4])
    return absent(f"the GPUs differ: {shown}" if names else "no line names it", TOOL)


def put_test(
    capture: Capture,
    copying: Copying,
    shared: dict[str, Found],
    cells: Sequence[Cell],
    at: Where,
) -> None:
    """A test with its matrix."""
    part = KIND, capture.add(KIND, at)
    for leaf, found in {"tool": TOOL, **shared, **copying.leaves}.items():
        capture.put_at(part, leaf, found, at)
    sources: list[Scalar | None] = []
    targets: list[Scalar | None] = []
    rates: list[Scalar | None] = []
    for cell in cells:
        row = cell.column if copying.is_local else cell.row
        ends: list[int | None] = [row, cell.column]
        if copying.has_host:
            ends[0] = None
        source, target = ends if copying.from_row else reversed(ends)
        sources.append(source)
        targets.append(target)
        rate = finite(cell.text)
        rates.append(times(rate, GIGA) if rate is not None and rate > 0 else None)
    lists = {"from_gpu": sources, "to_gpu": targets, "bytes_per_second": rates}
    for leaf, found in lists.items():
        capture.put_at(part, leaf, [*found], at)


def put_failed(
    capture: Capture, name: str, shared: dict[str, Found], reason: str, at: Where
) -> None:
    """A test that was begun and gave no result."""
    part = KIND, capture.add(KIND, at)
    for leaf, found in {"tool": TOOL, **shared, "name": name}.items():
        capture.put_at(part, leaf, found, at)
    failed = {"status": "failed", "message": reason, "source": TOOL}
    capture.put_at(part, "bytes_per_second", failed, at)
