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
_NVLINK = lazy_pattern(r"NV\d+$")
_GPU = lazy_pattern(r"GPU(\d+)$")
_CPUS = lazy_pattern(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*$")
_ADAPTER = lazy_pattern(r"NIC\d+:\s*(\S+)$")
_ESCAPE = lazy_pattern(r"\x1b\[[0-9;]*m")  # the head line is underlined


def _detect(source: Source) -> float:
    return 1.0 if any(_is_head(line) for line in _lines(source)) else 0.0


def _lines(source: Source) -> list[str]:
    return _ESCAPE.sub("", source.text).splitlines()


def _is_head(line: str) -> bool:
    words = line.split()
    return words[:1] == ["GPU0"] and "Affinity" in words


def _read(source: Source) -> Reading:
    """Return one GPU a row; a path that is not known is null."""
    capture = Capture(source.name, "nvidia-smi topo -m")
    columns: list[str] = []
    rows = 0
    for line_number, line in enumerate(_lines(source), 1):
        span, words = line_span(line_number, line), line.split()
        if not columns and _is_head(line):
            columns = [*_gpus(words)]
            capture.listed("gpus", span)
        elif columns and words[:1] == [f"GPU{rows}"] and rows < len(columns):
            part = "gpus", capture.add("gpus", span)
            rows += 1
            cells = words[1 : len(columns) + 1]
            levels: CapturedValue = [_LEVELS.get(cell) for cell in cells]
            capture.put_at(part, "common_ancestors", levels, span)
            links: CapturedValue = [_by_nvlink(cell) for cell in cells]
            capture.put_at(part, "peer_nvlink_status", links, span)
            cpus = _affinity(words[len(columns) + 1 :])
            if cpus:
                capture.put_at(part, "cpu_affinity", cpus, span)
        elif match := _ADAPTER.match(line.strip()):
            part = "rdma_devices", capture.add("rdma_devices", span)
            capture.put_at(part, "name", match[1], span)
    if rows < len(columns):
        capture.partial("gpus", f"shows {rows} of {len(columns)} GPUs")
    capture.partial("rdma_devices", "nvidia-smi topo lists those near to GPUs")
    return node_reading(capture.node(), FactSheet(source.name))


def _gpus(words: list[str]) -> Iterator[str]:
    """Return the columns of GPUs, which come first."""
    for word in words:
        if not _GPU.match(word):
            return
        yield word


def _by_nvlink(cell: str) -> Scalar | None:
    """Return 0 where a path over NVLink is there; the others' way is not shown."""
    return 0 if cell == "X" or _NVLINK.match(cell) else None


def _affinity(words: list[str]) -> str:
    """Return the CPU list, which follows the cells of GPUs and adapters."""
    rest = [word for word in words if word not in _LEVELS and not _NVLINK.match(word)]
    return rest[0] if rest and _CPUS.match(rest[0]) else ""


READER = CaptureReader("nvidia-smi-topology", ("CPU Affinity",), _detect, _read)
