"""What nccl-tests write with `-J`: the same runs as their table, with all digits.

The file holds the whole environment of the process besides, with its secrets: nothing
of `env` is read, and of the arguments the name of the program alone.
"""

from collections.abc import Mapping, Sequence

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.capture import (
    Capture,
    CapturedValue,
    measurement_reading,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._nccl_tests import (
    IN,
    OUT,
    TOOL,
    ResultRank,
    alternatives,
    candidates,
    chosen,
    factor_of,
    library_version,
    passages,
    program_in,
    rank_leaves,
)
from speccheck.validator.sources.formats._printed import (
    GIGA,
    LeafValue,
    Leaves,
    PrintedPoint,
    absent,
    measured_point,
    number_of,
    over,
    put_run,
    times,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

Json = Mapping[str, object]
_SETTINGS = {"warmup_iters": "warmup_iterations", "iterations": "iterations"}
_MICROSECONDS = 1e6
_LEAST_TIMES = 4
_MOST = 2**63
_MOST_RANKS = 1_000_000  # of one job: more are a mistake


def _detect(document: Document) -> float:
    data = document.data
    if not isinstance(data, dict) or not _whole(data.get("nccl_version")):
        return 0.0
    return 1.0 if isinstance(data.get("args"), list) and "version" in data else 0.0


def _read(document: Document) -> Reading:
    capture = Capture(document.name, f"{TOOL} -J")
    data = document.data if isinstance(document.data, dict) else {}
    shown = _results(data)
    shared = _shared(document, data)
    messages = [
        (tuple(_text(row.get(key)) for key in ("type", "redop", "root")), _size(row))
        for _, row in shown
    ]
    config = _object(data, "config")
    least, most = config.get("minimum_bytes"), config.get("maximum_bytes")
    sweeps = passages(messages, has_one_size=least == most, is_mixed=False)
    for numbers in sweeps:
        _put_sweep(capture, document, shared, [shown[number] for number in numbers])
    if not shown:
        shared["collective"] = _collective(document, data, [], shared)
        put_run(capture, shared, (), document.place(("results",)))
    return measurement_reading(capture.node(), FactSheet.of(document))


def _results(data: Json) -> list[tuple[int, Json]]:
    """Return the results that are such, with their numbers."""
    result = data.get("results")
    rows = result if isinstance(result, list) else []
    return [
        (number, row)
        for number, row in enumerate(rows)
        if isinstance(row, dict) and _whole(row.get("size"))
    ]


def _put_sweep(
    capture: Capture,
    document: Document,
    shared: Leaves,
    rows: Sequence[tuple[int, Json]],
) -> None:
    at = document.place(("results", rows[0][0]))
    leaves = {**shared, "data_type": LeafValue(_text(rows[0][1].get("type")), at)}
    points = {
        placement: [
            _point(row, placement)
            for _, row in rows
            if isinstance(row.get(placement), dict)
        ]
        for placement in (OUT, IN)
    }
    data = document.data if isinstance(document.data, dict) else {}
    measured = [point for item in points.values() for point in item]
    leaves["collective"] = _collective(document, data, rows, shared, measured)
    for placement, known in points.items():
        if not known:
            continue
        of_one = {**leaves, "placement": LeafValue(placement, at)}
        judged = [point.wrong is not None for point in known if point.size_bytes]
        if judged and "is_compared" not in of_one:
            of_one["is_compared"] = LeafValue(all(judged), at)
        put_run(capture, of_one, known, at)


def _point(row: Json, placement: str) -> PrintedPoint:
    shown = _object(row, placement)
    each = _object(row, f"{placement}_per_iter")
    return measured_point(
        _size(row),
        over(
            number_of(shown.get("time")), _MICROSECONDS
        ),  # cpu_time is that of a launch
        times(number_of(shown.get("alg_bw")), GIGA),
        times(number_of(shown.get("bus_bw")), GIGA),
        wrong=number_of(shown.get("nwrong")),
        spread=_spread(each.get("times_us")),
        variation=over(number_of(each.get("cv_pct")), 100),
        p99_seconds=over(number_of(each.get("p99_us")), _MICROSECONDS),
    )


def _spread(result: object) -> float | None:
    """Return the quartiles' distance over the median.

    Of few iterations there are none.
    """
    listed = result if isinstance(result, list) else []
    known = sorted(value for value in map(number_of, listed) if value is not None)
    if len(known) < _LEAST_TIMES or len(known) != len(listed):
        return None
    low, middle, high = (_quantile(known, share) for share in (0.25, 0.5, 0.75))
    return (high - low) / middle if middle > 0 else None


def _quantile(values: Sequence[float], share: float) -> float:
    at = share * (len(values) - 1)
    below = int(at)
    above = min(below + 1, len(values) - 1)
    return values[below] + (at - below) * (values[above] - values[below])


def _shared(document: Document, data: Json) -> Leaves:
    config = _object(data, "config")
    leaves: Leaves = {}

    def tell(leaf: str, result: CapturedValue, *path: str | int) -> None:
        leaves[leaf] = LeafValue(result, document.place(path))

    tell("tool", TOOL, "version")
    tell("backend", "nccl", "nccl_version")
    code = data.get("nccl_version")
    if isinstance(code, int) and code > 0:
        tell("library_version", library_version(code), "nccl_version")
    for key, leaf in _SETTINGS.items():
        value = config.get(key)
        if isinstance(value, int) and _whole(value):
            tell(leaf, value, "config", key)
    if config.get("validation") == 0:
        tell("is_compared", False, "config", "validation")  # noqa: FBT003
    count = _object(data, "out_of_bounds").get("count")
    if isinstance(count, int) and _whole(count):
        tell("out_of_bounds", count, "out_of_bounds", "count")
    is_complete = "average_bus_bandwidth" in data and "end_time" in data
    tell("is_complete", is_complete, "end_time" if "end_time" in data else "version")
    if not is_complete:
        tell("ended_by", "end of the log", "version")
    path, ranks = _ranks(document, data)
    leaves.update(rank_leaves(ranks, document.place(path)))
    return leaves


def _ranks(document: Document, data: Json) -> tuple[KeyPath, list[ResultRank]]:
    """Return the ranks; the file names only the first of each process."""
    config = _object(data, "config")
    path: KeyPath = ("config", "devices") if "devices" in config else ("devices",)
    listed = config.get("devices") or data.get("devices")
    devices = listed if isinstance(listed, list) else []
    threads, gpus = (config.get(key) for key in ("nthreads", "ngpus"))
    each = threads * gpus if isinstance(threads, int) and isinstance(gpus, int) else 1
    named = [
        device
        for device in devices
        if isinstance(device, dict) and _whole(device.get("rank"))
    ]
    firsts = [_size(item, "rank") for item in named]
    is_first_only = firsts == [number * each for number in range(len(firsts))]
    count = each if is_first_only and each * len(named) <= _MOST_RANKS else 1
    return path, [
        ResultRank(
            _size(item, "rank") + more,
            _size(item, "group"),
            _text(item.get("hostname")),
            _size(item, "device") + more,
            _text(item.get("device_info")),
            document.place((*path, number)),
        )
        for number, item in enumerate(named)
        for more in range(count)
    ]


def _collective(
    document: Document,
    data: Json,
    rows: Sequence[tuple[int, Json]],
    shared: Leaves,
    points: Sequence[PrintedPoint] = (),
) -> LeafValue:
    arguments = data.get("args")
    first = arguments[0] if isinstance(arguments, list) and arguments else None
    program = program_in(_text(first))
    if program is not None:
        return LeafValue(program, document.place(("args", 0)))
    possible: set[str] = set()
    ranks = shared["ranks"].value
    if rows:
        redop, root = (_text(rows[0][1].get(key)) for key in ("redop", "root"))
        known = ranks if isinstance(ranks, int) else None
        possible = candidates(redop, root, factor_of(points), known)
        text = chosen(possible, document.name)
        if text is not None:
            return LeafValue(text, document.place(("results", rows[0][0])))
    reason = f"the arguments name no program{alternatives(possible)}"
    return LeafValue(absent(reason, TOOL), document.place(("args",)))


def _object(data: Json, key: str) -> Json:
    result = data.get(key)
    return result if isinstance(result, dict) else {}


def _whole(result: object) -> bool:
    return type(result) is int and 0 <= result < _MOST


def _size(row: Json, key: str = "size") -> int:
    result = row.get(key)
    return result if isinstance(result, int) and _whole(result) else 0


def _text(result: object) -> str:
    return result.strip() if isinstance(result, str) else ""


READER = Reader(TOOL + "-json", "measurement", _detect, _read, keys=("nccl_version",))
