"""Snapshots of machines that are well: one of each instance type of the catalogue.

They hold every leaf that a probe writes, as such a machine shows it, with the traps for
a hasty rule, and absences where the type has nothing to show. What a profile knows is
taken from it; the rest is plausible and the same everywhere.
"""

from typing import Any

from speccheck.validator.simulation.machine_parts import (
    healthy_gpu,
    network,
    pci_devices,
)
from speccheck.validator.simulation.shape import (
    ABSENT,
    DRIVER,
    GIB,
    NCCL,
    NOT_SUPPORTED,
    Leaves,
    Shape,
    gpu_address,
    shape_of,
)

SCHEMA = "speccheck-snapshot/1"
Snapshot = dict[str, Any]


def healthy_node(name: str) -> Snapshot:
    """Return a snapshot of a machine of that type with nothing wrong."""
    shape = shape_of(name)
    return {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": "0"},
        "taken": "2026-11-21T18:00:00Z",
        "seconds": 0.4,
        "cut_short": {},
        "host": _host(shape),
        "driver": _driver(shape),
        "kernel_log": {"lines": 4200, "first_seconds": 0.0, "last_seconds": 90_000.5},
        "gpus": [healthy_gpu(shape, number) for number in range(shape.gpus)],
        "pci_devices": pci_devices(shape),
        **network(shape.instance),
        "variables": [
            {"name": "NCCL_DEBUG", "value": "WARN", "layer": "environment"},
        ],
        "kernel_events": [_application_fault(shape)],
        "job_paths": [
            _job_path("/shared/checkpoints", "checkpoint", is_empty=True),
            _job_path("/shared/data", "data", is_empty=False),
        ],
        "sources": {},
    }


def _job_path(name: str, role: str, *, is_empty: bool) -> Leaves:
    """Return a folder of a job on a file system that all nodes share."""
    return {
        "name": name,
        "role": role,
        "exists": True,
        "is_folder": True,
        "is_empty": is_empty,
        "nearest_folder": name,
        "file_system": "lustre",
        "mount_point": "/shared",
        "is_read_only": False,
        "total_bytes": 100 * 10**12,
        "free_bytes": 60 * 10**12,
        "is_writable": True,
        "is_readable": True,
    }


def _application_fault(shape: Shape) -> Leaves:
    """Return an Xid that a faulty program leaves: the machine is well."""
    return {
        "event": "xid",
        "code": 31,
        "pci_address": gpu_address(shape.gpus - 1),
        "device": ABSENT,
        "count": 1,
        "first_seconds": 4000.5,
        "last_seconds": 4000.5,
        "text": "Xid (PCI:0000:10:00): 31, pid=4242, name=python, MMU Fault",
        "is_fatal": False,
        "is_of_application": True,
    }


