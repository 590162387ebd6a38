"""What perftest prints: `ib_write_bw`, `ib_read_bw`, `ib_send_lat` and the others.

MB/sec are 2^20 bytes, as newer releases write it (MiB/sec); Gb/sec are 10^9 bits. What
a bidirectional test prints is the sum of both ways. Source: linux-rdma/perftest
src/perftest_parameters.c (print_full_bw_report: format_factor) and .h.

Server and client of a loopback print into one log, so that each line may stand twice.
"""

from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.measurement.device import RdmaTransfer
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import Capture, CapturedValue, Scalar
from speccheck.validator.sources.formats._printed import (
    PrintedLine,
    absent,
    finite,
    lines_of,
    over,
    printed_reader,
    times,
)

TOOL = "perftest"
_KIND = RdmaTransfer.kind
_TITLE = lazy_pattern(
    r"(RDMA_Write|RDMA_Read|Send|Atomic) +(Bidirectional +)?(?:Post List +)?"
    r"(BW|Latency) +(?:Multicast +)?Test$"
)
_SETTING = lazy_pattern(
    r"(Device|Number of qps|Transport type|Connection type|Mtu|Link type"
    r"|Use (?:CUDA|ROCm) memory)\s*: *([^\s\[]+)"
)
_COLUMN = lazy_pattern(
    r"#\w+|(?:BW|MsgRate) ?\w*\[[^\]]*\]|t_\w+\[\w+\]|99(?:\.9)?% percentile\[\w+\]"
    r"|CPU_Util\[%+\]|tps average"
)
_GPU_MEMORY = lazy_pattern(
    r"GPU buffer|CUDA Ctx|initializing CUDA|--use_(?:cuda|rocm)"
    r"|Using (?:CUDA|ROCm) Device"
)
_OPERATIONS = {
    "RDMA_Write": "write",
    "RDMA_Read": "read",
    "Send": "send",
    "Atomic": "atomic",
}
_LINK_LAYERS = {"IB": "InfiniBand", "Ethernet": "Ethernet"}
_RATES = {"MB/sec": 2.0**20, "MiB/sec": 2.0**20, "Gb/sec": 1e9 / 8}
_MICROSECONDS = 1e6
_LINE = "-" * 40


def _detect(text: str) -> float:
    is_titled = any(
        _TITLE.search(line.rstrip()) for line in text.splitlines() if "Test" in line
    )
    return 1.0 if is_titled or "BW average[" in text or "t_typical[" in text else 0.0


class _Row(Record):
    values: tuple[float | None, ...]
    at: Span


class _Group:
    """The output of one test, of one process or of two that mix."""

    def __init__(self, line: PrintedLine, before: "_Group | None") -> None:
        """Start one; `before` is that of the other process, whose title it shares."""
        self.at = line.span
        self.title: tuple[str, str, bool] | None = before.title if before else None
        self.settings: dict[str, str] = dict(before.settings) if before else {}
        self.columns: tuple[str, ...] = ()
        self.heads = 0
        self.rows: list[_Row] = []
        self.is_on_gpu: bool = before is not None and before.is_on_gpu
        self.is_whole_head: bool = before is not None and before.is_whole_head
        self.is_complete = False

    def read(self, line: PrintedLine, text: str) -> None:
        """Read a line within it."""
        if text.startswith(_LINE):
            self.is_complete = bool(self.rows)
        elif "#bytes" in text:
            self.columns = tuple(match[0] for match in _COLUMN.finditer(text))
            self.heads += 1
        elif self.columns and text[:1].isdecimal():
            self._read_row(line, text)
        else:
            for match in _SETTING.finditer(text):
                self.settings[match[1]] = match[2]

    def _read_row(self, line: PrintedLine, text: str) -> None:
        words = text.split()
        if line.is_cut:
            words = words[:-1]  # its last value may have lost digits
        is_row = len(words) == len(self.columns) and words[0].isdecimal()
        if is_row and len(words[0]) < _MOST_DIGITS:
            self.rows.append(_Row(tuple(map(finite, words)), line.span))
            self.is_complete = False

    def runs(self) -> Iterator[list[_Row]]:
        """Return the rows of each process, in the order in which their sizes grow."""
        result: dict[int, list[_Row]] = {}
        seen: dict[float | None, int] = {}
        passage, before = 0, 0.0
        for row in self.rows:
            size = row.values[0] or 0.0
            if self.heads > 1:
                key = seen.get(size, 0)
                seen[size] = key + 1
            else:
                passage += size < before
                before, key = size, passage
            result.setdefault(key, []).append(row)
        yield from result.values()
        if not result:
            yield []


_MOST_DIGITS = 19


