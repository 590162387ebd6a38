"""What `nvidia-smi topo -m` prints: the matrix of paths between GPUs."""

from collections.abc import Iterator

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import (
    Capture,
    CapturedValue,
    Scalar,
    line_span,
)
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

# nvml.h, nvmlGpuTopologyLevel_t
_LEVELS = {"X": 0, "PIX": 10, "PXB": 20, "PHB": 30, "NODE": 40, "SYS": 50}
_NVLINK = lazy_pattern(r"NV(\d{1,3})$")
_GPU = lazy_pattern(r"GPU(\d+)$")
_COLUMN = lazy_pattern(r"(?:GPU|NIC)\d+$|\w+_\d+$")
_CPUS = lazy_pattern(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*$")
_ADAPTER = lazy_pattern(r"NIC\d+:\s*(\S+)$")
_ESCAPE = lazy_pattern(r"\x1b\[[0-9;]*m|\[[04]m")  # the head line is underlined
# nvml.h, nvmlGpuP2PStatus_t, in the words of `topo -p2p`
_P2P = {"OK": 0, "X": 0, "CNS": 1, "GNS": 2, "TNS": 3, "DR": 4, "NS": 5, "U": 6}
_OF_NVLINK = "-p2p n"


def _detect(source: Source) -> float:
    lines = [line.split() for line in _lines(source)]
    for number, words in enumerate(lines):
        if _is_head(words):
            after = [words[:1] for words in lines[number + 1 : number + 3]]
            return 1.0 if ["GPU0"] in after else 0.0
    return 0.0


def _lines(source: Source) -> list[str]:
    return _ESCAPE.sub("", source.text).splitlines()


def _is_head(words: list[str]) -> bool:
    """Return whether a line names the columns: GPUs, adapters, affinities."""
    if words[:1] != ["GPU0"]:
        return False
    return "Affinity" in words or all(_COLUMN.match(word) for word in words)


def _read(source: Source) -> Reading:
    """Return one GPU a row; a path that is not known is null."""
    capture = Capture(source.name, "nvidia-smi topo -m")
    heads: list[str] = []
    columns: list[str] = []
    rows = 0
    for line_number, line in enumerate(_lines(source), 1):
        span, words = line_span(line_number, line), line.split()
        if not columns and _is_head(words):
            heads = [word for word in words if _COLUMN.match(word)]
            columns = [*_gpus(words)]
            capture.listed("gpus", span)
        elif columns and words[:1] == [f"GPU{rows}"] and rows < len(columns):
            part = "gpus", capture.add("gpus", span)
            rows += 1
            cells = words[1 : len(columns) + 1]
            is_of_nvlink = _OF_NVLINK in source.text
            for leaf, values in _leaves(cells, is_of_nvlink=is_of_nvlink).items():
                capture.put_at(part, leaf, values, span)
            near = words[len(columns) + 1 : len(heads) + 1]
            if near and len(near) == len(heads) - len(columns):
                levels: CapturedValue = [_LEVELS.get(cell) for cell in near]
                capture.put_at(part, "adapter_ancestors", levels, span)
            rest = words[len(heads) + 1 :]
            if rest and _CPUS.match(rest[0]):
                capture.put_at(part, "cpu_affinity", rest[0], span)
                if rest[1:2] and rest[1].isdecimal():
                    capture.put_at(part, "numa_node", int(rest[1]), span)
        elif match := _ADAPTER.match(line.strip()):
            part = "rdma_devices", capture.add("rdma_devices", span)
            capture.put_at(part, "name", match[1], span)
    if rows < len(columns):
        capture.partial("gpus", f"shows {rows} of {len(columns)} GPUs")
    capture.partial("rdma_devices", "nvidia-smi topo lists those near to GPUs")
    return node_reading(capture.node(), FactSheet(source.name))


def _leaves(cells: list[str], *, is_of_nvlink: bool) -> dict[str, CapturedValue]:
    """Return what the cells of a GPU say of its way to each other one."""
    if {*cells} <= _P2P.keys():
        leaf = "peer_nvlink_status" if is_of_nvlink else "peer_read_status"
        return {leaf: [_P2P[cell] for cell in cells]}
    return {
        "common_ancestors": [_LEVELS.get(cell) for cell in cells],
        "peer_nvlink_status": [_by_nvlink(cell) for cell in cells],
        "peer_nvlinks": [_count(cell) for cell in cells],
    }


def _count(cell: str) -> Scalar | None:
    """Return how many links join two GPUs; none for a GPU with itself."""
    match = _NVLINK.match(cell)
    if match:
        return int(match[1])
    return 0 if cell in _LEVELS and cell != "X" else None


def _gpus(words: list[str]) -> Iterator[str]:
    """Return the columns of GPUs, which come first."""
    for word in words:
        if not _GPU.match(word):
            return
        yield word


def _by_nvlink(cell: str) -> Scalar | None:
    """Return 0 where a path over NVLink is there; the others' way is not shown."""
    return 0 if cell == "X" or _NVLINK.match(cell) else None


READER = CaptureReader("nvidia-smi-topology", ("GPU0",), _detect, _read)
