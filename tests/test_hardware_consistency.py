"""The hardware catalogue does not contradict itself, and shows where others do."""

from typing import Any

import pytest

from compile_catalogues import read_source
from compile_node_profiles import compile_node_profiles
from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.catalogue.nodes import gpu_profiles
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.part import SnapshotFile

ACCELERATORS = read_source("hardware/accelerators")
INSTANCES = read_source("hardware/instances")
CONFLICTS = read_source("hardware/conflicts")
ROWS = {
    row["id"]: row for row in (*ACCELERATORS["accelerators"], *INSTANCES["instances"])
}
LINKED = [row for row in ROWS.values() if "raw_per_link" in row.get("nvlink", {})]
NETWORKED = [row for row in INSTANCES["instances"] if "network_total" in row]
# NVLink 3, 4 and 5 as the management library codes them.
VERSION_CODES = {3: 4, 4: 6, 5: 7}
FILE = SnapshotFile("node.json", {}, {})


def at(row: dict[str, Any], field: str) -> Any:  # noqa: ANN401 - YAML
    """A field of a row, by its dotted name; the bare value of a quantity."""
    found: Any = row
    for part in field.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found["value"] if isinstance(found, dict) else found


def by_id(row: dict[str, Any]) -> str:
    return str(row["id"])


@pytest.mark.parametrize("row", LINKED, ids=by_id)
def test_links_carry_their_payload(row: dict[str, Any]) -> None:
    nvlink = row["nvlink"]
    share = at(nvlink, "payload_per_link") / at(nvlink, "raw_per_link")
    assert 0.93 < share < 0.98, "the encoding takes a few per cent"
    assert at(nvlink, "version_code") == VERSION_CODES[at(nvlink, "generation")]
    alike = {
        at(one, "nvlink.raw_per_link")
        for one in LINKED
        if at(one, "nvlink.generation") == at(nvlink, "generation")
    }
    assert len(alike) == 1, "links of one generation run at one speed"
    assert at(nvlink, "links") <= (at(nvlink, "physical_links") or 18)


@pytest.mark.parametrize("row", ACCELERATORS["accelerators"], ids=by_id)
def test_least_values_stay_below_most(row: dict[str, Any]) -> None:
    pairs = [
        ("power_default", "power_most"),
        ("power_most", "module_power_most"),
        ("application_sm_clock_default", "sm_clock_maximum"),
        ("pcie.generation", "pcie.generation_of_gpu"),
    ]
    for least, most in pairs:
        if at(row, least) is not None and at(row, most) is not None:
            assert at(row, least) <= at(row, most), (least, most)
    if at(row, "bar1_total") is not None:
        assert at(row, "bar1_total") >= 0.9 * at(row, "memory_driver_total")


@pytest.mark.parametrize("row", NETWORKED, ids=by_id)
def test_adapters_add_up(row: dict[str, Any]) -> None:
    network = row["network"]
    total = network["count"] * network["gbit_per_s"] / 8
    assert total == at(row, "network_total")
    names = network["names"]
    if not any("*" in name for name in names):
        assert len(set(names)) == len(names) == network["count"]


@pytest.mark.parametrize("row", INSTANCES["instances"], ids=by_id)
def test_an_instance_fits_its_gpus(row: dict[str, Any]) -> None:
    gpu = ROWS[row["accelerator"]]
    slot, board = row.get("pcie_generation"), at(gpu, "pcie.generation")
    assert slot is None or board is None or slot <= board
    if row["nvlink_domain_size"] > 1 and gpu["vendor"] == "NVIDIA":
        assert gpu["nvlink"]["present"]
    processors = row.get("processors", {})
    if "sockets" in processors and "cores" in processors:
        assert processors["cores"] % processors["sockets"] == 0
    if "cores" in processors and "logical" in processors:
        assert processors["cores"] <= processors["logical"]


def test_a_pci_device_is_one_accelerator() -> None:
    devices = [
        device
        for row in ACCELERATORS["accelerators"]
        for device in row.get("pci_device_ids", ())
    ]
    assert len(set(devices)) == len(devices)


def test_a_driver_name_leads_to_its_own_row() -> None:
    for row in ACCELERATORS["accelerators"]:
        for name in row.get("driver_names", ()):
            told = f"NVIDIA {name}" if row["vendor"] == "NVIDIA" else name
            gpu = Gpu({"name": told}, FILE, ("gpus", 0), "GPU 0")
            assert gpu_profiles().of(gpu).id == row["id"]


@pytest.mark.parametrize(
    "one", CONFLICTS["conflicts"], ids=lambda one: f"{one['about']}.{one['field']}"
)
def test_a_conflict_shows_who_says_what(one: dict[str, Any]) -> None:
    readings = {(str(told["value"]), told["source"]) for told in one["readings"]}
    assert len(readings) > 1, "one source alone disagrees with nobody"
    assert one["why"]
    if "used" in one:
        assert at(ROWS[one["about"]], one["field"]) == one["used"]


def test_each_source_of_a_conflict_is_named() -> None:
    used = {
        name
        for one in CONFLICTS["conflicts"]
        for told in one["readings"]
        for name in told["source"].split("; ")
    }
    assert used == CONFLICTS["sources"].keys()
    for rows in (ACCELERATORS, INSTANCES):
        for name, text in CONFLICTS["sources"].items():
            assert rows["sources"].get(name, text) == text


def test_what_nobody_knows_is_compiled_as_a_conflict() -> None:
    compiled = read_compiled("node_profiles")
    leaves = {name: row["leaves"] for name, row in compiled["gpus"].items()}
    leaves |= compiled["instances"]
    left_open = {
        (name, leaf)
        for name, row in leaves.items()
        for leaf, found in row.items()
        if isinstance(found, dict)
    }
    assert left_open == {
        ("h200-sxm-141gb", "sm_clock_maximum_mhz"),
        ("b300-sxm-288gb", "power_limit_most_watts"),
        ("b300-sxm-288gb", "power_limit_default_watts"),
        ("azure-nd128isr-gb300-v6", "network_gbit_per_second"),
        ("aws-p6e-gb200", "network_adapters"),
        ("aws-p5", "pcie_generation_maximum"),
    }
    assert len(left_open) == sum("used" not in one for one in CONFLICTS["conflicts"])


def test_a_conflict_about_nothing_is_refused() -> None:
    lost = {"conflicts": [{"about": "zx81", "field": "links", "readings": []}]}
    with pytest.raises(ValueError, match="zx81, which is no row"):
        compile_node_profiles(
            ACCELERATORS, INSTANCES, read_source("hardware/aliases"), lost
        )