def put(capture: Capture, text: str) -> None:
    """Put down the transfers of all tests that a log holds."""
    capture.command = TOOL
    groups: dict[str, _Group] = {}
    ready: dict[str, bool] = {}
    on_gpu: dict[str, bool] = {}
    for line in lines_of(text):
        label, words = line.label, line.text.strip()
        group = groups.get(label)
        title = _TITLE.search(words) if words.endswith("Test") else None
        if _GPU_MEMORY.search(words):
            on_gpu[label] = True
        is_head = "#bytes" in words
        if title is not None or (is_head and (group is None or group.rows)):
            if group is None or group.rows or not group.title:
                _put_group(capture, group)
                before = group if is_head else None
                group = groups[label] = _Group(line, before)
                if before is None:
                    group.is_whole_head = ready.get(label, False)
            group.is_on_gpu = group.is_on_gpu or on_gpu.pop(label, False)
        if title is not None and group is not None:
            operation, both, kind = title.groups()
            group.title = _OPERATIONS[operation], kind, both is not None
        elif group is not None:
            group.read(line, words)
        ready[label] = words.startswith((_LINE, "****"))
    for group in groups.values():
        _put_group(capture, group)


def _put_group(capture: Capture, group: _Group | None) -> None:
    if group is None:
        return
    for rows in group.runs():
        part = _KIND, capture.add(_KIND, group.at)
        leaves = {**_leaves(group), **_lists(group, rows)}
        at = rows[0].at if rows else group.at
        for leaf, item in leaves.items():
            capture.put_at(part, leaf, item, at if leaf in _POINTS else group.at)


def _leaves(group: _Group) -> Mapping[str, CapturedValue]:
    leaves: dict[str, CapturedValue] = {"tool": TOOL, "is_complete": group.is_complete}
    if group.title is not None:
        operation, kind, is_bidirectional = group.title
        suffix = "bw" if kind == "BW" else "lat"
        leaves["name"] = f"ib_{operation}_{suffix}"
        leaves["operation"] = operation
        leaves["is_bidirectional"] = is_bidirectional
    settings = group.settings
    if device := settings.get("Device"):
        leaves["device"] = device
    for name, leaf in (("Mtu", "mtu_bytes"), ("Number of qps", "queue_pairs")):
        value = settings.get(name, "")
        if value.isdecimal() and len(value) < _MOST_DIGITS:
            leaves[leaf] = int(value)
    layer = settings.get("Link type", "")
    if layer:
        leaves["link_layer"] = _LINK_LAYERS.get(layer, layer)
    transport = settings.get("Transport type", "")
    if settings.get("Connection type") == "SRD":
        leaves["transport"] = "EFA"
    elif transport == "IB" and layer == "Ethernet":
        leaves["transport"] = "RoCE"
    elif transport and layer:
        leaves["transport"] = transport
    leaves["memory"] = _memory(group)
    return leaves


def _memory(group: _Group) -> CapturedValue:
    """Return where the buffers lie: a test on a GPU says so before its title."""
    named = (group.settings.get(f"Use {text} memory") for text in ("CUDA", "ROCm"))
    if group.is_on_gpu or "ON" in named:
        return "gpu"
    if group.is_whole_head:
        return "host"
    return absent("the log does not show what was printed before", TOOL)


_POINTS = (
    "size_bytes",
    "iterations",
    "peak_bytes_per_second",
    "average_bytes_per_second",
    "typical_seconds",
    "p99_seconds",
)


def _lists(group: _Group, rows: list[_Row]) -> Mapping[str, CapturedValue]:
    """Return the points; rates and times that are not positive are none."""
    if not rows:
        return {"size_bytes": absent("no row was measured", TOOL)}
    leaves: dict[str, CapturedValue] = {}
    for number, name in enumerate(group.columns):
        values = [row.values[number] for row in rows]
        known = [value if value is not None and value > 0 else None for value in values]
        column, _, unit = name.rstrip("]").partition("[")
        listed: list[Scalar | None]
        if name in _COUNTS:
            leaf = _COUNTS[name]
            listed = [None if value is None else int(value) for value in known]
        elif column in _SPEEDS and unit in _RATES:
            leaf = _SPEEDS[column]
            listed = [times(value, _RATES[unit]) for value in known]
        elif column in _WAITS and unit == "usec":
            leaf = _WAITS[column]
            listed = [over(value, _MICROSECONDS) for value in known]
        else:
            continue
        if any(item is not None for item in listed):
            leaves[leaf] = listed
    return leaves


_COUNTS = {"#bytes": "size_bytes", "#iterations": "iterations"}
_SPEEDS = {"BW peak": "peak_bytes_per_second", "BW average": "average_bytes_per_second"}
_WAITS = {"t_typical": "typical_seconds", "99% percentile": "p99_seconds"}

READER = printed_reader(TOOL, TOOL, _detect)
