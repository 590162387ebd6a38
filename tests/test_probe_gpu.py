"""The probe of GPUs: what it reads of healthy ones, and of those with a fault."""

import ctypes
from pathlib import Path
from typing import Any

import pytest

from nvml_stand_in import StandIn, build, without_library
from speccheck.probes.collect import snapshot
from speccheck.probes.gpu import cuda_version
from speccheck.probes.gpu_structures import cpu_list, pci_address
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.sources.formats.snapshot import node_of

Leaves = dict[str, Any]


def is_absent(found: object) -> bool:
    return isinstance(found, dict)


def node(taken: Leaves) -> Node:
    return node_of(taken, "node.json")


def test_eight_healthy_gpus(stand_in: StandIn) -> None:
    taken = stand_in.snapshot()
    assert taken["cut_short"] == {}
    assert taken["driver"] == {
        "management_library_status": 0,
        "longest_answer_seconds": 0.0,
        "version": "550.54.15",
        "management_library_version": "12.550.54.15",
        "cuda_version": "12.4",
        "nvlink_bandwidth_mode": 0,
        "confidential_computing_is_on": False,
    }
    assert len(taken["gpus"]) == 8
    fourth = taken["gpus"][3]
    expected = {
        "name": "NVIDIA H100 80GB HBM3",
        "brand": "NVIDIA",
        "uuid": "GPU-00000003-aaaa-bbbb-cccc-000000000003",
        "pci_address": "0000:61:00.0",
        "pci_device_id": "0x233010de",
        "compute_capability": "9.0",
        "module_id": 4,
        "cpu_affinity": "0",
        "memory_total_bytes": 85_520_809_984,
        "memory_reserved_bytes": 500_170_752,
        "power_watts": 72.34,
        "power_limit_least_watts": 200.0,
        "power_limit_most_watts": 700.0,
        "ecc_is_on": True,
        "remap_banks": [2560, 0, 0, 0, 0],
        "recovery_action": 0,
        "memory_temperature_celsius": 38,
        "nvlink_is_active": [True] * 18,
        "nvlink_speed_mbyte_per_second": [26_562] * 18,
        "nvlink_remote_pci_address": ["0000:05:00.0"] * 18,
        "nvlink_bandwidth_mode": 0,
        "common_ancestors": [50, 50, 50, 0, 50, 50, 50, 50],
        "peer_read_status": [0] * 8,
        "fabric_state": 3,
        "fabric_cluster": "0" * 32,
        "fabric_health_summary": 1,
        "inforom_is_valid": True,
        "is_lost": False,
        "needs_reset": False,
    }
    assert {leaf: fourth[leaf] for leaf in expected} == expected


def test_every_leaf_of_a_gpu_is_put_down_with_its_source(stand_in: StandIn) -> None:
    taken = stand_in.snapshot("gpu.3.lost_after=0")
    # What nvidia-smi topo -m sums up is in the links and the PCI functions here.
    named = set(Gpu.__annotations__) - {"peer_nvlinks", "adapter_ancestors"}
    for number, gpu in enumerate(taken["gpus"]):
        assert set(gpu) == named, number
    assert {f"gpus.{leaf}" for leaf in named} <= set(taken["sources"])


def test_a_lost_gpu_says_so_in_each_leaf_and_the_others_are_whole(
    stand_in: StandIn,
) -> None:
    healthy = stand_in.snapshot()["gpus"]
    gpus = stand_in.snapshot("gpu.3.lost_after=0")["gpus"]
    lost = gpus[3]
    assert lost.pop("is_lost") is True
    assert {found["code"] for found in lost.values()} == {"15"}
    for number in (0, 1, 2, 4, 5, 6, 7):
        gpu, was = gpus[number], healthy[number]
        for leaf in ("common_ancestors", "peer_read_status", "peer_nvlink_status"):
            assert gpu[leaf][3]["code"] == "15"
            gpu[leaf][3] = was[leaf][3]
        assert gpu == was


def test_a_gpu_lost_on_the_way_keeps_what_was_read(stand_in: StandIn) -> None:
    healthy = stand_in.snapshot()["gpus"][5]
    taken = stand_in.snapshot("gpu.5.lost_after=20")
    gpu = taken["gpus"][5]
    read = {leaf: found for leaf, found in gpu.items() if not is_absent(found)}
    assert gpu["name"] == "NVIDIA H100 80GB HBM3"
    assert gpu["sm_clock_mhz"] == 1980
    assert gpu["is_lost"] is True
    assert gpu["nvlink_is_active"]["code"] == gpu["remap_is_pending"]["code"] == "15"
    several = ("is_lost", "common_ancestors", "peer_read_status", "peer_nvlink_status")
    for leaf in read.keys() - set(several):
        assert read[leaf] == healthy[leaf]
    assert taken["gpus"][6]["is_lost"] is False


