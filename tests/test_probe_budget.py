"""Probes that hang, crash or fail: what they had read stays, and where they were."""

import json
from pathlib import Path

import pytest

from nvml_stand_in import ROOT, StandIn
from speccheck.probes.collect import snapshot
from speccheck.probes.raw_value import Absence, Sheet
from speccheck.validator.cli.main import main
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.rdma import NetworkInterfaces
from speccheck.validator.sources.formats.snapshot import node_of

HANG = "gpu.4.nvmlDeviceGetPowerUsage.hang=1"
CRASH = "gpu.4.nvmlDeviceGetPowerUsage.crash=1"
DURING = "during nvmlDeviceGetPowerUsage of GPU 4"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (HANG, f"the gpu probe was stopped after 1.5 s {DURING}"),
        (CRASH, f"the gpu probe ended with signal 11 {DURING}"),
    ],
)
def test_a_hang_or_a_crash_costs_what_comes_after(
    stand_in: StandIn, fault: str, reason: str
) -> None:
    healthy = stand_in.snapshot()["gpus"]
    taken = stand_in.snapshot(fault, budget_seconds=1.5)
    assert taken["cut_short"] == {"gpus": reason, "driver": reason}
    assert taken["seconds"] < 3
    of_peers = ("common_ancestors", "peer_read_status", "peer_nvlink_status")
    for gpu, was in zip(taken["gpus"][:4], healthy, strict=False):
        assert gpu == {k: found for k, found in was.items() if k not in of_peers}
    assert taken["gpus"][4]["sm_clock_mhz"] == 1980
    assert "power_watts" not in taken["gpus"][4]
    assert taken["gpus"][5:] == [{}, {}, {}]

    gpus = node_of(taken, "node.json").several(Gpus)
    assert gpus.count.value == 8  # they were listed before one was asked
    leaf = gpus.each()[7].remap_is_pending
    assert (leaf.is_known, leaf.note) == (False, reason)


def test_a_call_that_does_not_return_is_named(stand_in: StandIn) -> None:
    """Of a crash nobody knows how long it would have taken."""
    hung = stand_in.snapshot(HANG, budget_seconds=1.5)
    assert 0 <= hung["driver"]["longest_answer_seconds"] <= 2
    call = "nvmlDeviceGetPowerUsage of GPU 4"
    assert hung["sources"]["driver.longest_answer_seconds"] == call
    crashed = stand_in.snapshot(CRASH, budget_seconds=1.5)
    assert "longest_answer_seconds" not in crashed["driver"]


def test_a_judgement_of_what_was_cut_short_is_undecided(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answers("gpu.2.remap_pending=1", CRASH)
    out = str(tmp_path / "node.json")
    assert main(["probe", "--out", out]) == 0
    code = main([out, "--select", "memory_fault_pending", "--full", "--output", "json"])
    report = json.loads(capsys.readouterr().out)
    outcomes = {
        finding.get("subject"): finding["outcome"] for finding in report["findings"]
    }
    assert code == 1
    expected = ["pass", "pass", "fail", "pass", *["unknown"] * 4]
    assert outcomes == {f"GPU {n}": item for n, item in enumerate(expected)}


def test_a_library_that_prints_disturbs_nothing(stand_in: StandIn) -> None:
    taken = stand_in.snapshot("nvmlDeviceGetName.prints=1")
    assert taken["cut_short"] == {}
    assert len(taken["gpus"]) == 8


@pytest.mark.slow
def test_eight_gpus_take_less_than_half_a_second(stand_in: StandIn) -> None:
    best = min(stand_in.snapshot()["seconds"] for _ in range(3))
    assert best < 0.5


def test_a_probe_that_fails_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A foreign module of the binding's name, without its errors."""
    (tmp_path / "pynvml.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT / '.imports'}")
    taken = snapshot(probes=("gpu",))
    problem = "AttributeError: module 'pynvml' has no attribute 'NVMLError'"
    assert taken["cut_short"]["gpus"] == f"the gpu probe failed: {problem}"
    assert not node_of(taken, "node.json").several(Gpus).count.is_known


def test_a_binding_that_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pynvml.py").write_text("raise ImportError('none here')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT / '.imports'}")
    taken = snapshot(probes=("gpu",))
    assert taken["gpus"] == {
        "status": "absent",
        "source": "nvidia-ml-py",
        "message": "none here",
    }


def test_a_budget_that_ends_before_anything_is_told(stand_in: StandIn) -> None:
    taken = stand_in.snapshot("nvmlInitWithFlags.hang=1", budget_seconds=0.001)
    reason = "the gpu probe was stopped after 0.001 s"
    assert taken["cut_short"]["gpus"].startswith(reason)
    assert "gpus" not in taken


def test_a_list_without_an_end_is_no_count() -> None:
    sheet = Sheet()
    sheet.put_at("network_interfaces", sheet.add("network_interfaces"), "name", "a", "")
    content = {"schema": "speccheck-snapshot/1", **sheet.content()}
    assert content["partly_listed"] == ["network_interfaces"]
    found = node_of(content, "node.json").several(NetworkInterfaces)
    assert not found.count.is_known
    sheet.listed("network_interfaces")
    assert "partly_listed" not in sheet.content()


def test_a_sheet_is_made_again_of_what_it_told() -> None:
    result: list[list[object]] = []
    sheet, again = Sheet(result.append), Sheet()
    sheet.doing("something")
    sheet.put("host", "name", "a", "/name")
    sheet.put_at("gpus", sheet.add("gpus"), "serial", Absence("absent", "x"), "x")
    sheet.listed("gpus")
    sheet.listed("pci_devices", Absence("not_permitted", "/sys", "no", "EACCES"))
    for item in json.loads(json.dumps(result[1:])):
        again.replay(item)
    assert again.content() == sheet.content()
    with pytest.raises(ValueError, match="drop"):
        again.replay(["drop"])
    with pytest.raises(TypeError, match="pci_devices"):
        again.add("pci_devices")
