"""The hardware catalogue does not contradict itself, and shows where others do."""

from collections.abc import Iterator
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
    """Return a field of a row, by its dotted name; the bare value of a quantity."""
    found: Any = row
    for part in field.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found["value"] if isinstance(found, dict) else found


def test_links_carry_their_payload() -> None:
    wrong = [f"{row['id']}: {fault}" for row in LINKED for fault in faulty_links(row)]
    assert not wrong, "\n".join(wrong)


def faulty_links(row: dict[str, Any]) -> Iterator[str]:
    nvlink = row["nvlink"]
    generation = at(nvlink, "generation")
    share = at(nvlink, "payload_per_link") / at(nvlink, "raw_per_link")
    if not 0.93 < share < 0.98:
        yield f"the encoding takes a few per cent, not {1 - share:.0%}"
    if at(nvlink, "version_code") != VERSION_CODES[generation]:
        yield f"version_code {at(nvlink, 'version_code')} of generation {generation}"
    alike = {
        at(other, "nvlink.raw_per_link")
        for other in LINKED
        if at(other, "nvlink.generation") == generation
    }
    if len(alike) != 1:
        yield f"links of generation {generation} run at several speeds: {alike}"
    if at(nvlink, "links") > (at(nvlink, "physical_links") or 18):
        yield f"{at(nvlink, 'links')} links are more than there are"


def test_least_values_stay_below_most() -> None:
    pairs = [
        ("power_default", "power_most"),
        ("power_most", "module_power_most"),
        ("application_sm_clock_default", "sm_clock_maximum"),
        ("pcie.generation", "pcie.generation_of_gpu"),
    ]
    wrong = [
        f"{row['id']}: {least} above {most}"
        for row in ACCELERATORS["accelerators"]
        for least, most in pairs
        if None not in {at(row, least), at(row, most)}
        and at(row, least) > at(row, most)
    ]
    wrong += [
        f"{row['id']}: bar1_total below the memory"
        for row in ACCELERATORS["accelerators"]
        if at(row, "bar1_total") is not None
        and at(row, "bar1_total") < 0.9 * at(row, "memory_driver_total")
    ]
    assert not wrong, "\n".join(wrong)


def test_adapters_add_up() -> None:
    assert NETWORKED
    wrong = []
    for row in NETWORKED:
        network = row["network"]
        names = network["names"]
        if network["count"] * network["gbit_per_s"] / 8 != at(row, "network_total"):
            wrong.append(f"{row['id']}: {network} is not network_total")
        is_whole = not any("*" in name for name in names)
        if is_whole and not len(set(names)) == len(names) == network["count"]:
            wrong.append(f"{row['id']}: {names} are not {network['count']}")
    assert not wrong, "\n".join(wrong)


def test_an_instance_fits_its_gpus() -> None:
    wrong = [
        f"{row['id']}: {fault}"
        for row in INSTANCES["instances"]
        for fault in misfits(row, ROWS[row["accelerator"]])
    ]
    assert not wrong, "\n".join(wrong)


def misfits(row: dict[str, Any], gpu: dict[str, Any]) -> Iterator[str]:
    slot, board = row.get("pcie_generation"), at(gpu, "pcie.generation")
    if slot is not None and board is not None and slot > board:
        yield f"a slot of PCIe {slot} for a board of PCIe {board}"
    is_linked = gpu["vendor"] != "NVIDIA" or gpu["nvlink"]["present"]
    if row["nvlink_domain_size"] > 1 and not is_linked:
        yield "an NVLink domain of GPUs without NVLink"
    processors = row.get("processors", {})
    cores = processors.get("cores", 0)
    if cores % processors.get("sockets", 1):
        yield f"cores and sockets: {processors}"
    if cores > processors.get("logical", cores):
        yield f"more cores than logical processors: {processors}"


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
            result = f"NVIDIA {name}" if row["vendor"] == "NVIDIA" else name
            gpu = Gpu({"name": result}, FILE, ("gpus", 0), "GPU 0")
            assert gpu_profiles().of(gpu).id == row["id"]


def test_a_conflict_shows_who_says_what() -> None:
    wrong = [
        f"{conflict['about']}.{conflict['field']}: {fault}"
        for conflict in CONFLICTS["conflicts"]
        for fault in faults_of_conflict(conflict)
    ]
    assert not wrong, "\n".join(wrong)


def faults_of_conflict(conflict: dict[str, Any]) -> Iterator[str]:
    readings = {(str(row["value"]), row["source"]) for row in conflict["readings"]}
    if len(readings) < 2:
        yield "a source alone disagrees with nobody"
    if not conflict["why"]:
        yield "no why"
    if "used" in conflict:
        used = at(ROWS[conflict["about"]], conflict["field"])
        if used != conflict["used"]:
            yield f"{used} is used"


def test_each_source_of_a_conflict_is_named() -> None:
    used = {
        name
        for item in CONFLICTS["conflicts"]
        for result in item["readings"]
        for name in result["source"].split("; ")
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
    assert len(left_open) == sum("used" not in item for item in CONFLICTS["conflicts"])


def test_a_conflict_about_nothing_is_refused() -> None:
    lost = {"conflicts": [{"about": "zx81", "field": "links", "readings": []}]}
    with pytest.raises(ValueError, match="zx81, which is no row"):
        compile_node_profiles(
            ACCELERATORS, INSTANCES, read_source("hardware/aliases"), lost
        )