def test_a_gpu_lost_among_its_links_does_not_tell_how_many_it_has(
    stand_in: StandIn,
) -> None:
    gpu = stand_in.snapshot("gpu.2.nvmlDeviceGetNvLinkState.code=15")["gpus"][2]
    assert gpu["is_lost"] is True
    assert gpu["nvlink_is_active"]["code"] == "15"
    assert gpu["nvlink_version"]["code"] == "15"


@pytest.mark.parametrize(
    ("line", "leaf", "expected"),
    [
        (
            "nvmlDeviceGetTotalEccErrors.code=4",
            "ecc_uncorrected_volatile",
            ("not_permitted", "4"),
        ),
        ("nvmlDeviceGetMigMode.code=3", "mig_is_on", ("not_supported", "3")),
        ("nvmlDeviceGetPowerUsage.code=999", "power_watts", ("failed", "999")),
        (
            "nvmlDeviceGetMemoryInfo_v2.code=25",
            "memory_total_bytes",
            ("not_supported", "25"),
        ),
        (
            "nvmlDeviceGetSramEccErrorStatus.code=4",
            "sram_threshold_exceeded",
            ("not_permitted", "4"),
        ),
        ("nvmlDeviceGetGpuFabricInfoV.code=4", "fabric_state", ("not_permitted", "4")),
        ("gpu.field.230.code=3", "recovery_action", ("not_supported", "3")),
        ("nvmlDeviceGetFieldValues.code=4", "recovery_action", ("not_permitted", "4")),
        ("nvmlDeviceGetFieldValues.code=4", "c2c_is_active", ("not_permitted", "4")),
        ("gpu.field.82.type=9", "memory_temperature_celsius", ("failed", None)),
        ("gpu.0.pci_address=nonsense", "pci_address", ("failed", None)),
    ],
)
def test_a_call_that_fails_costs_its_own_leaves(
    stand_in: StandIn, line: str, leaf: str, expected: tuple[str, str | None]
) -> None:
    gpu = stand_in.snapshot(line)["gpus"][0]
    assert (gpu[leaf]["status"], gpu[leaf].get("code")) == expected
    assert gpu["name"] == "NVIDIA H100 80GB HBM3"
    assert gpu["is_lost"] is False


def test_a_handle_that_is_refused_leaves_open_whether_the_gpu_is_lost(
    stand_in: StandIn,
) -> None:
    gpu = stand_in.snapshot("gpu.1.nvmlDeviceGetHandleByIndex_v2.code=4")["gpus"][1]
    assert gpu["is_lost"]["status"] == gpu["name"]["status"] == "not_permitted"


def test_a_reset_that_is_required_is_seen_in_any_call(stand_in: StandIn) -> None:
    gpus = stand_in.snapshot("gpu.6.nvmlDeviceGetPowerUsage.code=16")["gpus"]
    assert [gpu["needs_reset"] for gpu in gpus] == [False] * 6 + [True, False]


def test_a_link_that_is_down_is_asked_nothing_more(stand_in: StandIn) -> None:
    gpu = stand_in.snapshot("gpu.2.nvlink.7.active=0")["gpus"][2]
    assert gpu["nvlink_is_active"] == [link != 7 for link in range(18)]
    assert gpu["nvlink_crc_flit_errors"][6:9] == [0, None, 0]


def test_a_link_that_cannot_be_asked_says_why(stand_in: StandIn) -> None:
    gpu = stand_in.snapshot("gpu.2.nvmlDeviceGetNvLinkState.code=4")["gpus"][2]
    assert {item["status"] for item in gpu["nvlink_is_active"]} == {"not_permitted"}
    assert set(gpu["nvlink_version"]) == {None}


def test_a_count_that_no_link_has_says_so_once(stand_in: StandIn) -> None:
    """A Blackwell counts no errors of flits: that is no doubt about each link."""
    lines = ("nvmlDeviceGetNvLinkErrorCounter.code=3", "gpu.1.nvlink.0.active=0")
    for gpu in stand_in.snapshot(*lines)["gpus"][:2]:
        assert gpu["nvlink_recoveries"]["status"] == "not_supported"
        assert gpu["nvlink_crc_flit_errors"]["code"] == "3"


def test_a_gpu_without_links_says_that_it_has_none(stand_in: StandIn) -> None:
    stand_in.answers(without=("gpu.nvlinks",))
    gpu = stand_in.snapshot()["gpus"][0]
    assert gpu["nvlink_is_active"]["status"] == "not_supported"
    assert gpu["nvlink_speed_mbyte_per_second"]["status"] == "not_supported"


