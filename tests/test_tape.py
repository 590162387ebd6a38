"""Tapes of the management library: recorded once, replayed anywhere, naming nobody."""

import json
from pathlib import Path
from typing import Any

import pytest

from nvml_stand_in import StandIn, without_library
from speccheck.probes.collect import snapshot
from speccheck.probes.gpu import KEEP
from speccheck.probes.tape import TAPE

HEADER = '{"schema":"speccheck-nvml-tape/1"}'
OWN_KINDS = ("gpus", "driver", "cut_short")
FAULTS = (
    "gpu.1.lost_after=60",
    "gpu.2.nvmlDeviceGetMigMode.code=4",
    "gpu.3.compute_processes=3",
    "gpu.4.nvlink.3.active=0",
    "gpu.5.fabric_cluster=0123456789abcdef0123456789abcdef",
)


def recorded(folder: Path, *, keep: bool = True) -> dict[str, Any]:
    arguments = {"gpu": (str(folder), KEEP if keep else "")}
    return own(snapshot(probes=("gpu",), arguments=arguments))


def replayed(folder: Path) -> dict[str, Any]:
    return own(snapshot(probes=("gpu",), root=str(folder)))


def own(taken: dict[str, Any]) -> dict[str, Any]:
    return {name: taken[name] for name in OWN_KINDS}


def test_a_tape_gives_the_same_snapshot_without_the_library(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.answers(*FAULTS)
    first = recorded(tmp_path)
    without_library(monkeypatch, tmp_path)
    assert first["gpus"][1]["is_lost"] is True
    assert replayed(tmp_path) == first


def test_a_tape_names_no_specimen_unless_it_is_to(
    stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in.answers(*FAULTS)
    first = recorded(tmp_path, keep=False)
    again = replayed(tmp_path)
    for number, (gpu, was) in enumerate(zip(again["gpus"], first["gpus"], strict=True)):
        for leaf in ("uuid", "serial"):
            found = gpu.pop(leaf)
            assert found != was.pop(leaf) or number == 1
        if number == 5:
            assert gpu.pop("fabric_cluster") != was.pop("fabric_cluster")
        assert gpu == was


@pytest.mark.usefixtures("stand_in")
def test_a_tape_that_is_cut_off_keeps_what_was_called(tmp_path: Path) -> None:
    first = recorded(tmp_path)
    tape = tmp_path / TAPE
    text = tape.read_text()
    at = text.index('"nvmlDeviceGetHandleByIndex_v2","in":[4')
    tape.write_text(text[: at + 20])
    gpus = replayed(tmp_path)["gpus"]
    of_peers = ("common_ancestors", "peer_read_status", "peer_nvlink_status")
    for gpu, was in zip(gpus[:4], first["gpus"], strict=False):
        assert {k: item for k, item in gpu.items() if k not in of_peers} == {
            k: item for k, item in was.items() if k not in of_peers
        }
    assert gpus[7]["name"] == {
        "status": "failed",
        "source": "nvmlDeviceGetHandleByIndex",
        "message": "LookupError: nvmlDeviceGetHandleByIndex_v2 stands on the tape with "
        "other arguments only",
    }


def test_a_crash_ends_a_tape_and_leaves_it_whole(
    stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in.answers("gpu.4.nvmlDeviceGetPowerUsage.crash=1")
    first = recorded(tmp_path)
    gpus = replayed(tmp_path)["gpus"]
    assert "signal 11" in first["cut_short"]["gpus"]
    assert gpus[3]["power_watts"] == 72.34
    assert gpus[4]["power_watts"]["status"] == "failed"


def test_a_machine_without_the_library_gives_a_tape_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_library(monkeypatch, tmp_path)
    first = recorded(tmp_path)
    assert first["driver"]["management_library_status"] == 12
    assert replayed(tmp_path) == first


def call(**changes: object) -> str:
    line = {"call": "nvmlInitWithFlags", "in": [0], "code": 0, "out": [], **changes}
    return json.dumps(line)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["{}"], "no tape of speccheck-nvml-tape/1"),
        (["[]"], "no tape of speccheck-nvml-tape/1"),
        (["PK"], "no tape of speccheck-nvml-tape/1"),
        ([HEADER, "PK", call()], "line 2 of the tape is damaged"),
        ([HEADER, call(), call(code="0"), call()], "line 3 of the tape is damaged"),
        ([HEADER, call(call=3), call()], "line 2 of the tape is damaged"),
        ([HEADER, "3", call()], "line 2 of the tape is damaged"),
        ([HEADER, '{"in": []}', call()], "line 2 of the tape is damaged"),
        ([HEADER, call(out={}), call()], "line 2 of the tape is damaged"),
    ],
)
def test_what_is_no_tape_is_refused(
    tmp_path: Path, lines: list[str], problem: str
) -> None:
    (tmp_path / TAPE).write_text("\n".join(lines) + "\n")
    taken = replayed(tmp_path)
    assert taken["cut_short"] == {}
    assert taken["gpus"] == {"status": "failed", "source": TAPE, "message": problem}


@pytest.mark.parametrize(
    "answer",
    [call(out=[3]), call(call="nvmlDeviceGetCount_v2", **{"in": [""], "out": ["*"]})],
)
def test_an_answer_that_does_not_fit_fails_one_call(
    tmp_path: Path, answer: str
) -> None:
    (tmp_path / TAPE).write_text(f"{HEADER}\n{call()}\n{answer}\n")
    taken = replayed(tmp_path)
    assert taken["cut_short"] == {}
    assert taken["gpus"]["status"] in {"failed", "not_supported"}
