"""`speccheck diff`: two machines, or one on two days, leaf by leaf."""

from pathlib import Path

import pytest

from compared_machines import (
    Run,
    a_day_later,
    another,
    compared,
    machine,
    said,
    salted,
)
from speccheck.validator.cli.main import main
from speccheck.validator.evidence.node import changes
from speccheck.validator.evidence.node.node import KINDS, MEASURED


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run `speccheck diff` in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["diff", *words])
        found = capsys.readouterr()
        assert "Traceback" not in found.out + found.err
        return code, found.out, found.err

    return command


def test_every_leaf_has_one_meaning() -> None:
    tables = (
        changes.IDENTITY,
        changes.TOPOLOGY,
        changes.HEALTH,
        changes.SETTINGS,
        changes.COUNTERS,
        changes.VARYING,
    )
    listed = [leaf for table in tables for leaf in table]
    leaves = [
        f"{kind}.{leaf}"
        for kind, part in KINDS.items()
        if kind not in MEASURED
        for leaf in part.__annotations__
    ]
    assert sorted(listed) == sorted(leaves)
    assert all(changes.VARYING.values())


def test_a_machine_is_the_same_as_itself(run: Run) -> None:
    node = machine()
    found = compared(run, node, a_day_later(node))
    assert (found["verdict"], found["machine"]["answer"]) == ("same", "one")
    assert (found["hours"], found["was_restarted"]) == (24.0, False)
    assert said(found) == []
    assert [item["leaf"] for item in found["varying"]] == ["host.uptime_seconds"]
    assert found["compared"] > 2000


def test_what_differs_comes_in_the_order_of_what_matters(run: Run) -> None:
    node = machine()
    later = a_day_later(node)
    later["driver"]["version"] = "580.65.06"
    later["gpus"][1]["vbios_version"] = "96.00.AA"
    later["variables"].append(
        {"name": "NCCL_IB_HCA", "value": "mlx5_0", "layer": "environment"}
    )
    gone = later["pci_devices"].pop()
    later["gpus"][2]["ecc_corrected_volatile"] += 48
    later["host"]["open_files"] = 1024
    later["gpus"][3]["temperature_celsius"] += 30
    addresses = [gpu["pci_address"] for gpu in node["gpus"]]
    found = compared(run, node, later)
    before = node["gpus"][2]["ecc_corrected_volatile"]
    assert said(found) == [
        (
            "identity",
            "driver.version",
            "",
            "changed",
            node["driver"]["version"],
            "580.65.06",
        ),
        (
            "identity",
            "gpus.vbios_version",
            f"GPU {addresses[1]}",
            "changed",
            node["gpus"][1]["vbios_version"],
            "96.00.AA",
        ),
        (
            "identity",
            "variables.NCCL_IB_HCA",
            "environment",
            "changed",
            {"no_value": "not set", "is_certain": True},
            "mlx5_0",
        ),
        (
            "topology",
            "pci_devices",
            gone["address"],
            "went",
            gone["address"],
            {"no_value": "absent", "is_certain": True},
        ),
        (
            "health",
            "gpus.ecc_corrected_volatile",
            f"GPU {addresses[2]}",
            "grew",
            before,
            before + 48,
        ),
        ("settings", "host.open_files", "", "changed", 1_048_576, 1024),
    ]
    grown = found["differences"][4]
    assert (grown["by"], grown["per_hour"]) == (48, 2.0)
    varying = {item["leaf"]: item["reason"] for item in found["varying"]}
    assert varying == {
        "gpus.temperature_celsius": "follows the load and the air",
        "host.uptime_seconds": "grows by itself",
    }


def test_parts_are_known_again_by_their_names_and_not_by_their_place(run: Run) -> None:
    node = machine()
    later = a_day_later(node)
    for kind in ("gpus", "pci_devices", "rdma_devices", "rdma_ports"):
        later[kind].reverse()
    assert said(compared(run, node, later)) == []


def test_a_counter_that_fell_says_that_it_counts_anew(run: Run) -> None:
    node = machine()
    node["gpus"][0]["pcie_replays"] = 90
    later = a_day_later(node)
    later["gpus"][0]["pcie_replays"] = 4
    (item,) = compared(run, node, later)["differences"]
    assert (item["change"], item["a"], item["b"], item["per_hour"]) == (
        "fell",
        90,
        4,
        None,
    )
    assert item["note"] == "counts anew: since the driver was loaded"


def test_after_a_restart_no_growth_is_worked_out(run: Run) -> None:
    node = machine()
    node["gpus"][0]["pcie_replays"] = 2
    node["gpus"][0]["ecc_corrected_aggregate"] = 10
    later = a_day_later(node)
    later["host"]["uptime_seconds"] = 3600.0
    later["gpus"][0]["pcie_replays"] = 7
    later["gpus"][0]["ecc_corrected_aggregate"] = 34
    found = compared(run, node, later)
    assert found["was_restarted"] is True
    rows = {
        item["leaf"]: (item["change"], item["per_hour"])
        for item in found["differences"]
    }
    assert rows == {
        "gpus.ecc_corrected_aggregate": ("grew", 1.0),  # the board kept it
        "gpus.pcie_replays": ("grew", None),
    }


