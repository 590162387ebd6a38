"""What nvbandwidth prints: one test of copies for each of its matrices."""

from collections.abc import Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import Capture, Found, measurement_reading
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._nvbandwidth import (
    KIND,
    TOOL,
    Cell,
    Copying,
    copying_of,
    gpu_name,
    put_failed,
    put_test,
)
from speccheck.validator.sources.formats._printed import printed_reader
from speccheck.validator.sources.formats._printed_lines import Line, lines_of
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

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
        self.shared: dict[str, Found] = {}
        self.gpus: list[str] = []
        self.running: tuple[str, Line] | None = None
        self.name = ""
        self.copying: tuple[Copying, Line] | None = None
        self.columns: list[int] = []
        self.cells: list[Cell] = []

    def read(self, line: Line) -> None:
        """Another line."""
        text = line.text.strip()
        if found := _VERSION.match(text):
            self.end()
            self.shared, self.gpus = {"tool_version": found[1]}, []
        elif found := _DEVICE.match(text):
            self.gpus.append(found[2])
        elif found := _RUNNING.match(text):
            self.end()
            self.name = found[1]
            self.running = found[1], line
        elif text.startswith(("SUM ", "Waived", "memory latency")):
            self.end_matrix()
            self.running = None
        elif (copying := copying_of(self.name, text)) is not None:
            self.end_matrix()
            self.copying = copying, line
            self.running = None
        elif self.copying is not None:
            self.read_row(line, text)

    def read_row(self, line: Line, text: str) -> None:
        """A line within a matrix: its columns first, then each row."""
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
            shared = {**self.shared, "gpu": gpu_name(self.gpus)}
            if self.cells:
                put_test(self.capture, copying, shared, self.cells, line.span)
            else:
                reason = "its matrix has no row"
                put_failed(self.capture, self.name, shared, reason, line.span)
        self.copying, self.columns, self.cells = None, [], []

    def end(self) -> None:
        """Put down what the test before was, also when it gave nothing."""
        self.end_matrix()
        if self.running is not None:
            name, line = self.running
            shared = {**self.shared, "gpu": gpu_name(self.gpus)}
            reason = "no result was printed"
            put_failed(self.capture, name, shared, reason, line.span)
        self.running = None


def put(capture: Capture, text: str) -> None:
    """The tests of all processes whose output a log holds."""
    capture.command = TOOL
    outputs: dict[str, _Output] = {}
    for line in lines_of(text):
        output = outputs.get(line.label)
        if output is None:
            output = outputs[line.label] = _Output(capture)
        output.read(line)
    for output in outputs.values():
        output.end()


def _detect_json(document: Document) -> float:
    found = _told(document).get("testcases")
    return 1.0 if isinstance(found, list) else 0.0


def _told(document: Document) -> Mapping[str, object]:
    data = document.data
    found = data.get(TOOL) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def _read_json(document: Document) -> Reading:
    capture = Capture(document.name, f"{TOOL} -j")
    told = _told(document)
    shared: dict[str, Found] = {}
    version = told.get("version")
    if isinstance(version, str):
        shared["tool_version"] = version
    listed = told.get("GPU Device list")
    names = listed if isinstance(listed, list) else []
    devices = [one for one in names if isinstance(one, str)]
    shared["gpu"] = gpu_name(one.partition(": ")[2] for one in devices)
    tests = told.get("testcases")
    for number, test in enumerate(tests if isinstance(tests, list) else []):
        if isinstance(test, dict):
            _put_case(capture, document, shared, test, number)
    capture.listed(KIND, document.place((TOOL, "testcases")))
    return measurement_reading(capture.node(), FactSheet.of(document))


def _put_case(
    capture: Capture,
    document: Document,
    shared: dict[str, Found],
    test: Mapping[str, object],
    number: int,
) -> None:
    at = document.place((TOOL, "testcases", number))
    name, status = str(test.get("name", "")), str(test.get("status", ""))
    matrix = test.get("bandwidth_matrix")
    copying = copying_of(name, str(test.get("bandwidth_description", "")))
    if copying is not None and isinstance(matrix, list):
        cells = [
            Cell(row, column, str(text))
            for row, texts in enumerate(matrix)
            if isinstance(texts, list)
            for column, text in enumerate(texts)
        ]
        put_test(capture, copying, shared, cells, at)
    elif status.lower().startswith("error"):
        reason = str(test.get("error") or _error_of_all(document) or status)
        put_failed(capture, name, shared, reason[:200], at)


def _error_of_all(document: Document) -> str:
    """What the whole run says went wrong."""
    found = _told(document).get("error")
    return found if isinstance(found, str) else ""


READERS = (
    printed_reader(TOOL, TOOL, _detect),
    Reader(f"{TOOL}-json", "measurement", _detect_json, _read_json, keys=(TOOL,)),
)
