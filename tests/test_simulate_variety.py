"""Healthy synthetic machines differ, and no rule fails on any of them."""

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from judged_nodes import failing, findings
from slow_cases import few
from speccheck.validator.cli.main import main
from speccheck.validator.simulation.fleet import Maker, SimulatedFleet, Snapshot
from speccheck.validator.simulation.rng import Dice
from speccheck.validator.simulation.shape import instances

ROOT = Path(__file__).resolve().parents[1]


def nodes(profile: str, count: int, *, is_measured: bool = False) -> list[Snapshot]:
    maker = Maker(SimulatedFleet(count, profile, 3))
    found = [maker.healthy(index) for index in range(count)]
    if is_measured:
        for index, node in enumerate(found):
            maker.measure(node, index)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "profile",
    ["dgx-h100", "oci-h100-8", "aws-p5", "dgx-gb200", "gcp-a3-mega", "aws-p3dn"],
)
def test_no_rule_fails_on_many_healthy_machines(profile: str) -> None:
    found: Counter[str] = Counter()
    for node in nodes(profile, 50, is_measured=profile == "dgx-h100"):
        found.update(failing(node))
    assert found == Counter()


@pytest.mark.parametrize(
    "profile", few(instances(), {"dgx-h100", "aws-p5", "dgx-gb200"}.__contains__)
)
def test_no_rule_fails_on_a_healthy_machine_of_any_type(profile: str) -> None:
    for node in nodes(profile, 2, is_measured=True):
        assert failing(node) == set()


def test_programs_failed_on_some_and_that_is_information() -> None:
    logged = [node for node in nodes("dgx-h100", 300) if node["kernel_events"]]
    assert 3 <= len(logged) <= 30
    for node in logged[:5]:
        result = [finding for finding in findings(node) if finding.outcome == "fail"]
        assert {(item.rule, item.level) for item in result} == {
            ("xid_recorded", "info")
        }


def test_machines_differ_as_specimens_do() -> None:
    """Each GPU, adapter and interface has a name of its own."""
    fleet = nodes("dgx-h100", 60)
    for kind, leaf in (
        ("gpus", "uuid"),
        ("gpus", "serial"),
        ("rdma_devices", "node_guid"),
        ("network_interfaces", "address"),
    ):
        names = [part[leaf] for node in fleet for part in node[kind]]
        assert len(set(names)) == len(names)
        assert all(name.startswith("hashed:") for name in names)
    assert len({node["host"]["uptime_seconds"] for node in fleet}) == 60
    assert len({node["taken"] for node in fleet}) > 20
    heat = [gpu["temperature_celsius"] for node in fleet for gpu in node["gpus"]]
    assert min(heat) >= 20
    assert max(heat) <= 45
    assert len(set(heat)) > 8


def test_what_a_type_has_is_the_same_on_all_of_its_machines() -> None:
    fleet = nodes("dgx-h100", 20)
    for kind, leaf in (
        ("driver", "version"),
        ("host", "memory_total_bytes"),
        ("host", "kernel_release"),
    ):
        assert len({node[kind][leaf] for node in fleet}) == 1
    assert len({gpu["vbios_version"] for node in fleet for gpu in node["gpus"]}) == 1


def test_the_nodes_of_a_rack_share_its_fabric() -> None:
    """18 trays of 4 GPUs make one domain of 72."""
    fleet = nodes("dgx-gb200", 40)
    clusters = [{gpu["fabric_cluster"] for gpu in node["gpus"]} for node in fleet]
    assert all(len(item) == 1 for item in clusters)
    changes = [n for n, (item, other) in enumerate(pairwise(clusters)) if item != other]
    assert changes == [17, 35]


def test_numbers_hold_together() -> None:
    """What is counted since the start fits into the time since the start."""
    for node in nodes("dgx-h100", 100):
        host, log = node["host"], node["kernel_log"]
        assert 0 < log["last_seconds"] < host["uptime_seconds"]
        assert all(
            event["last_seconds"] <= log["last_seconds"]
            for event in node["kernel_events"]
        )
        for gpu in node["gpus"]:
            assert gpu["ecc_corrected_volatile"] <= gpu["ecc_corrected_aggregate"]
            assert sum(gpu["remap_banks"]) == 5120
            slowdown = gpu["temperature_slowdown_celsius"]
            heat = gpu["temperature_celsius"]
            assert gpu["temperature_margin_celsius"] == slowdown - heat


def test_dice_have_bounds() -> None:
    dice = Dice("bounds")
    bells = [dice.bell(10, 1) for _ in range(5000)]
    assert all(6.5 < item < 13.5 for item in bells)
    assert abs(sum(bells) / len(bells) - 10) < 0.1
    assert {dice.whole(1, 3) for _ in range(100)} == {1, 2, 3}
    few = [dice.few(64) for _ in range(5000)]
    assert min(few) == 0
    assert max(few) <= 64
    assert sorted(few)[2500] <= 1


def test_dice_are_the_same_in_another_process() -> None:
    program = (
        "from speccheck.validator.simulation.rng import Dice\n"
        "dice = Dice(7, 'dgx-h100', 12)\n"
        "print(dice.digest(), dice.whole(0, 10**6), repr(dice.bell(1, 2)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT / ".imports"), "PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    dice = Dice(7, "dgx-h100", 12)
    here = f"{dice.digest()} {dice.whole(0, 10**6)} {dice.bell(1, 2)!r}"
    assert ended.stdout.strip() == here


@pytest.mark.parametrize(
    "profile", few(["dgx-h100", "oci-h100-8", "dgx-gb200"], "dgx-h100".__eq__)
)
def test_a_healthy_fleet_is_ready(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole way: written, read, and judged as before a job."""
    words = ("--nodes", "20", "--profile", profile, "--seed", "5", "--quiet")
    assert main(["simulate", "--out", str(tmp_path), *words]) == 0
    ended = main([str(tmp_path), "--profile", "preflight", "--output", "json"])
    found = json.loads(capsys.readouterr().out)
    failed = [
        (finding["rule"], finding["level"])
        for finding in found["findings"]
        if finding["level"] != "info" and finding["outcome"] in {"fail", "error"}
    ]
    assert (ended, failed, len(found["plans"])) == (0, [], 20)
    assert found["summary"]["failed"]["error"] == 0
    assert found["summary"]["failed"]["warning"] == 0
