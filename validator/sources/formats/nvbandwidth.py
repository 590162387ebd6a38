"""What nvbandwidth prints: one test of copies for each of its matrices.

    memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)

The arrow says which way the bytes go: not every matrix has the source in its rows.
GB/s are 10^9 bytes per second. Source: NVIDIA/nvbandwidth output.cpp, testcases_ce.cpp,
testcases_sm.cpp, json_output.cpp.
"""

from collections.abc import Iterable, Mapping, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.measurement.device import CopyTest
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.capture import (
    Capture,
    CapturedValue,
    Scalar,
    Where,
    measurement_reading,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._printed import (
    GIGA,
    PrintedLine,
    absent,
    finite,
    lines_of,
    printed_reader,
    times,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

_TOOL = "nvbandwidth"
_KIND = CopyTest.kind
_MATRIX = lazy_pattern(
    r"memcpy (?:(CE|SM) ([CG]PU)\(row\) (<->|->|<-) ([CG]PU)\(column\)"
    r"|(local) GPU\(column\))(.*?)\bbandwidth \(GB/s\)"
)
_METHODS = {"CE": "copy_engine", "SM": "sm"}
_HEAD = lazy_pattern(r"memcpy (?:(?:CE|SM) [CG]PU\(row\)|local GPU\(column\))")
_VERSION = lazy_pattern(r"nvbandwidth Version: (\S+)")
_DEVICE = lazy_pattern(
    r"(?:Process +\d+ \([^)]*\): device|Device) (\d+): (.+?) \([0-9a-fA-F:.]+\)"
)
_RUNNING = lazy_pattern(r"Running (\w+)\.")
_CELL = lazy_pattern(r"N/A|-?\d+(?:\.\d+)?|-?nan|-?inf")


def _detect(text: str) -> float:
    return 1.0 if _HEAD.search(text) or "nvbandwidth Version: " in text else 0.0


class _Output:
    """The output of one process, line by line."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.shared: dict[str, CapturedValue] = {}
        self.gpus: list[str] = []
        self.running: tuple[str, PrintedLine] | None = None
        self.name = ""
        self.copying: tuple[Copying, PrintedLine] | None = None
        self.columns: list[int] = []
        self.cells: list[Cell] = []

    def read(self, line: PrintedLine) -> None:
        """Read a line."""
        text = line.text.strip()
        if match := _VERSION.match(text):
            self.end()
            self.shared, self.gpus = {"tool_version": match[1]}, []
        elif match := _DEVICE.match(text):
            self.gpus.append(match[2])
        elif match := _RUNNING.match(text):
            self.end()
            self.name = match[1]
            self.running = match[1], line
        elif text.startswith(("SUM ", "Waived", "memory latency")):
            self.end_matrix()
            self.running = None
        elif (copying := _copying_of(self.name, text)) is not None:
            self.end_matrix()
            self.copying = copying, line
            self.running = None
        elif self.copying is not None:
            self.read_row(line, text)

    def read_row(self, line: PrintedLine, text: str) -> None:
        """Read a line within a matrix: its columns first, then each row."""
        words = text.split()
        if line.is_cut:
            words = words[:-1]  # it may have lost digits
        if not words:
            if self.cells:
                self.end_matrix()
        elif not self.columns:
            if all(word.isdecimal() for word in words):
                self.columns = [int(word[:9]) for word in words]
        elif words[0].isdecimal() and all(map(_CELL.fullmatch, words[1:])):
            row = int(words[0][:9])
            cells = zip(self.columns, words[1:], strict=False)
            self.cells.extend(Cell(row, column, word) for column, word in cells)

    def end_matrix(self) -> None:
        """Put down a matrix that has ended."""
        if self.copying is not None:
            copying, line = self.copying
            shared = {**self.shared, "gpu": _gpu_name(self.gpus)}
            if self.cells:
                _put_test(self.capture, copying, shared, self.cells, line.span)
            else:
                reason = "its matrix has no row"
                _put_failed(self.capture, self.name, shared, reason, line.span)
        self.copying, self.columns, self.cells = None, [], []

    def end(self) -> None:
        """Put down what the test before was, also when it gave nothing."""
        self.end_matrix()
        if self.running is not None:
            name, line = self.running
            shared = {**self.shared, "gpu": _gpu_name(self.gpus)}
            _put_failed(self.capture, name, shared, "no result was printed", line.span)
        self.running = None


def put(capture: Capture, text: str) -> None:
    """Put down the tests of all processes whose output a log holds."""
    capture.command = _TOOL
    outputs: dict[str, _Output] = {}
    for line in lines_of(text):
        output = outputs.get(line.label)
        if output is None:
            output = outputs[line.label] = _Output(capture)
        output.read(line)
    for output in outputs.values():
        output.end()


def _detect_json(document: Document) -> float:
    result = _output_of(document).get("testcases")
    return 1.0 if isinstance(result, list) else 0.0


def _output_of(document: Document) -> Mapping[str, object]:
    data = document.data
    result = data.get(_TOOL) if isinstance(data, dict) else None
    return result if isinstance(result, dict) else {}


def _read_json(document: Document) -> Reading:
    capture = Capture(document.name, f"{_TOOL} -j")
    stated = _output_of(document)
    shared: dict[str, CapturedValue] = {}
    version = stated.get("version")
    if isinstance(version, str):
        shared["tool_version"] = version
    listed = stated.get("GPU Device list")
    names = listed if isinstance(listed, list) else []
    devices = [name for name in names if isinstance(name, str)]
    shared["gpu"] = _gpu_name(device.partition(": ")[2] for device in devices)
    tests = stated.get("testcases")
    for number, test in enumerate(tests if isinstance(tests, list) else []):
        if isinstance(test, dict):
            _put_case(capture, document, shared, test, number)
    capture.listed(_KIND, document.place((_TOOL, "testcases")))
    return measurement_reading(capture.node(), FactSheet.of(document))


def _put_case(
    capture: Capture,
    document: Document,
    shared: dict[str, CapturedValue],
    test: Mapping[str, object],
    number: int,
) -> None:
    at = document.place((_TOOL, "testcases", number))
    name, status = str(test.get("name", "")), str(test.get("status", ""))
    matrix = test.get("bandwidth_matrix")
    copying = _copying_of(name, str(test.get("bandwidth_description", "")))
    if copying is not None and isinstance(matrix, list):
        cells = [
            Cell(row, column, str(text))
            for row, texts in enumerate(matrix)
            if isinstance(texts, list)
            for column, text in enumerate(texts)
        ]
        _put_test(capture, copying, shared, cells, at)
    elif status.lower().startswith("error"):
        reason = str(test.get("error") or _error_of_all(document) or status)
        _put_failed(capture, name, shared, reason[:200], at)


def _error_of_all(document: Document) -> str:
    """Return what the whole run says went wrong."""
    result = _output_of(document).get("error")
    return result if isinstance(result, str) else ""


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


def _copying_of(name: str, text: str) -> Copying | None:
    """Return what a line above a matrix says; None for others, latencies among them."""
    match = _MATRIX.search(text)
    if match is None:
        return None
    method, row, arrow, _, local, detail = match.groups()
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


def _gpu_name(texts: Iterable[str]) -> CapturedValue:
    """Return the name of all GPUs, without their addresses."""
    names = sorted({text.partition(" (")[0].strip() for text in texts} - {""})
    if len(names) == 1:
        return names[0]
    shown = ", ".join(names[:4])
    return absent(f"the GPUs differ: {shown}" if names else "no line names it", _TOOL)


def _put_test(
    capture: Capture,
    copying: Copying,
    shared: dict[str, CapturedValue],
    cells: Sequence[Cell],
    at: Where,
) -> None:
    """Put a test with its matrix."""
    part = _KIND, capture.add(_KIND, at)
    for leaf, item in {"tool": _TOOL, **shared, **copying.leaves}.items():
        capture.put_at(part, leaf, item, at)
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
    for leaf, list_ in lists.items():
        capture.put_at(part, leaf, [*list_], at)


def _put_failed(
    capture: Capture,
    name: str,
    shared: dict[str, CapturedValue],
    reason: str,
    at: Where,
) -> None:
    """Put a test that was begun and gave no result."""
    part = _KIND, capture.add(_KIND, at)
    for leaf, item in {"tool": _TOOL, **shared, "name": name}.items():
        capture.put_at(part, leaf, item, at)
    failed = {"status": "failed", "message": reason, "source": _TOOL}
    capture.put_at(part, "bytes_per_second", failed, at)


READERS = (
    printed_reader(_TOOL, _TOOL, _detect),
    Reader(f"{_TOOL}-json", "measurement", _detect_json, _read_json, keys=(_TOOL,)),
)
