"""Results of SuperBench: `results-summary.jsonl`, a line for each node, and one node's.

    {"node": "gpu-07", "nccl-bw:nvlink/allreduce_8589934592_busbw:0": 470.9, ...}

Times are microseconds and GB/s are 10^9 bytes per second; the rates of ib-loopback
were those of perftest in MB/s (2^20 bytes) at first. Which ranks took part, and whether
a run ended as it should, the summary does not tell. Source: microsoft/superbenchmark
superbench/benchmarks/micro_benchmarks/*.py, docs/user-tutorial/benchmarks.
"""

import json
import re
from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.measurement.device import (
    CopyTest,
    MatrixProduct,
    RdmaTransfer,
)
from speccheck.validator.evidence.value import Span
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
    LeafValue,
    Leaves,
    absent,
    measured_point,
    number_of,
    over,
    put_run,
    times,
)
from speccheck.validator.sources.reader import (
    CaptureReader,
    FactSheet,
    Reader,
    Reading,
    Source,
)

TOOL = "superbench"
_COLLECTIVE = lazy_pattern(
    r"((?:nccl|rccl)-bw(?::[\w-]+)?)/([a-z]+)(_\d+_\d+:|_)(\d{1,19})_(time|algbw|busbw)"
    r"(?::(\d{1,9}))?"
)
_TRANSFER = lazy_pattern(
    r"ib-loopback(?::[\w-]+)?/(?:(IB)_(write|read|send)_(\d{1,19})_Avg_(\d{1,9})"
    r"|ib_(write|read|send)_bw_(\d{1,19})(?::(\d{1,9}))?)(?::\d{1,9})?"
)
_COPY = lazy_pattern(
    r"mem-bw(?::[\w-]+)?/(H2D|D2H)_(?:Mem_)?BW(?::(\d{1,9}))?", re.IGNORECASE
)
_PRODUCT = lazy_pattern(
    r"gemm-flops(?::[\w-]+)?/(fp64|fp16|tf32|bf16)_(?:tc|xdlops)(?:_flops)?"
    r"(?::(\d{1,9}))?",
    re.IGNORECASE,
)
_TYPES = {"fp64": "float64", "tf32": "tfloat32", "bf16": "bfloat16", "fp16": "float16"}
_COLLECTIVES = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "reducescatter": "reduce_scatter",
}
_DIRECTIONS = {"h2d": "host_to_device", "d2h": "device_to_host"}
# What a summary has of each node, and of what is read here.
_KEYS = ("nccl-bw", "rccl-bw", "ib-loopback", "mem-bw", "gemm-flops")
Json = Mapping[object, object]
_Run = tuple[str, str, str, str]  # benchmark, operation, indexes of the hosts, rank


