"""Single faults of a machine, and the rules that find them."""

from copy import deepcopy
from typing import NamedTuple

from healthy_nodes import healthy_node
from node_changes import (
    LIBRARIES,
    Change,
    Snapshot,
    adapter_gone,
    all_gpus_with,
    all_pci_with,
    bus_error,
    fallen_off_the_bus,
    flapping,
    gpu_gone,
    gpu_with,
    imex_down,
    interface_with,
    link_down,
    link_with,
    memory_error,
    part_with,
    pci_of_class_with,
    pci_with,
    peer_out_of_reach,
    port_with,
    reduction_without_plugin,
    switch_fault,
    switch_gone,
    switches_out_of_reach,
    topology_file_of_others,
    unknown_hardware,
    unregistered_module,
    variable_set,
    without_aperture_devices,
    without_module,
)


class Fault(NamedTuple):
    """One thing that is wrong with a machine of a type."""

    instance: str
    change: Change

    def snapshot(self) -> Snapshot:
        """A machine with nothing else wrong."""
        found = deepcopy(healthy_node(self.instance))
        self.change(found)
        return found


FAULTS: dict[str, Fault] = {
    "GPU missing": Fault("dgx-h100", gpu_gone),
    "GPU lost": Fault("dgx-h100", gpu_with(3, is_lost=True)),
    "reset required": Fault("dgx-h100", gpu_with(3, needs_reset=True)),
    "recovery action": Fault("dgx-h200", gpu_with(3, recovery_action=2)),
    "other GPU": Fault("dgx-h100", gpu_with(2, name="NVIDIA H100 PCIe")),
    "less memory": Fault("dgx-h100", gpu_with(2, memory_total_bytes=70 * 2**30)),
    "17 of 18 links": Fault("dgx-h100", link_down),
    "GPU in generation 4": Fault("dgx-h100", gpu_with(1, pcie_generation_maximum=4)),
    "GPU at eight lanes": Fault("dgx-h100", gpu_with(1, pcie_width=8)),
    "adapter at eight lanes": Fault("dgx-h100", pci_with("0000:a3:00.0", width=8)),
    "switch at four lanes": Fault("dgx-h100", pci_with("0000:09:00.0", width=4)),
    "drive at one lane": Fault("oci-h100-8", pci_of_class_with("0x010802", width=1)),
    "access redirected": Fault("dgx-h100", pci_with("0000:0a:00.0", acs_control=0x1D)),
    "addresses translated": Fault("dgx-h100", all_pci_with(iommu_domain="DMA-FQ")),
    "GPU in another slot": Fault(
        "dgx-h100", pci_with("0000:10:00.0", ancestors=["0000:fe:01.0"])
    ),
    "no NUMA node": Fault("dgx-h100", pci_with("0000:10:00.0", numa_node=-1)),
    "foreign CPU set": Fault("dgx-h100", part_with("host", processors_allowed="0-7")),
    "NVSwitch missing": Fault("dgx-h100", switch_gone),
    "no NVLink to a peer": Fault("dgx-h100", peer_out_of_reach),
    "peers refused": Fault("aws-g5-12xlarge", all_gpus_with(peer_read_status=[4] * 4)),
    "boards of a slower bin": Fault(
        "dgx-h100", all_gpus_with(sm_clock_maximum_mhz=1755)
    ),
    "small window": Fault("dgx-h100", gpu_with(3, bar1_total_bytes=2**28)),
    "fatal PCIe error": Fault("dgx-h100", gpu_with(3, pcie_fatal_errors=1)),
    "uncorrected PCIe error": Fault(
        "dgx-h100", pci_with("0000:a3:00.0", non_fatal_errors=12)
    ),
    "PCIe error logged": Fault("dgx-h100", bus_error),
    "library that hangs": Fault(
        "dgx-h100", part_with("driver", longest_answer_seconds=9.0)
    ),
    "row to remap": Fault("dgx-h100", gpu_with(0, remap_is_pending=True)),
    "row not remapped": Fault("dgx-h100", gpu_with(0, remap_has_failed=True)),
    "uncorrected errors": Fault("dgx-h100", gpu_with(0, ecc_uncorrected_volatile=2)),
    "error correction off": Fault("dgx-h100", gpu_with(6, ecc_is_on=False)),
    "partitioned": Fault("dgx-h100", gpu_with(6, mig_is_on=True)),
    "power brake": Fault("dgx-h100", gpu_with(4, clock_event_reasons=0x80)),
    "thermal slowdown": Fault("dgx-h100", gpu_with(4, clock_event_reasons=0x40)),
    "slowed for hours": Fault(
        "dgx-h100", gpu_with(4, thermal_slowdown_nanoseconds=9 * 10**12)
    ),
    "limited power": Fault("dgx-h100", gpu_with(4, power_limit_watts=400.0)),
    "stray process": Fault(
        "dgx-h100", gpu_with(4, compute_processes=1, memory_used_bytes=2**33)
    ),
    "exclusive mode": Fault("dgx-h100", all_gpus_with(compute_mode=3)),
    "no persistence": Fault("dgx-h100", all_gpus_with(persistence_is_on=False)),
    "registering for ever": Fault("dgx-h100", gpu_with(7, fabric_state=2)),
    "registration failed": Fault("dgx-h100", gpu_with(7, fabric_status=999)),
    "degraded fabric": Fault("dgx-gb200", gpu_with(1, fabric_health_mask=1)),
    "other clique": Fault("dgx-gb200", gpu_with(1, fabric_clique=4)),
    "slow link": Fault(
        "dgx-h100", link_with(4, 3, nvlink_speed_mbyte_per_second=13_281)
    ),
    "link of NVLink 2": Fault("dgx-h100", link_with(4, 3, nvlink_version=2)),
    "link to a GPU": Fault("dgx-h100", link_with(4, 3, nvlink_remote_type=0)),
    "recovered link": Fault("dgx-h100", link_with(4, 3, nvlink_recoveries=4)),
    "recovery that failed": Fault(
        "dgx-gb200", link_with(2, 3, nvlink_failed_recoveries=1)
    ),
    "bit errors": Fault(
        "dgx-gb200", link_with(2, 3, nvlink_effective_bit_errors=0x309)
    ),
    "errors of a link": Fault(
        "dgx-h100", link_with(4, 3, nvlink_crc_flit_errors=90_000_000)
    ),
    "reduced links": Fault("dgx-b200", gpu_with(4, nvlink_bandwidth_mode=0x25)),
    "processor link down": Fault("dgx-gb200", link_with(2, 1, c2c_is_active=False)),
    "peer without NVLink": Fault("dgx-h100", link_with(4, 3, peer_nvlink_status=4)),
    "no cluster in a rack": Fault("dgx-gb200", all_gpus_with(fabric_cluster="0" * 32)),
    "no fabric in a rack": Fault(
        "dgx-gb200",
        all_gpus_with(fabric_state={"status": "not_supported", "source": "NVML"}),
    ),
    "no IMEX": Fault("oci-gb200-4", imex_down),
    "switches out of reach": Fault("dgx-b200", switches_out_of_reach),
    "rack switched off": Fault("dgx-gb200", variable_set("NCCL_MNNVL_ENABLE", "0")),
    "fabric manager down": Fault(
        "dgx-h100", part_with("driver", fabric_manager_is_running=False)
    ),
    "fabric manager of another release": Fault(
        "dgx-h100", part_with("driver", fabric_manager_version="550.54.15")
    ),
    "library of another release": Fault(
        "dgx-h100", part_with("driver", version="550.54.15")
    ),
    "no memory to the NIC": Fault("dgx-h100", without_module("nvidia_peermem")),
    "port polling": Fault(
        "dgx-h100", port_with(2, state="DOWN", physical_state="Polling")
    ),
    "port at a quarter": Fault("dgx-h100", port_with(2, rate_gbit_per_second=100.0)),
    "link that went down": Fault("dgx-h100", port_with(2, link_downed=7)),
    "no subnet manager": Fault("dgx-h100", port_with(2, subnet_manager_lid=0)),
    "adapter missing": Fault("oci-h100-8", adapter_gone),
    "HCA that is not there": Fault(
        "dgx-h100", variable_set("NCCL_IB_HCA", "mlx5_20,mlx5_21")
    ),
    "interface that is not there": Fault(
        "dgx-h100", variable_set("NCCL_SOCKET_IFNAME", "bond7")
    ),
    "GID that is not there": Fault(
        "oci-h100-8", variable_set("NCCL_IB_GID_INDEX", "9")
    ),
    "topology file of another type": Fault(
        "azure-nd96isr-h100-v5",
        variable_set("NCCL_TOPO_FILE", "/opt/microsoft/ndv4-topo.xml"),
    ),
    "topology file of others": Fault("dgx-h100", topology_file_of_others),
    "more visible than there are": Fault(
        "dgx-h100", variable_set("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7,8")
    ),
    "NVLS off": Fault("dgx-h100", variable_set("NCCL_NVLS_ENABLE", "0")),
    "Xid 79": Fault("dgx-h100", fallen_off_the_bus),
    "fatal SXid": Fault("dgx-h100", switch_fault),
    "little locked memory": Fault(
        "dgx-h100", part_with("host", locked_memory_bytes=65536)
    ),
    "small /dev/shm": Fault(
        "dgx-h100", part_with("host", shared_memory_bytes=64 * 2**20)
    ),
    "clock adrift": Fault("dgx-h100", part_with("host", clock_is_synchronised=False)),
    "stuck processes": Fault("dgx-h100", part_with("host", stuck_processes=12)),
    "full disk": Fault("dgx-h100", part_with("host", root_used_share=0.99)),
    "CUDA not ready": Fault("dgx-h100", part_with("driver", cuda_start_status=802)),
    "congestion not heeded": Fault(
        "oci-h100-8", interface_with(5, congestion_heeded_priorities=[])
    ),
    "no atomics": Fault("dgx-h100", gpu_with(2, pcie_atomics_to_gpu=0)),
    "boost switched off": Fault("aws-p3dn", gpu_with(2, auto_boost_is_on=False)),
    "type that nobody knows": Fault("dgx-h100", unknown_hardware),
    "CUDA beyond the driver": Fault("dgx-h100", variable_set("CUDA_VERSION", "13.0.1")),
    "diagnosis left on": Fault(
        "dgx-h100", variable_set("CUDA_DEVICE_WAITS_ON_EXCEPTION", "1")
    ),
    "algorithm pinned on the node": Fault(
        "dgx-h100", variable_set("NCCL_ALGO", "Ring")
    ),
    "other traffic class": Fault("oci-h100-8", variable_set("NCCL_IB_TC", "0")),
    "slurmd down": Fault("dgx-h100", part_with("host", slurm_daemon_is_running=False)),
    "memory error in the log": Fault("dgx-h100", memory_error),
    "no aperture devices": Fault("gcp-a3-mega", without_aperture_devices),
    "link that flaps": Fault("dgx-h100", flapping),
    "EFA that does not answer": Fault(
        "aws-p5", port_with(5, efa_commands_unanswered=12)
    ),
    "no libfabric": Fault("aws-p5", part_with("driver", libraries=LIBRARIES)),
    "reduction without a plugin": Fault("dgx-h100", reduction_without_plugin),
    "module that NCCL does not find": Fault("dgx-h100", unregistered_module),
}

