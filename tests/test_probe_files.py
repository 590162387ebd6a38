"""Probes that read files, on a healthy machine: each leaf, exactly."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from judged_nodes import OF_MACHINES
from machine_files import DRIVE, GPU, NIC, PORT, SLOT, SWITCH
from probed import content, healthy_but, node
from speccheck.validator.evidence.node.host import Driver, Host, KernelLog
from speccheck.validator.evidence.node.part import Part

# A copy of files has no file systems and no running kernel to ask.
LIVE_ONLY = {
    "shared_memory_bytes",
    "shared_memory_free_bytes",
    "root_used_share",
    "clock_is_synchronised",
    "clock_offset_milliseconds",
}
# Of the driver, NVML tells these.
FROM_NVML = {
    "version",
    "management_library_version",
    "management_library_status",
    "longest_answer_seconds",
    "cuda_version",
    "confidential_computing_is_on",
    "nvlink_bandwidth_mode",
}
COUNTED = {"gpus_attached"}  # by what nvidia-smi prints alone
# Of the driver, the libraries of CUDA and of MRC tell these.
FROM_CUDA = {"cuda_start_status", "mrc_api_version"}
HOST: dict[str, object] = {
    "vendor": "Amazon EC2",
    "product": "p5.48xlarge",
    "board": "Not Specified",
    "instance_type": "p5.48xlarge",
    "kernel_release": "6.8.0-1021-aws",
    "architecture": "x86_64",
    "operating_system": "Ubuntu 22.04.5 LTS",
    "virtualisation": "amazon",
    "container": "none",
    "name": "node-17",
    "processor_model": "Intel(R) Xeon(R) Platinum 8480C",
    "sockets": 2,
    "cores": 4,
    "processors": 8,
    "processors_allowed": "0-7",
    "numa_nodes": 2,
    "processor_mhz": 2050.0,
    "processor_base_mhz": 2000.0,
    "governors": ("performance",),
    "memory_total_bytes": 2_113_465_048 * 1024,
    "memory_available_bytes": 2_080_000_000 * 1024,
    "memory_limit_bytes": 1 << 40,
    "swap_total_bytes": 0,
    "hugepages": 5128,
    "hugepage_bytes": 2 << 20,
    "transparent_hugepages": "madvise",
    "free_large_blocks": (90, 900),
    "numa_balancing": 0,
    "memory_errors_uncorrected": 0,
    "locked_memory_bytes": -1,
    "open_files": 1_048_576,
    "process_limit": 8_192_000,
    "clock_source": "tsc",
    "uptime_seconds": 86400.55,
    "load_one_minute": 1.5,
    "stuck_processes": 0,
    "zombie_processes": 0,
    "kernel_arguments": ("iommu=pt", "intel_iommu=on", "numa_balancing=disable"),
    "iommu_units": 2,
    "degraded_arrays": (),
    "slurm_daemon_is_running": True,
    "kubelet_is_running": False,
    "services_installed": ("slurmd", "nv-hostengine"),
}
DRIVER: dict[str, object] = {
    "kernel_module_version": "550.54.15",
    "kernel_module_is_open": True,
    "device_nodes": ("nvidia-uvm", "nvidia0", "nvidiactl", "infiniband/uverbs0"),
    "device_nodes_denied": (),
    "fabric_manager_version": "550.54.15",
    "fabric_manager_is_running": True,
    "imex_is_running": False,
    "imex_channels": 1,
    "persistence_daemon_is_running": True,
    "host_engine_is_running": False,
    "modules": ("mlx5_core", "nvidia", "nvidia_peermem", "nvidia_uvm"),
    "ofed_version": "24.10-0.7.0",
    "cuda_compatibility_is_installed": True,
    "peer_memory_is_registered": True,
    "dma_buf_is_exported": True,
    "libraries": ("libcuda.so.1", "libnccl.so.2", "libnvidia-ml.so.1"),
    "libraries_empty": (),
    "nccl_version": "2.21.5",
    "nccl_versions": ("2.21.5",),
    "nccl_plugins": ("libnccl-net.so",),
    "nccl_plugin_releases": ("1.13.2-aws",),
    "topology_file": "/etc/topo.xml",
    "mpi_programs": ("mpirun",),
    "topology_file_addresses": ("0000:1b:00.0", "0000:1c:00.0"),
}


def measured(part: Part) -> dict[str, object]:
    """Return the leaves that have a value."""
    values = {name: getattr(part, name) for name in type(part).__annotations__}
    return {name: item.value for name, item in values.items() if item.is_known}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return healthy_but(tmp_path_factory.mktemp("machine"))


def test_host(machine: Path) -> None:
    host = node(machine).single(Host)
    assert measured(host) == HOST
    assert set(Host.__annotations__) - set(HOST) == LIVE_ONLY


def test_driver(machine: Path) -> None:
    driver = node(machine).single(Driver)
    assert measured(driver) == DRIVER
    assert set(Driver.__annotations__) - set(DRIVER) == FROM_NVML | FROM_CUDA | COUNTED


def test_kernel_log_without_events(machine: Path) -> None:
    found = content(machine, "kernel_log")
    assert found["kernel_log"] == {
        "lines": 3,
        "first_seconds": 0.0,
        "last_seconds": 12.25,
    }
    assert found["kernel_events"] == []
    assert set(found["kernel_log"]) == set(KernelLog.__annotations__)


def test_pci_devices_are_those_that_matter(machine: Path) -> None:
    devices = content(machine, "pci")["pci_devices"]
    assert [device["address"] for device in devices] == [
        PORT,
        SWITCH,
        SLOT,
        GPU,
        NIC,
        DRIVE,
        "0000:33:00.0",
    ]


def test_pci_device(machine: Path) -> None:
    devices = content(machine, "pci")["pci_devices"]
    by_address = {device["address"]: device for device in devices}
    no_control = {
        "status": "not_supported",
        "source": f"/sys/bus/pci/devices/{GPU}/config",
        "message": "no access control services",
    }
    assert by_address[GPU] == {
        "address": GPU,
        "vendor": "0x10de",
        "device": "0x2330",
        "pci_class": "0x030200",
        "driver": "nvidia",
        "iommu_group": "41",
        "iommu_domain": "identity",
        "numa_node": 0,
        "ancestors": [PORT, SWITCH, SLOT],
        "is_virtual_function": False,
        "speed_gigatransfers_per_second": 32.0,
        "speed_maximum_gigatransfers_per_second": 32.0,
        "width": 16,
        "width_maximum": 16,
        "correctable_errors": 3,
        "non_fatal_errors": 0,
        "fatal_errors": 0,
        "acs_control": no_control,
        "maximum_read_request_bytes": 4096,
    }
    assert by_address[SLOT]["acs_control"] == 0
    assert by_address[SLOT]["ancestors"] == [PORT, SWITCH]
    assert by_address[DRIVE]["ancestors"] == []


def test_variables_by_layer(machine: Path) -> None:
    found = content(machine, "settings")["variables"]
    hidden = {
        "status": "absent",
        "source": "/proc/self/environ",
        "message": "not a setting of a communication library",
    }
    expected = [
        ("NCCL_DEBUG", "environment", "WARN"),
        ("PATH", "environment", hidden),
        ("AWS_SECRET_ACCESS_KEY", "environment", hidden),
        ("HOME", "environment", hidden),
        ("NCCL_IB_HCA", "user_file", "mlx5"),
        ("NCCL_TOPO_FILE", "user_file", "/etc/topo.xml"),
        ("NCCL_SOCKET_IFNAME", "system_file", "eth0"),
        ("NCCL_IB_HCA", "system_file", "ignored"),
    ]
    assert [
        (finding["name"], finding["layer"], finding["value"]) for finding in found
    ] == expected


def test_rdma_port(machine: Path) -> None:
    found = content(machine, "rdma")
    device, port = found["rdma_devices"][0], found["rdma_ports"][0]
    assert device == {
        "name": "mlx5_0",
        "driver": "mlx5_core",
        "pci_address": NIC,
        "is_virtual_function": False,
        "numa_node": 0,
        "firmware_version": "28.39.3004",
        "board_id": "MT_0000000838",
        "type": "MT4129",
        "node_guid": "9803:9b03:0012:3456",
    }
    known = {name: item for name, item in port.items() if not isinstance(item, dict)}
    assert known == {
        "device": "mlx5_0",
        "number": 1,
        "state": "ACTIVE",
        "physical_state": "LinkUp",
        "link_layer": "InfiniBand",
        "rate_gbit_per_second": 400.0,
        "lid": 26,
        "subnet_manager_lid": 1,
        "partition_keys": ["0xffff"],
        "network_interface": "ib0",
        "gid_kinds": ["link_local"],
        "gid_types": ["IB/RoCE v1"],
        "symbol_errors": 0,
        "link_downed": 0,
        "transmit_waits": 4_294_967_295,
        "out_of_sequence": 3,
    }


def test_network_interface(machine: Path) -> None:
    assert content(machine, "rdma")["network_interfaces"] == [
        {
            "name": "ib0",
            "state": "up",
            "mtu_bytes": 4092,
            "speed_mbit_per_second": 400_000,
            "driver": "mlx5_core",
            "pci_address": NIC,
            "carrier_changes": 2,
            "has_ipv4": True,
            "has_ipv6": False,
            "address": "00:00:10:49:fe:80",
            "congestion_answered_priorities": [0, 3],
            "congestion_heeded_priorities": [],
        }
    ]


@pytest.mark.parametrize(
    ("files", "status"),
    [({}, "absent"), ({"/sys/class/net/ib0/ecn/roce_np/enable/5": "on\n"}, "failed")],
)
def test_priorities_that_cannot_be_read_are_in_doubt(
    tmp_path: Path, files: dict[str, str | bytes], status: str
) -> None:
    """Drivers of the kernel have no such files; one odd file leaves all open."""
    machine = healthy_but(tmp_path, files, without=("/sys/class/net/ib0/ecn",))
    (interface,) = content(machine, "rdma")["network_interfaces"]
    assert interface["congestion_answered_priorities"]["status"] == status
    assert interface["congestion_heeded_priorities"]["status"] == "absent"


@pytest.mark.parametrize(
    ("path", "programs"),
    [
        ("/usr/mpi/gcc/openmpi-4.1.7a1/bin/mpirun", ("mpirun",)),
        ("/bin/mpiexec", ("mpiexec",)),  # PATH of the machine
        ("/somewhere/bin/mpirun", ()),
    ],
)
def test_programs_of_mpi(tmp_path: Path, path: str, programs: tuple[str, ...]) -> None:
    machine = healthy_but(tmp_path, {path: "x"}, without=("/opt/amazon/openmpi",))
    (tmp_path / "usr" / "bin").mkdir(exist_ok=True)
    assert node(machine).single(Driver).mpi_programs.value == programs


def test_every_declared_leaf_is_written_and_no_other(tmp_path: Path) -> None:
    line = "6,4,13000000,-;NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."
    base = "5,0,0,-;Linux version 6.8\n"
    found = content(healthy_but(tmp_path, {"/dev/kmsg": f"{base}{line}\n"}))
    for kind, part in OF_MACHINES.items():
        if kind in {"gpus", "job_paths"}:  # asked of NVML; of a job
            continue
        parts = found[kind] if isinstance(found[kind], list) else [found[kind]]
        written = {leaf for item in parts for leaf in item}
        declared = set(part.__annotations__)
        from_libraries = FROM_NVML | FROM_CUDA | COUNTED if kind == "driver" else set()
        assert written == declared - from_libraries, kind


def test_command_gives_the_same_without_what_names_the_specimen(
    machine: Path, tmp_path: Path
) -> None:
    out = tmp_path / "node.json"
    command = ("-m", "speccheck", "probe", "--sysroot", str(machine), "--out", str(out))
    subprocess.run((sys.executable, "-P", *command), check=True, timeout=60)
    result: dict[str, Any] = json.loads(out.read_text())
    expected = content(machine)
    assert result["cut_short"] == {}
    assert result["host"].pop("name").startswith("hashed:")
    assert result["host"] == {k: v for k, v in expected["host"].items() if k != "name"}
    for leaf in (FROM_NVML | FROM_CUDA) & result["driver"].keys():  # there are no GPUs
        assert result["driver"].pop(leaf)["status"] == "absent"
    for kind in ("pci_devices", "driver", "kernel_log", "kernel_events", "variables"):
        assert result[kind] == expected[kind], kind
    for secret in ("hidden", "9803:9b03:0012:3456", "00:00:10:49:fe:80"):
        assert secret not in out.read_text()
