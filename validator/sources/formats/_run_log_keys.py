"""How logs call what is no metric: time, step, node, rank, GPU, run, event."""

from collections.abc import Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import Scalar
from speccheck.validator.sources.formats._run_log import Labels

TIMES = (
    *("time", "timestamp", "ts", "datetime", "date", "_timestamp", "@timestamp"),
    *("wall_time", "Wall time", "time_ms", "timestamp_ms", "time_ns", "timestamp_ns"),
    *("time_unix_nano", "unix_time", "created", "asctime"),
)
STEPS = (
    *("step", "global_step", "_step", "iteration", "iter", "train/global_step"),
    *("trainer/global_step", "Step"),
)
NODES = ("node", "host", "hostname", "Hostname", "node_name", "nodename", "instance")
RANKS = ("rank", "global_rank", "process_rank", "RANK")
GPUS = ("gpu", "gpu_id", "gpu_index", "device_index", "GPU")
PEERS = ("peer", "peer_node", "to_node")
DEVICES = ("device", "port", "interface", "nic", "direction", "mode")
RUNS = ("run", "run_id", "run_name", "job", "job_id", "job_name", "experiment")
EDITIONS = ("edition", "spec_edition")
EVENTS = ("event", "event_name")
UNITS = ("unit", "units")
# What stands beside numbers and is none: bookkeeping of Weights & Biases and others.
IGNORED = frozenset({"_runtime", "_wandb", "epoch", "level", "lineno", "pid", "seed"})
KEYS = frozenset(
    {
        *(*TIMES, *STEPS, *NODES, *RANKS, *GPUS, *PEERS, *DEVICES, *RUNS),
        *(*EDITIONS, *EVENTS, *UNITS),
    }
)
# Leaves of an event that logs tell, by the keys that they use.
EVENT_TEXTS = {
    "status": ("status",),
    "reason": ("reason", "cause", "message"),
    "drill": ("drill", "drill_id"),
}
EVENT_NUMBERS = {
    "old_value": ("old_value", "old"),
    "new_value": ("new_value", "new"),
    "seconds": ("seconds", "duration_seconds", "duration_s", "duration"),
}
EVENT_BYTES = ("size_bytes", "bytes", "requested_bytes")
EVENT_KEYS = frozenset(
    {
        *(one for keys in EVENT_TEXTS.values() for one in keys),
        *(one for keys in EVENT_NUMBERS.values() for one in keys),
        *EVENT_BYTES,
    }
)
_MOST_WHOLE = 2**62
_PORT = lazy_pattern(r":\d{1,5}")


def first(record: Mapping[str, object], keys: tuple[str, ...]) -> object:
    """The value of the first of these keys that a record has."""
    return next((record[key] for key in keys if key in record), None)


def whole(found: object) -> int | None:
    """A whole number that is not negative, also as a text or as `12.0`."""
    if isinstance(found, str) and found.isdecimal() and len(found) < 19:  # noqa: PLR2004 - 64 bits
        return int(found)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    is_whole = 0 <= found < _MOST_WHOLE and found == int(found)
    return int(found) if is_whole else None


def number(found: object) -> float | None:
    """A number, NaN and infinities too, also as the texts that stand for them."""
    if isinstance(found, bool):
        return None
    if isinstance(found, int | float):
        try:
            return float(found)
        except OverflowError:
            return None
    if isinstance(found, str) and found.lower().lstrip("+-") in _NOT_FINITE:
        return float(found)
    return None


_NOT_FINITE = frozenset({"nan", "inf", "infinity"})


def text(found: object) -> str:
    """A text, or a whole number as one; of anything else nothing."""
    if isinstance(found, bool):
        return ""
    if isinstance(found, int):
        return str(found) if abs(found) < _MOST_WHOLE else ""
    return found if isinstance(found, str) else ""


def labels_of(record: Mapping[str, object], gpu: int | None = None) -> Labels:
    """Whose numbers a record holds."""
    node = text(first(record, NODES))
    if "instance" in record and node == record["instance"]:
        node = _PORT.sub("", node) if node.count(":") == 1 else node
    told = first(record, GPUS)
    devices = [text(record[key]) for key in DEVICES if key in record]
    return Labels(
        node,
        whole(first(record, RANKS)),
        gpu if gpu is not None else whole(told),
        text(first(record, PEERS)),
        " ".join(one for one in devices if one),
        text(first(record, UNITS)),
        text(first(record, RUNS)),
    )


def event_leaves(record: Mapping[str, object]) -> dict[str, Scalar]:
    """What a record says of an event besides its name, time and step."""
    leaves: dict[str, Scalar] = {}
    node, rank = text(first(record, NODES)), whole(first(record, RANKS))
    if node:
        leaves["node"] = node
    if rank is not None:
        leaves["rank"] = rank
    for leaf, keys in EVENT_TEXTS.items():
        if told := text(first(record, keys)):
            leaves[leaf] = told
    for leaf, keys in EVENT_NUMBERS.items():
        value = number(first(record, keys))
        if value is not None and abs(value) < _MOST_WHOLE:
            leaves[leaf] = value
    size = whole(first(record, EVENT_BYTES))
    if size is not None:
        leaves["size_bytes"] = size
    return leaves