def _host(shape: Shape) -> Leaves:
    row, name = shape.instance, shape.name
    is_virtual = row.get("is_virtual", False)
    processors = row.get("processors", 192)
    memory = row.get("memory_total_bytes", 1024 * GIB)
    return {
        "vendor": "Amazon EC2" if name.startswith("aws-") else "Maker",
        "product": "GPU server",
        "board": "X13",
        "instance_type": name,
        "kernel_release": "6.8.0-1024",
        "architecture": "aarch64" if shape.is_superchip else "x86_64",
        "operating_system": "Ubuntu 22.04.5 LTS",
        "virtualisation": "kvm" if is_virtual else "none",
        "container": "none",
        "name": "node-17",
        "processor_model": row.get("processor_model", "Processor"),
        "sockets": row.get("sockets", 2),
        "cores": row.get("cores", processors // 2),
        "processors": processors,
        "processors_allowed": f"0-{processors - 1}",
        "numa_nodes": 2,
        "processor_mhz": 3200.5,
        "processor_base_mhz": ABSENT if is_virtual else 2000.0,
        "governors": ABSENT if is_virtual else ["performance"],
        "memory_total_bytes": memory,
        "memory_available_bytes": memory * 9 // 10,
        "memory_limit_bytes": ABSENT if is_virtual else memory,
        "swap_total_bytes": 0,
        # The installer of EFA reserves them.
        "hugepages": 5128 if row.get("network_kind") == "efa" else 0,
        "hugepage_bytes": 2 * 2**20,
        "transparent_hugepages": "madvise",
        "free_large_blocks": [900, 40_000],
        "numa_balancing": 0,
        "memory_errors_uncorrected": ABSENT if is_virtual else 0,
        "locked_memory_bytes": -1,
        "open_files": 1_048_576,
        "process_limit": -1,
        "shared_memory_bytes": memory // 2,
        "shared_memory_free_bytes": memory // 2,
        "clock_source": "tsc",
        "clock_is_synchronised": True,
        "clock_offset_milliseconds": 0.02,
        "uptime_seconds": 90_001.0,
        "load_one_minute": 0.4,
        "stuck_processes": 0,
        "zombie_processes": 0,
        "root_used_share": 0.3,
        "kernel_arguments": ["ro", "quiet", "iommu=pt"],
        "iommu_units": 0 if is_virtual else 8,
        "degraded_arrays": [],
        "slurm_daemon_is_running": True,
        "kubelet_is_running": False,
        "services_installed": ["slurmd", "nv-hostengine"],
    }


def _driver(shape: Shape) -> Leaves:
    is_managed = shape.has_switches and not shape.is_superchip
    network = shape.instance.get("network_kind")
    return {
        "version": DRIVER,
        "kernel_module_version": DRIVER,
        "kernel_module_is_open": True,
        "management_library_version": f"12.{DRIVER}",
        "management_library_status": 0,
        "longest_answer_seconds": 0.0,
        "cuda_version": "12.8",
        "cuda_compatibility_is_installed": False,
        "cuda_start_status": 0,
        # DOCA brings the library to adapters of Ethernet, whether MRC is used or not.
        "mrc_api_version": "1.0.1" if network == "roce" else ABSENT,
        "device_nodes": [
            *(f"nvidia{number}" for number in range(shape.gpus)),
            "nvidiactl",
            "nvidia-uvm",
            *(["aperture_devices"] if network == "tcpxo" else []),
        ],
        "device_nodes_denied": [],
        "confidential_computing_is_on": False,
        "nvlink_bandwidth_mode": 0 if shape.is_registered else NOT_SUPPORTED,
        "fabric_manager_version": DRIVER if is_managed else ABSENT,
        "fabric_manager_is_running": True if is_managed else ABSENT,
        "imex_is_running": True if shape.is_superchip else ABSENT,
        "imex_channels": 1 if shape.is_superchip else ABSENT,
        "persistence_daemon_is_running": True,
        "host_engine_is_running": True,
        "modules": _modules(shape),
        "ofed_version": "OFED-internal-24.10-1.1.4",
        "peer_memory_is_registered": True,
        "dma_buf_is_exported": True,
        "libraries": [
            *(["libfabric.so.1"] if network == "efa" else []),
            "libcuda.so.1",
            "libnvidia-ml.so.1",
            "libnccl.so.2",
        ],
        "libraries_empty": [],
        "nccl_version": NCCL,
        "nccl_versions": [NCCL],
        "nccl_plugins": ["libnccl-net.so"],
        "nccl_plugin_releases": [None],
        "topology_file": "/opt/topo.xml",
        "mpi_programs": ["mpirun"],
        "topology_file_addresses": [gpu_address(n) for n in range(shape.gpus)],
    }


def _modules(shape: Shape) -> list[str]:
    modules = ["nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_peermem"]
    driver = shape.instance.get("network_driver")
    if driver == "mlx5_core":
        modules += ["mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs", "ib_umad"]
    elif driver == "efa":
        modules += ["efa", "ib_core", "ib_uverbs"]
    return modules
