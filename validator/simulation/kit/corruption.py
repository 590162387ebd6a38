"""What may be wrong with a kit, one thing at a time, and which track it denies.

Each of these is wrong with the evidence as a whole, where a fault (faults.py) is wrong
with a machine. The table says what must come of it; tests hold certification to it.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from speccheck.validator.evidence.record import Record
from speccheck.validator.simulation.kit.builder import (
    AGAIN,
    ALL_REDUCE,
    CONFIGURATION,
    DRILL_LOG,
    HARDWARE_LOG,
    NETWORK_LOG,
    NODES,
    RUN_LOG,
    SCRIPT,
    Files,
)
from speccheck.validator.simulation.measurements import slow_down

_OLD_DAYS = 45
_SLOW, _SLOW_SECONDS = 0.7, 90
_LETTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQR"
_OTHER_TYPE = "dgx-a100"


class Spoil(Record):
    """One thing that is wrong with the evidence.

    text: what, for people. track, level: of which it denies at least that level; empty:
    of all tracks. clause: that is to blame; empty where none is. denies_others: other
    tracks lose a level as well.
    """

    text: str
    change: Callable[[Files], None]
    track: str = ""
    level: str = "L1"
    clause: str = ""
    denies_others: bool = False


def _object(files: Files, path: str) -> dict[str, Any]:
    file = files[path]
    if not isinstance(file, dict):
        raise TypeError(path)
    return file


def _rows(files: Files, path: str) -> list[dict[str, Any]]:
    file = files[path]
    if not isinstance(file, list):
        raise TypeError(path)
    return file


def _snapshots(files: Files) -> list[str]:
    return sorted(path for path in files if path.startswith(f"{NODES}/"))


def _missing_node(files: Files) -> None:
    for path in _snapshots(files)[1:]:
        del files[path]


def _absent_leaf(files: Files) -> None:
    del _object(files, _snapshots(files)[0])["gpus"][0]["remap_is_pending"]


def _old(files: Files, *paths: str) -> None:
    for path in paths:
        content = _object(files, path)
        then = datetime.fromisoformat(content["taken"]) - timedelta(days=_OLD_DAYS)
        content["taken"] = then.strftime("%Y-%m-%dT%H:%M:%SZ")


def _stale_measurement(files: Files) -> None:
    _old(files, ALL_REDUCE, AGAIN)
    for path in _snapshots(files):
        del _object(files, path)["collective_runs"]


def _stale_snapshot(files: Files) -> None:
    _old(files, _snapshots(files)[0])


def _slow_all_reduce(files: Files) -> None:
    for path in (ALL_REDUCE, AGAIN):
        slow_down(_object(files, path), _SLOW)


def _wrong_results(files: Files) -> None:
    for run in _object(files, ALL_REDUCE)["collective_runs"]:
        run["wrong_values"][-1] = 512


def _no_drill(files: Files) -> None:
    del files[DRILL_LOG]


def _slow_drill(files: Files) -> None:
    rows = _rows(files, DRILL_LOG)
    for row in rows:
        if row["event"] == "run.resumed":
            time = datetime.fromisoformat(row["time"])
            later = time + timedelta(seconds=_SLOW_SECONDS)
            row["time"] = later.strftime("%Y-%m-%dT%H:%M:%SZ")


def _no_log(files: Files) -> None:
    for path in (RUN_LOG, HARDWARE_LOG, NETWORK_LOG):
        del files[path]


def _no_hardware_log(files: Files) -> None:
    del files[HARDWARE_LOG]


def _out_of_memory(files: Files) -> None:
    rows = _rows(files, RUN_LOG)
    last = rows[-2]
    kept = ("time", "run", "edition", "node", "step")
    labels = {name: last[name] for name in kept if name in last}
    event = {"event": "run.oom", "rank": 3, "size_bytes": 2**31}
    rows.insert(len(rows) - 2, {**labels, **event})


def _other_type(files: Files) -> None:
    _object(files, _snapshots(files)[-1])["host"]["instance_type"] = _OTHER_TYPE


def _credential(files: Files) -> None:
    token = "hf_" + _LETTERS[:34]
    files[CONFIGURATION] = f"{files[CONFIGURATION]}  HF_TOKEN: {token}\n"


def _two_precisions(files: Files) -> None:
    files[CONFIGURATION] = str(files[CONFIGURATION]).replace(
        "fp16: false", "fp16: true"
    )


def _no_configuration(files: Files) -> None:
    del files[CONFIGURATION]
    del files[SCRIPT]


_COMM, _MEM, _CKPT = "comm-topology", "memory-batch-precision", "checkpoint-recovery"
_OBS = "observability"
SPOILS: dict[str, Spoil] = {
    "missing_node": Spoil("one machine alone was looked at", _missing_node, "", "L2"),
    "absent_leaf": Spoil(
        "a leaf that a must asks for is in no snapshot",
        _absent_leaf,
        _CKPT,
        "L2",
        "HW-002",
    ),
    "stale_measurement": Spoil(
        f"all-reduce was measured {_OLD_DAYS} days before the rest",
        _stale_measurement,
        _COMM,
        "L3",
    ),
    "stale_snapshot": Spoil(
        f"a snapshot was taken {_OLD_DAYS} days before the rest",
        _stale_snapshot,
        "",
        "L2",
    ),
    "slow_all_reduce": Spoil(
        f"all-reduce over all machines reaches {_SLOW:.0%} of what is usual",
        _slow_all_reduce,
        _COMM,
        "L3",
        "COMM-010",
    ),
    "wrong_results": Spoil(
        "all-reduce gives wrong values", _wrong_results, _COMM, "L3", "COMM-072"
    ),
    "no_drill": Spoil(
        "there was no drill of recovery", _no_drill, _CKPT, "L3", "FT-009"
    ),
    "slow_drill": Spoil(
        f"recovery takes {_SLOW_SECONDS} s longer", _slow_drill, _CKPT, "L3", "FT-009"
    ),
    "no_log": Spoil(
        "there is no log of a run", _no_log, _OBS, "L2", denies_others=True
    ),
    "no_hardware_log": Spoil(
        "nobody logged the hardware", _no_hardware_log, _OBS, "L2", "OBS-002"
    ),
    "out_of_memory": Spoil(
        "a rank of the run ran out of memory", _out_of_memory, _MEM, "L3", "MEM-008"
    ),
    "other_type": Spoil("one machine is of another type", _other_type, "", "L2"),
    "credential": Spoil(
        "the configuration holds a credential",
        _credential,
        "security-energy",
        "L1",
        "SEC-002",
    ),
    "two_precisions": Spoil(
        "the configuration asks for bf16 and fp16 at once",
        _two_precisions,
        _MEM,
        "L1",
        "PREC-002",
    ),
    "no_configuration": Spoil(
        "there are no files of the job",
        _no_configuration,
        _MEM,
        "L1",
        denies_others=True,
    ),
}