# The rules that fail, at the level of a warning or an error, and no others do. Faults
# that no rule judges yet are not here.
FOUND_BY: dict[str, set[str]] = {
    "GPU missing": {"gpu_missing"},
    "GPU lost": {"gpu_needs_recovery"},
    "reset required": {"gpu_needs_recovery"},
    "recovery action": {"gpu_needs_recovery"},
    "other GPU": {"gpus_differ", "device_order_left_open"},
    "GPU in generation 4": {"gpu_link_below_slot"},
    "GPU at eight lanes": {"gpu_link_below_slot"},
    "adapter at eight lanes": {"adapter_link_below_slot"},
    "switch at four lanes": {"bridge_link_narrowed"},
    "drive at one lane": {"drive_link_below_slot"},
    "access redirected": {"peers_redirected"},
    "addresses translated": {"devices_translated"},
    "GPU in another slot": {"gpu_far_from_adapter"},
    "no NUMA node": {"numa_node_unknown"},
    "foreign CPU set": {"processors_far_from_gpu"},
    "NVSwitch missing": {"nvswitch_missing"},
    "no NVLink to a peer": {"gpus_apart"},
    "peers refused": {"peer_access_missing"},
    "boards of a slower bin": {"slower_than_its_type"},
    "small window": {"bar1_too_small"},
    "fatal PCIe error": {"pcie_error_fatal"},
    "uncorrected PCIe error": {"pcie_error_uncorrected"},
    "PCIe error logged": {"bus_error_logged"},
    "library that hangs": {"management_library_stuck"},
    "less memory": {"gpus_differ"},
    "error correction off": {"error_correction_off"},
    "partitioned": {"gpu_partitioned"},
    "power brake": {"power_brake_active"},
    "thermal slowdown": {"slowed_by_hardware"},
    "slowed for hours": {"slowed_for_long"},
    "limited power": {"power_limited"},
    "exclusive mode": {"mode_unfit_for_training"},
    "no persistence": {"mode_unfit_for_training"},
    "library of another release": {"driver_and_library_differ", "gpu_firmware_differs"},
    "no memory to the NIC": {"gpudirect_rdma_missing"},
    "port polling": {"rail_missing"},
    "port at a quarter": {"rail_missing"},
    "no subnet manager": {"port_without_subnet_manager"},
    "adapter missing": {"rail_missing"},
    "HCA that is not there": {"adapter_list_misses_ports"},
    "interface that is not there": {"bootstrap_interface_unusable"},
    "GID that is not there": {"gid_not_routable"},
    "little locked memory": {"locked_memory_limited"},
    "small /dev/shm": {"shared_memory_below_share"},
    "clock adrift": {"clock_off"},
    "stuck processes": {"kernel_in_trouble"},
    "full disk": {"root_disk_full"},
    "row to remap": {"memory_fault_pending"},
    "row not remapped": {"memory_fault_pending"},
    "uncorrected errors": {"memory_fault_pending"},
    "topology file of another type": {"value_known_to_hurt"},
    "topology file of others": {"topology_file_of_other_machine"},
    "more visible than there are": {"visible_device_missing"},
    "Xid 79": {"gpu_needs_recovery", "fatal_xid"},
    "fatal SXid": {"switch_error_logged"},
    "17 of 18 links": {"nvlink_down"},
    "slow link": {"nvlink_slow"},
    "link of NVLink 2": {"nvlink_of_other_generation"},
    "link to a GPU": {"nvlink_wired_otherwise"},
    "recovered link": {"nvlink_recovered"},
    "recovery that failed": {"nvlink_recovery_failed"},
    "bit errors": {"nvlink_bit_errors"},
    "errors of a link": {"nvlink_errors_run_high"},
    "reduced links": {"nvlink_bandwidth_reduced"},
    "processor link down": {"c2c_down"},
    "peer without NVLink": {"gpus_apart"},
    "registering for ever": {"fabric_not_registered"},
    "registration failed": {"fabric_not_registered"},
    "no fabric in a rack": {"fabric_not_registered"},
    "degraded fabric": {"fabric_unhealthy"},
    "other clique": {"fabric_split"},
    "no cluster in a rack": {"fabric_split"},
    "fabric manager down": {"fabric_manager_down"},
    "fabric manager of another release": {"fabric_manager_of_other_release"},
    "switches out of reach": {"switch_modules_missing", "fabric_not_registered"},
    "no IMEX": {"imex_down"},
    "rack switched off": {"rack_switched_off"},
    "CUDA beyond the driver": {"container_cuda_beyond_driver"},
    "diagnosis left on": {"cuda_diagnosis_left_on"},
    "algorithm pinned on the node": {"setting_left_on_node"},
    "other traffic class": {"setting_unlike_provider"},
    "slurmd down": {"service_not_running"},
    "memory error in the log": {"hardware_error_logged"},
    "no aperture devices": {"aperture_devices_missing"},
    "link that flaps": {"link_comes_and_goes"},
    "EFA that does not answer": {"efa_commands_unanswered"},
    "no libfabric": {"libfabric_missing"},
    "reduction without a plugin": {"in_network_reduction_without_plugin"},
    "module that NCCL does not find": {"nccl_too_old_for_peer_memory"},
    "CUDA not ready": {"cuda_does_not_start"},
    "congestion not heeded": {"congestion_marks_ignored"},
}
