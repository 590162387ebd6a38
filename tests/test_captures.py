"""What tools print of a machine becomes the parts of a node, with lines."""

from pathlib import Path

import pytest

from captured import (
    DCGMI,
    ENV,
    GPU,
    IBSTAT,
    IBV_DEVINFO,
    LSPCI,
    TOPO,
    TOPOLOGY,
    gpu_at,
    nvidia_smi,
)
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.sources.files import read_file


def node_of(folder: Path, text: str, name: str = "capture.txt") -> tuple[str, Node]:
    """Return the format that a text was taken for, and its node."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    status, files = read_file(str(path))
    assert status.state == "judged", status.message
    (file,) = files
    (reading,) = file.readings
    assert reading.node is not None
    return file.format, reading.node


def leaves(node: Node, kind: str, number: int = 0) -> dict[str, object]:
    found = node.data[kind]
    part = found[number] if isinstance(found, list) else found
    assert isinstance(part, dict)
    return part


def line(node: Node, *path: str | int) -> int:
    span = node.file.place(path).span
    assert span is not None
    return span.line


def test_the_leaves_of_a_gpu_are_those_that_nvml_gives(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, nvidia_smi(GPU), "node.xml")
    assert found == "nvidia-smi"
    assert node.taken == "Fri Aug 21 08:54:01 2026"
    assert leaves(node, "driver") == {
        "version": "580.105.08",
        "cuda_version": "13.0",
        "gpus_attached": 1,
        "management_library_status": 0,
        "longest_answer_seconds": {
            "status": "not_supported",
            "message": "nvidia-smi prints no times",
        },
    }
    assert leaves(node, "gpus") == {
        "name": "NVIDIA H100 80GB HBM3",
        "uuid": "GPU-5d0f29c1",
        "module_id": 3,
        "pci_address": "0000:1b:00.0",
        "pci_device_id": "0x233010de",
        "readings_failed": [],
        "persistence_is_on": True,
        "compute_mode": 3,
        "recovery_action": 0,
        "mig_is_on": False,
        "mig_is_pending": True,
        "performance_state": 0,
        "memory_total_bytes": 81559 * 2**20,
        "memory_used_bytes": 0,
        "ecc_is_on": True,
        "ecc_is_on_after_reboot": {"status": "not_supported", "message": "N/A"},
        "remapped_rows_correctable": 0,
        "remap_is_pending": False,
        "remap_has_failed": False,
        "remap_banks": [639, 1, 0, 0, 0],
        "sm_clock_mhz": 345,
        "power_watts": 68.92,
        "power_limit_watts": 700.0,
        "temperature_celsius": 29,
        "pcie_generation": 1,
        "pcie_generation_maximum": 5,
        "pcie_width": 16,
        "pcie_replays": 150,
        "pcie_atomics_to_gpu": 0x21,
        "pcie_atomics_from_gpu": {
            "status": "failed",
            "message": "printed 'FETCHADD_7'",
        },
        "auto_boost_is_on": False,
        "auto_boost_is_on_by_default": True,
        "fabric_state": 3,
        "fabric_status": 0,
        "fabric_cluster": "0" * 32,
        "fabric_health_summary": 1,
        "fabric_health_mask": 2 | 1 << 4,
        "ecc_corrected_volatile": 5,
        "ecc_uncorrected_volatile": 5,
        "sram_uncorrected_volatile": 1,
        "clock_event_reasons": 0x81,
        "compute_processes": 2,
        "graphics_processes": 1,
        "is_lost": False,
        "needs_reset": False,
    }


def test_a_leaf_stands_on_its_line(tmp_path: Path) -> None:
    _, node = node_of(tmp_path, nvidia_smi(GPU, gpu_at("43")), "node.xml")
    lines = nvidia_smi(GPU, gpu_at("43")).splitlines()
    for number in (0, 1):
        at = line(node, "gpus", number, "remap_is_pending")
        assert "remapped_row_pending" in lines[at - 1]
    assert "43" in lines[line(node, "gpus", 1, "pci_address") - 1]
    assert "attached_gpus" in lines[line(node, "gpus") - 1]


def test_what_a_gpu_says_in_the_place_of_values_tells_that_it_is_lost(
    tmp_path: Path,
) -> None:
    lost = GPU.replace("<gpu_temp>29 C<", "<gpu_temp>GPU is lost<")
    _, node = node_of(tmp_path, nvidia_smi(lost))
    gpu = leaves(node, "gpus")
    assert gpu["is_lost"] is True
    assert gpu["temperature_celsius"] == {
        "status": "failed",
        "message": "printed 'GPU is lost'",
    }


@pytest.mark.parametrize(
    ("old", "new", "leaf"),
    [
        ("<sm_clock>345 MHz<", "<sm_clock>fast<", "sm_clock_mhz"),
        (">Not Active<", ">[Unknown Error]<", "clock_event_reasons"),
        (">True</route", ">Maybe</route", "fabric_health_mask"),
        ("<total>81559 MiB<", "<total>81559<", "memory_total_bytes"),
    ],
)
def test_a_text_that_the_tool_should_not_print_is_no_value(
    tmp_path: Path, old: str, new: str, leaf: str
) -> None:
    _, node = node_of(tmp_path, nvidia_smi(GPU.replace(old, new)))
    found = leaves(node, "gpus")[leaf]
    assert isinstance(found, dict)
    assert found["status"] == "failed"


def test_some_gpus_are_not_all(tmp_path: Path) -> None:
    _, node = node_of(tmp_path, nvidia_smi(GPU, attached=8))
    assert node.file.cut_short == {"gpus": "shows 1 of 8 GPUs"}


def test_a_topology_file_names_devices_and_not_all_of_them(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, TOPOLOGY, "topo.xml")
    assert found == "nccl-topology"
    assert node.data == {
        "pci_devices": [
            {
                "vendor": "0x10de",
                "device": "0x2330",
                "address": "0000:1b:00.0",
                "pci_class": "0x030200",
                "numa_node": 1,
                "ancestors": ["ffff:ff:01.0"],
            },
            {
                "address": "0101:00:00.0",
                "pci_class": "0x020700",
                "numa_node": 1,
                "ancestors": ["ffff:ff:01.0"],
            },
        ],
        "rdma_devices": [{"name": "mlx5_0", "pci_address": "0101:00:00.0"}],
    }
    assert set(node.file.cut_short) == {"pci_devices", "rdma_devices"}
    assert line(node, "pci_devices", 0, "address") == 5


def test_ibstat_names_states_as_the_kernel_does(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, IBSTAT)
    assert found == "ibstat"
    assert leaves(node, "rdma_devices", 1) == {
        "name": "mlx5_1",
        "type": "MT4129",
        "firmware_version": "28.39.1002",
        "node_guid": "0c42:a103:00a1:b2c5",
    }
    assert leaves(node, "rdma_ports", 1) == {
        "device": "mlx5_1",
        "number": 1,
        "state": "INIT",
        "physical_state": "LinkUp",
        "rate_gbit_per_second": 100.0,
        "lid": 65535,
        "subnet_manager_lid": 0,
        "link_layer": "InfiniBand",
    }
    assert line(node, "rdma_ports", 1, "state") == 19
    assert node.file.cut_short == {}


def test_one_adapter_may_be_one_of_several(tmp_path: Path) -> None:
    _, node = node_of(tmp_path, IBSTAT[: IBSTAT.index("CA 'mlx5_1'")])
    assert set(node.file.cut_short) == {"rdma_devices", "rdma_ports"}


def test_ibv_devinfo_gives_rate_and_addresses_by_index(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, IBV_DEVINFO)
    assert found == "ibv-devinfo"
    assert leaves(node, "rdma_devices") == {
        "name": "mlx5_0",
        "firmware_version": "28.39.1002",
        "node_guid": "0c42:a103:00a1:b2c4",
        "board_id": "MT_0000000838",
    }
    assert leaves(node, "rdma_ports") == {
        "device": "mlx5_0",
        "number": 1,
        "state": "ACTIVE",
        "active_mtu_bytes": 4096,
        "subnet_manager_lid": 0,
        "lid": 0,
        "link_layer": "Ethernet",
        "rate_gbit_per_second": 400.0,
        "physical_state": "LinkUp",
        "gid_kinds": ["link_local", "unset", "ipv4"],
        "gid_types": ["IB/RoCE v1", "", "RoCE v2"],
    }


def test_the_matrix_of_paths_says_what_it_shows(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, TOPO)
    assert found == "nvidia-smi-topology"
    assert node.data == {
        "gpus": [
            {
                "common_ancestors": [0, None],
                "peer_nvlink_status": [0, 0],
                "peer_nvlinks": [None, 18],
                "adapter_ancestors": [10],
                "numa_node": 0,
                "cpu_affinity": "0-47,96-143",
            },
            {
                "common_ancestors": [50, 0],
                "peer_nvlink_status": [None, 0],
                "peer_nvlinks": [0, None],
                "adapter_ancestors": [50],
                "numa_node": 1,
                "cpu_affinity": "48-95",
            },
        ],
        "rdma_devices": [{"name": "mlx5_0"}],
    }
    assert set(node.file.cut_short) == {"rdma_devices"}


def test_lspci_gives_links_and_the_bridges_above_gpus(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, LSPCI)
    assert found == "lspci"
    assert node.data == {
        "pci_devices": [
            {
                "address": "0000:16:00.0",
                "pci_class": "0x060400",
                "vendor": "0x1000",
                "device": "0xc030",
                "acs_control": 0x05,
                "ancestors": [],
            },
            {
                "address": "0000:17:00.0",
                "pci_class": "0x030200",
                "vendor": "0x10de",
                "device": "0x2330",
                "numa_node": 0,
                "iommu_group": "39",
                "maximum_read_request_bytes": 4096,
                "speed_maximum_gigatransfers_per_second": 32.0,
                "width_maximum": 16,
                "speed_gigatransfers_per_second": 16.0,
                "width": 8,
                "driver": "nvidia",
                "ancestors": ["0000:16:00.0"],
            },
        ]
    }
    assert node.file.cut_short == {}
    assert line(node, "pci_devices", 1, "width") == 12


def test_lspci_without_root_says_so(tmp_path: Path) -> None:
    text = (
        "0000:17:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)\n"
        "\tCapabilities: <access denied>\n"
        "\tKernel driver in use: nvidia\n"
    )
    _, node = node_of(tmp_path, text)
    refused = {"status": "not_permitted", "message": "run lspci as root"}
    assert leaves(node, "pci_devices")["width"] == refused
    assert "pci_devices" in node.file.cut_short


def test_env_is_read_as_it_stands(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, ENV, "env-of-rank-0")
    assert found == "environment-dump"
    variables = node.data["variables"]
    assert isinstance(variables, list)
    assert {variable["name"]: variable["value"] for variable in variables} == {
        "SHELL": "/bin/bash",
        "PWD": "/home/u",
        "NCCL_DEBUG": '"INFO"',
        "LS_COLORS": "rs=0:di=01;34",
        "PATH": "/usr/bin:/bin",
        "NOTE": "one\n  two",
        "HOME": "/home/u",
        "SHLVL": "1",
    }
    assert {variable["layer"] for variable in variables} == {"environment"}


def test_dcgmi_lists_gpus(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, DCGMI)
    assert found == "dcgmi-discovery"
    assert node.data == {
        "gpus": [
            {
                "name": "NVIDIA H100 80GB HBM3",
                "pci_address": "0000:1b:00.0",
                "uuid": "GPU-5d0f29c1",
            }
        ]
    }
    assert node.file.cut_short == {}