def test_chip_to_chip_links(stand_in: StandIn) -> None:
    gpu = stand_in.snapshot("gpu.field.170=2", "gpu.field.171=1", "gpu.field.171.1=0")
    assert gpu["gpus"][0]["c2c_links"] == 2
    assert gpu["gpus"][0]["c2c_is_active"] == [True, False]


def test_boost_and_atomics(stand_in: StandIn) -> None:
    gpus = stand_in.snapshot(
        "gpu.2.auto_boost=0", "gpu.2.auto_boost_default=1", "gpu.2.field.229=0"
    )["gpus"]
    assert gpus[1]["auto_boost_is_on"]["status"] == "not_supported"
    assert (gpus[1]["pcie_atomics_to_gpu"], gpus[1]["pcie_atomics_from_gpu"]) == (63, 0)
    third = gpus[2]
    assert (third["auto_boost_is_on"], third["auto_boost_is_on_by_default"]) == (
        False,
        True,
    )
    assert third["pcie_atomics_to_gpu"] == 0


def test_memory_faults_and_a_corrupted_inforom(stand_in: StandIn) -> None:
    gpus = stand_in.snapshot(
        "gpu.5.remap_pending=1",
        "gpu.5.sram_parity=2",
        "gpu.5.sram_double=1",
        "gpu.5.retired_double=3",
        "gpu.5.compute_processes=4",
        "gpu.5.nvmlDeviceValidateInforom.code=14",
        "gpu.5.unrepairable=1",
    )["gpus"]
    assert [gpu["remap_is_pending"] for gpu in gpus] == [False] * 5 + [True] + [
        False
    ] * 2
    sixth = gpus[5]
    assert sixth["sram_uncorrected_volatile"] == 3
    assert sixth["retired_pages_double_bit"] == 3
    assert sixth["compute_processes"] == 4
    assert sixth["inforom_is_valid"] is False
    assert sixth["memory_is_unrepairable"] is True
    assert gpus[4]["inforom_is_valid"] is True


def test_an_older_driver_is_asked_by_the_names_that_it_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = StandIn(build(tmp_path, "OLDER"), tmp_path, monkeypatch)
    gpu = older.snapshot("gpu.fabric_version=2", "gpu.clock_reasons=64")["gpus"][0]
    assert gpu["clock_event_reasons"] == 64
    assert gpu["fabric_state"] == 3
    assert gpu["fabric_health_summary"]["status"] == "not_supported"


@pytest.mark.parametrize(
    ("code", "status"), [(9, "absent"), (18, "failed"), (4, "not_permitted")]
)
def test_a_library_that_does_not_start(
    stand_in: StandIn, code: int, status: str
) -> None:
    taken = stand_in.snapshot(f"system.init={code}")
    assert taken["cut_short"] == {}
    assert taken["driver"]["management_library_status"] == code
    assert taken["driver"]["version"]["status"] == status
    assert (taken["gpus"]["status"], taken["gpus"]["code"]) == (status, str(code))
    assert not node(taken).several(Gpus).count.is_known


def test_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_library(monkeypatch, tmp_path)
    taken = snapshot(probes=("gpu",))
    assert taken["driver"]["management_library_status"] == 12
    assert taken["gpus"]["status"] == "absent"
    assert taken["cut_short"] == {}


def test_no_gpus_is_a_known_number(stand_in: StandIn) -> None:
    count = node(stand_in.snapshot("system.count=0")).several(Gpus).count
    assert (count.is_known, count.value) == (True, 0)


def test_gpus_that_cannot_be_counted(stand_in: StandIn) -> None:
    taken = stand_in.snapshot("nvmlDeviceGetCount_v2.code=4")
    assert taken["gpus"]["status"] == "not_permitted"


def test_a_copy_of_files_has_no_gpus_to_ask(tmp_path: Path) -> None:
    taken = snapshot(root=str(tmp_path), probes=("gpu",))
    assert taken["gpus"]["status"] == "absent"
    assert taken["driver"]["version"]["status"] == "absent"


def test_cpu_list() -> None:
    words = (ctypes.c_ulonglong * 3)(0x8000_0000_0000_000F, 0b1, 0b10)
    assert cpu_list(words) == "0-3,63-64,129"
    assert cpu_list((ctypes.c_ulonglong * 1)()) == ""


def test_pci_address_is_that_of_sysfs() -> None:
    assert pci_address(b"00010000:1B:00.0") == "10000:1b:00.0"
    assert pci_address("00000000:C3:00.0") == "0000:c3:00.0"


def test_cuda_version() -> None:
    assert (cuda_version(12_040), cuda_version(13_000)) == ("12.4", "13.0")
