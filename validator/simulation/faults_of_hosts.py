"""Faults of the host, of its software, and of the variables that jobs find there."""

from speccheck.validator.simulation.changes import (
    LIBRARIES,
    Change,
    Snapshot,
    memory_error,
    of_other_release,
    part_with,
    reduction_without_plugin,
    topology_file_of_others,
    unregistered_module,
    variable_set,
    without_aperture_devices,
)
from speccheck.validator.simulation.fault import Fault, fixed


def _clock(milliseconds: float) -> Change:
    return part_with("host", clock_offset_milliseconds=milliseconds)


def _governor(value: str) -> Change:
    return part_with("host", governors=[value])


def _less_memory(share_left: float) -> Change:
    def change(node: Snapshot) -> None:
        host = node["host"]
        for leaf in ("memory_total_bytes", "memory_available_bytes"):
            host[leaf] = int(host[leaf] * share_left)

    return change


def _other_nccl(version: str) -> Change:
    return part_with("driver", nccl_version=version, nccl_versions=[version])


def _other_kernel(version: str) -> Change:
    return part_with("host", kernel_release=version)


FAULTS: dict[str, Fault] = {
    "memory_short": Fault(
        "a memory module is lost; of types whose memory the edition knows, "
        "host_part_missing finds it by itself",
        _less_memory,
        values={"share_left": 0.875},
        is_fleet=True,
    ),
    "memory_error": fixed(
        memory_error, "a memory error in the log", "hardware_error_logged"
    ),
    "governor": Fault(
        "processors that save power",
        _governor,
        ("kernel_setting_slows",),
        {"value": "powersave"},
    ),
    "clock_offset": Fault(
        "a clock that is off", _clock, ("clock_off",), {"milliseconds": 250.0}
    ),
    "clock_adrift": fixed(
        part_with("host", clock_is_synchronised=False),
        "no time service keeps the clock",
        "clock_off",
    ),
    "processors_far": fixed(
        part_with("host", processors_allowed="0-7"),
        "a process that may use few processors",
        "processors_far_from_gpu",
    ),
    "locked_memory": fixed(
        part_with("host", locked_memory_bytes=65536),
        "a limit on locked memory",
        "locked_memory_limited",
    ),
    "shared_memory": fixed(
        part_with("host", shared_memory_bytes=64 * 2**20),
        "a small /dev/shm",
        "shared_memory_below_share",
    ),
    "stuck_processes": fixed(
        part_with("host", stuck_processes=12),
        "processes that the kernel holds",
        "kernel_in_trouble",
    ),
    "disk_full": fixed(
        part_with("host", root_used_share=0.99), "a full disk", "root_disk_full"
    ),
    "slurm_daemon_down": fixed(
        part_with("host", slurm_daemon_is_running=False),
        "slurmd does not run",
        "service_not_running",
    ),
    "driver_library": fixed(
        part_with("driver", version="550.54.15"),
        "a driver's library of another release than its module",
        *("driver_and_library_differ", "gpu_firmware_differs"),
    ),
    "driver_hangs": fixed(
        part_with("driver", longest_answer_seconds=9.0),
        "a driver that takes long to answer",
        "management_library_stuck",
    ),
    "cuda_not_ready": fixed(
        part_with("driver", cuda_start_status=802),
        "CUDA does not start",
        "cuda_does_not_start",
    ),
    "container_cuda": fixed(
        variable_set("CUDA_VERSION", "13.0.1"),
        "a container whose CUDA is beyond the driver",
        "container_cuda_beyond_driver",
    ),
    "libfabric_missing": fixed(
        part_with("driver", libraries=LIBRARIES),
        "EFA without libfabric",
        "libfabric_missing",
        instance="aws-p5",
    ),
    "aperture_devices": fixed(
        without_aperture_devices,
        "devices that TCPXO needs are missing",
        "aperture_devices_missing",
        instance="gcp-a3-mega",
    ),
    "peer_memory_module": fixed(
        unregistered_module,
        "a module for peer memory that NCCL does not find",
        "nccl_too_old_for_peer_memory",
    ),
    "reduction_without_plugin": fixed(
        reduction_without_plugin,
        "reduction in the network without its plugin",
        "in_network_reduction_without_plugin",
    ),
    "topology_file": fixed(
        topology_file_of_others,
        "a topology file of another machine",
        "topology_file_of_other_machine",
    ),
    "topology_file_of_other_type": fixed(
        variable_set("NCCL_TOPO_FILE", "/opt/microsoft/ndv4-topo.xml"),
        "a topology file of another type of machine",
        "value_known_to_hurt",
        instance="azure-nd96isr-h100-v5",
    ),
    "variable": Fault(
        "a variable set on the node; the rule is that of the interface that is not "
        "there",
        variable_set,
        ("bootstrap_interface_unusable",),
        {"name": "NCCL_SOCKET_IFNAME", "value": "bond7"},
    ),
    "adapter_list": Fault(
        "NCCL_IB_HCA names adapters that are not there",
        variable_set,
        ("adapter_list_misses_ports",),
        {"name": "NCCL_IB_HCA", "value": "mlx5_20,mlx5_21"},
    ),
    "gid_index": fixed(
        variable_set("NCCL_IB_GID_INDEX", "9"),
        "a GID that is not there",
        "gid_not_routable",
        instance="oci-h100-8",
    ),
    "traffic_class": fixed(
        variable_set("NCCL_IB_TC", "0"),
        "another traffic class than the provider's",
        "setting_unlike_provider",
        instance="oci-h100-8",
    ),
    "visible_devices": fixed(
        variable_set("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7,8"),
        "more GPUs visible than there are",
        "visible_device_missing",
    ),
    "nvls_off": fixed(
        variable_set("NCCL_NVLS_ENABLE", "0"), "reduction in NVSwitches is off"
    ),
    "algorithm_pinned": fixed(
        variable_set("NCCL_ALGO", "Ring"),
        "an algorithm of NCCL is pinned on the node",
        "setting_left_on_node",
    ),
    "cuda_diagnosis": fixed(
        variable_set("CUDA_DEVICE_WAITS_ON_EXCEPTION", "1"),
        "a diagnosis of CUDA was left on",
        "cuda_diagnosis_left_on",
    ),
    "driver_drift": Fault(
        "another release of the driver than on the other nodes, sound by itself",
        of_other_release,
        values={"version": "570.124.06"},
        is_fleet=True,
    ),
    "nccl_drift": Fault(
        "another release of NCCL than on the other nodes",
        _other_nccl,
        values={"version": "2.26.2"},
        is_fleet=True,
    ),
    "kernel_drift": Fault(
        "another kernel than on the other nodes",
        _other_kernel,
        values={"version": "6.8.0-1018"},
        is_fleet=True,
    ),
    "environment_drift": Fault(
        "a variable that the other nodes do not set, sound by itself",
        variable_set,
        values={"name": "NCCL_BUFFSIZE", "value": "8388608"},
        is_fleet=True,
    ),
}