def test_the_older_one_second_is_said_and_no_counter_grows_backwards(run: Run) -> None:
    node = machine()
    later = a_day_later(node)
    later["gpus"][0]["pcie_replays"] += 5
    (item,) = compared(run, later, node)["differences"]
    assert (item["change"], item["per_hour"]) == ("changed", None)
    _, out, _ = run("a.json", "b.json")
    assert "24 h EARLIER" in out
    assert "B is the older one" in out


def test_counters_of_two_machines_do_not_grow(run: Run) -> None:
    node = machine()
    other = another(node)
    other["gpus"][0]["pcie_replays"] += 5
    other["rdma_ports"][0]["link_downed"] += 1  # grave on either
    found = compared(run, node, other)
    assert found["machine"] == {"answer": "two", "reason": "no GPU is in both"}
    rows = [(item["leaf"], item["change"]) for item in found["differences"]]
    assert rows == [("rdma_ports.link_downed", "changed")]
    assert "gpus.pcie_replays" in {item["leaf"] for item in found["varying"]}
    specimens = {item["leaf"] for item in found["varying"]}
    assert {"gpus.uuid", "gpus.serial", "host.name"} <= specimens


def test_a_replaced_gpu_of_one_machine_is_told(run: Run) -> None:
    node = machine()
    later = a_day_later(node)
    later["gpus"][5]["uuid"] = "GPU-new"
    found = compared(run, node, later)
    (item,) = found["differences"]
    assert (item["group"], item["leaf"]) == ("identity", "gpus.uuid")
    assert item["note"] == "another specimen"


def test_digests_of_two_salts_are_neither_equal_nor_different(run: Run) -> None:
    node = machine()
    found = compared(run, salted(node, "one"), salted(a_day_later(node), "two"))
    assert found["verdict"] == "same"
    assert found["machine"]["answer"] == "not_known"
    assert "another salt" in found["machine"]["reason"]
    skipped = {item["leaf"]: item["parts"] for item in found["not_compared"]}
    assert skipped["gpus.uuid"] == 8
    assert not {item["leaf"] for item in found["varying"]} & skipped.keys()
    result = compared(
        run, salted(node, "one"), salted(a_day_later(node), "two"), "--one-machine"
    )
    assert result["machine"]["answer"] == "one"
    assert said(result) == []


def test_digests_of_one_salt_are_compared(run: Run) -> None:
    node = salted(machine(), "one")
    later = a_day_later(node)
    later["gpus"][5]["uuid"] = "hashed:another-board"
    found = compared(run, node, later)
    assert found["machine"]["answer"] == "one"
    assert [item["leaf"] for item in found["differences"]] == ["gpus.uuid"]
    assert found["not_compared"] == []


def test_the_name_of_the_engine_tells_one_machine(run: Run) -> None:
    node, later = salted(machine(), "one"), salted(a_day_later(machine()), "two")
    node["launch"] = later["launch"] = {"engine": "slurm", "node": "n17"}
    found = compared(run, node, later)
    assert (found["a"]["name"], found["machine"]["answer"]) == ("n17", "one")


def test_a_leaf_without_a_value_on_one_side_says_why(run: Run) -> None:
    node = machine()
    later = a_day_later(node)
    later["host"]["open_files"] = {"status": "not_permitted", "message": "no right"}
    later["gpus"][0]["power_watts"] = {"status": "failed"}  # varies, known or not
    later["rdma_ports"] = {"status": "not_permitted"}
    del later["variables"]
    later["cut_short"] = {"variables": "the probe did not end"}
    found = compared(run, node, later)
    assert said(found) == [
        (
            "identity",
            "rdma_ports",
            "",
            "not_known",
            len(node["rdma_ports"]),
            {"no_value": "not permitted", "is_certain": False},
        ),
        (
            "identity",
            "variables",
            "",
            "not_known",
            1,
            {"no_value": "the probe did not end", "is_certain": False},
        ),
        (
            "settings",
            "host.open_files",
            "",
            "not_known",
            1_048_576,
            {"no_value": "not permitted: no right", "is_certain": False},
        ),
    ]
    assert found["verdict"] == "differs"


def test_a_part_that_a_short_list_may_lack_is_not_gone(run: Run) -> None:
    node = machine()
    later = a_day_later(node)
    later["pci_devices"].pop()
    later["partly_listed"] = ["pci_devices"]
    (item,) = compared(run, node, later)["differences"]
    assert (item["change"], item["b"]["is_certain"]) == ("not_known", False)


def test_yes_is_no_one(run: Run) -> None:
    node = machine()
    later = a_day_later(node)
    later["gpus"][0]["persistence_is_on"] = 1
    (item,) = compared(run, node, later)["differences"]
    assert (item["a"], item["b"]) == (True, 1)


def test_measurements_within_five_percent_are_the_same(run: Run) -> None:
    node = machine()
    product = {
        "gpu_index": 0,
        "data_type": "bfloat16",
        "rows": 8192,
        "flops_per_second": 700e12,
        "spread": 0.01,
    }
    node["matrix_products"] = [product, {**product, "gpu_index": 1}]
    later = a_day_later(node)
    later["matrix_products"][0].update(flops_per_second=670e12, spread=0.2)
    later["matrix_products"][1]["flops_per_second"] = 490e12
    found = compared(run, node, later)
    (item,) = found["differences"]
    assert (item["group"], item["part"]) == ("measurements", "1 bfloat16 8192")
    assert item["by"] == pytest.approx(-0.3)