def _lines(text: str) -> Iterator[tuple[int, Json]]:
    """Return the objects of a text of one a line; a line that is cut off is none."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("{"):
            try:
                result = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(result, dict):
                yield number, result


def _is_summary(data: Json) -> bool:
    """Return whether an object holds metrics of benchmarks that are read here."""
    return any(
        isinstance(key, str) and "/" in key and key.startswith(_KEYS) for key in data
    )


def _detect_lines(source: Source) -> float:
    return 1.0 if any(_is_summary(data) for _, data in _lines(source.text)) else 0.0


def _read_lines(source: Source) -> Reading:
    capture = Capture(source.name, TOOL)
    for number, data in _lines(source.text):
        _put_node(capture, data, {}, Span(number, 1, 1))
    return measurement_reading(capture.node(), FactSheet(source.name))


def _detect(document: Document) -> float:
    data = document.data
    return 1.0 if isinstance(data, dict) and _is_summary(data) else 0.0


def _read(document: Document) -> Reading:
    capture = Capture(document.name, TOOL)
    data = document.data if isinstance(document.data, dict) else {}
    places = {key: document.place((key,)) for key in data if isinstance(key, str)}
    _put_node(capture, data, places, document.place(()))
    return measurement_reading(capture.node(), FactSheet.of(document))


def _put_node(
    capture: Capture, data: Json, places: Mapping[str, Where], at: Where
) -> None:
    """Put all that is read here of one node."""
    numbers = {
        key: number
        for key, value in data.items()
        if isinstance(key, str) and (number := number_of(value)) is not None
    }
    node = data.get("node")
    host = node if isinstance(node, str) else ""
    _put_collectives(capture, numbers, host, places, at)
    _put_transfers(capture, numbers, places, at)
    _put_copies(capture, numbers, places, at)
    _put_products(capture, numbers, places, at)


def _put_collectives(
    capture: Capture,
    numbers: Mapping[str, float],
    host: str,
    places: Mapping[str, Where],
    at: Where,
) -> None:
    runs: dict[_Run, dict[int, dict[str, float]]] = {}
    firsts: dict[_Run, Where] = {}
    for key, value in numbers.items():
        match = _COLLECTIVE.fullmatch(key)
        if match is None:
            continue
        benchmark, operation, indexes, size, metric, rank = match.groups(default="")
        run = benchmark, operation, indexes, rank
        firsts.setdefault(run, places.get(key, at))
        runs.setdefault(run, {}).setdefault(int(size), {})[metric] = value
    for run, sizes in runs.items():
        benchmark, operation, _, _ = run
        reason = absent("the summary does not tell it", TOOL)
        values: dict[str, CapturedValue] = {
            "tool": TOOL,
            "backend": benchmark[:4],
            "collective": _COLLECTIVES.get(operation, operation),
            "ranks": reason,
            "nodes": reason,
            "is_complete": reason,
        }
        if host and benchmark.endswith(":nvlink"):
            values["hosts"] = [host]  # of this node alone
        where = firsts[run]
        leaves: Leaves = {
            leaf: LeafValue(value, where) for leaf, value in values.items()
        }
        points = [
            measured_point(
                size,
                over(item.get("time"), 1e6),
                times(item.get("algbw"), GIGA),
                times(item.get("busbw"), GIGA),
            )
            for size, item in sorted(sizes.items())
        ]
        put_run(capture, leaves, points, where)


def _put_transfers(
    capture: Capture,
    numbers: Mapping[str, float],
    places: Mapping[str, Where],
    at: Where,
) -> None:
    result: dict[tuple[str, str], dict[int, float]] = {}
    firsts: dict[tuple[str, str], Where] = {}
    for key, value in numbers.items():
        match = _TRANSFER.fullmatch(key)
        if match is None:
            continue
        old, operation, size, adapter, new_operation, new_size, new_adapter = (
            match.groups(default="")
        )
        run = operation or new_operation, adapter or new_adapter
        firsts.setdefault(run, places.get(key, at))
        unit = 2.0**20 if old else GIGA
        result.setdefault(run, {})[int(size or new_size)] = float(round(value * unit))
    for run, sizes in result.items():
        operation, _ = run
        points = sorted(sizes.items())
        rates: list[Scalar | None] = [rate if rate > 0 else None for _, rate in points]
        values: dict[str, CapturedValue] = {
            "tool": TOOL,
            "name": f"ib_{operation}_bw",
            "operation": operation,
            "size_bytes": [size for size, _ in points],
            "average_bytes_per_second": rates,
        }
        _put_part(capture, RdmaTransfer.kind, values, firsts[run])


def _put_copies(
    capture: Capture,
    numbers: Mapping[str, float],
    places: Mapping[str, Where],
    at: Where,
) -> None:
    """Put the copies from and to the host.

    Those within a GPU count the bytes once or twice, as the tool for its maker does.
    """
    result: dict[str, dict[int, float]] = {}
    firsts: dict[str, Where] = {}
    for key, value in numbers.items():
        match = _COPY.fullmatch(key)
        if match is not None:
            direction = _DIRECTIONS[match[1].lower()]
            firsts.setdefault(direction, places.get(key, at))
            result.setdefault(direction, {})[int(match[2] or 0)] = float(
                round(value * GIGA)
            )
    for direction, rates in result.items():
        gpus: list[Scalar | None] = [*sorted(rates)]
        hosts: list[Scalar | None] = [None] * len(gpus)
        is_to_gpu = direction == "host_to_device"
        values: dict[str, CapturedValue] = {
            "tool": TOOL,
            "name": "mem-bw",
            "direction": direction,
            "method": "copy_engine",
            "is_bidirectional": False,
            "from_gpu": hosts if is_to_gpu else gpus,
            "to_gpu": gpus if is_to_gpu else hosts,
            "bytes_per_second": [rates[gpu] or None for gpu in sorted(rates)],
        }
        _put_part(capture, CopyTest.kind, values, firsts[direction])


def _put_products(
    capture: Capture,
    numbers: Mapping[str, float],
    places: Mapping[str, Where],
    at: Where,
) -> None:
    """Put the products by tensor cores; those without have other peaks."""
    for key, value in numbers.items():
        match = _PRODUCT.fullmatch(key)
        if match is None or value <= 0:
            continue
        values: dict[str, CapturedValue] = {
            "tool": TOOL,
            "data_type": _TYPES[match[1].lower()],
            "gpu_index": int(match[2] or 0),
            "flops_per_second": float(round(value * GIGA)),
        }
        _put_part(capture, MatrixProduct.kind, values, places.get(key, at))


def _put_part(
    capture: Capture, kind: str, values: Mapping[str, CapturedValue], at: Where
) -> None:
    part = kind, capture.add(kind, at)
    for leaf, value in values.items():
        capture.put_at(part, leaf, value, at)


READERS = (
    CaptureReader(
        TOOL,
        ("nccl-bw", "rccl-bw", "ib-loopback", "mem-bw/", "gemm-flops/"),
        _detect_lines,
        _read_lines,
        role="measurement",
    ),
    Reader(
        f"{TOOL}-json",
        "measurement",
        _detect,
        _read,
        keys=(
            "node",
            *(
                f"{name}{kind}/return_code{rank}"
                for name in _KEYS
                for kind in ("", ":default", ":nvlink")
                for rank in ("", ":0")
            ),
        ),
    ),
)
