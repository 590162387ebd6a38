"""The one table of faults: plans name them, tests plant each of them."""

from speccheck.validator.simulation.fault import (
    LIBRARIES,
    Change,
    Delivery,
    Fault,
    Snapshot,
    adapter_gone,
    adapters_exchanged,
    all_adapters_with,
    all_gpus_with,
    all_pci_with,
    bus_error,
    earlier,
    fallen_off_the_bus,
    fixed,
    flapping,
    gpu_gone,
    hot,
    imex_down,
    interface_with,
    link_down,
    link_errors,
    memory_error,
    of_gpu,
    of_link,
    of_other_release,
    of_port,
    of_version,
    part_with,
    pci_of_class_with,
    pci_with,
    peer_lost,
    peer_out_of_reach,
    peers_refused,
    port_with,
    reduction_without_plugin,
    slowed_since_start,
    switch_fault,
    switch_gone,
    switches_out_of_reach,
    topology_file_of_others,
    unchanged,
    unknown_hardware,
    unregistered_module,
    variable_set,
    without_aperture_devices,
    without_module,
    xid_logged,
)
from speccheck.validator.simulation.measurements import slow_down


def _delivered(delivery: Delivery, text: str) -> Fault:
    return Fault(text, lambda: unchanged, is_fleet=True, delivery=delivery)


def _stale(hours: float) -> Change:
    return earlier(hours)


def _newer(version: int) -> Change:
    return of_version(version)


COLLECTION_FAULTS: dict[str, Fault] = {
    "missing": _delivered("missing", "no snapshot came"),
    "damaged": _delivered("damaged", "a snapshot that breaks off"),
    "empty": _delivered("empty", "an empty file, or an empty line"),
    "twice": _delivered("twice", "two snapshots of one host, 90 s apart"),
    "killed_rank": _delivered(
        "killed", "killed while it wrote: part of a temporary file is left"
    ),
    "stale": Fault(
        "a snapshot of days before", _stale, values={"hours": 49.0}, is_fleet=True
    ),
    "newer_version": Fault(
        "a snapshot of a later version", _newer, values={"version": 2}, is_fleet=True
    ),
}


def _capped(watts: float) -> Change:
    return all_gpus_with(power_limit_watts=watts)


def _other_bios(version: str) -> Change:
    return all_gpus_with(vbios_version=version)


def _slow(share_left: float, gpu: int | None = None) -> Change:
    def change(node: Snapshot) -> None:
        slow_down(node, share_left, gpu)

    return change


GPU_FAULTS: dict[str, Fault] = {
    "gpu_missing": fixed(gpu_gone, "one GPU less than its type has", "gpu_missing"),
    "gpu_lost": of_gpu(
        3, "the driver has lost a GPU", "gpu_needs_recovery", is_lost=True
    ),
    "gpu_off_the_bus": fixed(
        fallen_off_the_bus,
        "GPU 3 has fallen off the bus, with Xid 79 in the log",
        "gpu_needs_recovery",
        "fatal_xid",
    ),
    "gpu_needs_reset": of_gpu(
        3, "a GPU needs a reset", "gpu_needs_recovery", needs_reset=True
    ),
    "gpu_recovery_action": of_gpu(
        3,
        "the driver asks for a reboot",
        "gpu_needs_recovery",
        instance="dgx-h200",
        recovery_action=2,
    ),
    "gpu_of_other_model": of_gpu(
        2,
        "a GPU of another model",
        *("gpus_differ", "device_order_left_open"),
        name="NVIDIA H100 PCIe",
    ),
    "gpu_memory_less": of_gpu(
        2, "a GPU with less memory", "gpus_differ", memory_total_bytes=70 * 2**30
    ),
    "gpu_of_slower_bin": fixed(
        all_gpus_with(sm_clock_maximum_mhz=1755),
        "GPUs whose highest clock is below that of their type",
        "slower_than_its_type",
    ),
    "gpu_unknown": fixed(unknown_hardware, "GPUs that no catalogue knows"),
    "pcie_link_down_generation": of_gpu(
        1,
        "a GPU whose slot runs at PCIe generation 4",
        "gpu_link_below_slot",
        pcie_generation_maximum=4,
    ),
    "pcie_width": of_gpu(
        1, "a GPU on 8 lanes of 16", "gpu_link_below_slot", pcie_width=8
    ),
    "pcie_error_fatal": of_gpu(
        3, "a fatal PCIe error of a GPU", "pcie_error_fatal", pcie_fatal_errors=1
    ),
    "bar1_small": of_gpu(
        3,
        "a GPU whose window to the bus is small",
        "bar1_too_small",
        bar1_total_bytes=2**28,
    ),
    "row_remap_pending": of_gpu(
        0,
        "a row of GPU memory waits to be replaced",
        "memory_fault_pending",
        remap_is_pending=True,
    ),
    "row_remap_failed": of_gpu(
        0,
        "a row of GPU memory could not be replaced",
        "memory_fault_pending",
        remap_has_failed=True,
    ),
    "ecc_uncorrected": of_gpu(
        0,
        "uncorrected errors of GPU memory",
        "memory_fault_pending",
        ecc_uncorrected_volatile=2,
    ),
    "ecc_off": of_gpu(
        6, "error correction is off", "error_correction_off", ecc_is_on=False
    ),
    "mig_on": of_gpu(6, "a GPU is partitioned", "gpu_partitioned", mig_is_on=True),
    "xid": Fault(
        "an Xid in the kernel log; the rule is that of code 79",
        xid_logged,
        ("fatal_xid",),
        {"gpu": 3, "code": 79},
    ),
    "thermal": Fault(
        "a GPU that is too hot at rest",
        hot,
        ("gpu_too_hot",),
        {"gpu": 4, "celsius": 86},
    ),
    "thermal_slowdown": of_gpu(
        4,
        "heat slows a GPU down",
        "slowed_by_hardware",
        clock_event_reasons=0x40,
    ),
    "power_brake": of_gpu(
        4,
        "the power supply slows a GPU down",
        "power_brake_active",
        clock_event_reasons=0x80,
    ),
    "slowed_for_hours": Fault(
        "a GPU that heat has slowed for a tenth of its time",
        slowed_since_start,
        ("slowed_for_long",),
        {"gpu": 4},
    ),
    "gpu_power_cap": of_gpu(
        4, "a lowered power limit of one GPU", "power_limited", power_limit_watts=400.0
    ),
    "power_cap": Fault(
        "a lowered power limit of all GPUs",
        _capped,
        ("power_limited",),
        {"watts": 500.0},
    ),
    "stray_process": of_gpu(
        4,
        "a process is left on a GPU",
        compute_processes=1,
        memory_used_bytes=2**33,
    ),
    "compute_mode": fixed(
        all_gpus_with(compute_mode=3),
        "GPUs that take one process alone",
        "mode_unfit_for_training",
    ),
    "persistence_off": fixed(
        all_gpus_with(persistence_is_on=False),
        "the driver forgets GPUs that nobody uses",
        "mode_unfit_for_training",
    ),
    "auto_boost_off": of_gpu(
        2, "boost is switched off", instance="aws-p3dn", auto_boost_is_on=False
    ),
    "pcie_atomics_missing": of_gpu(
        2, "a GPU that takes no atomics over PCIe", pcie_atomics_to_gpu=0
    ),
    "slow_gpu": Fault(
        "one GPU measures less than the others of its node",
        _slow,
        ("copies_slower_than_peers", "product_slower_than_peers"),
        {"gpu": 4, "share_left": 0.9},
        is_measured=True,
    ),
    "straggler": Fault(
        "a node whose GPUs all measure less than those of other nodes",
        _slow,
        values={"share_left": 0.9},
        is_fleet=True,
        is_measured=True,
    ),
    "vbios_drift": Fault(
        "GPUs with another VBIOS than those of the other nodes",
        _other_bios,
        values={"version": "96.00.61.00.01"},
        is_fleet=True,
    ),
}


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


HOST_FAULTS: dict[str, Fault] = {
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
        values={"name": "NCCL_CROSS_NIC", "value": "2"},
        is_fleet=True,
    ),
}

_RACK = "dgx-gb200"

LINK_FAULTS: dict[str, Fault] = {
    "nvlink_down": Fault(
        "one NVLink of a GPU is down",
        link_down,
        ("nvlink_down",),
        {"gpu": 5, "link": 17},
    ),
    "nvlink_slow": of_link(
        (4, 3),
        "an NVLink at half its speed",
        "nvlink_slow",
        nvlink_speed_mbyte_per_second=13_281,
    ),
    "nvlink_of_other_generation": of_link(
        (4, 3),
        "an NVLink of another generation",
        "nvlink_of_other_generation",
        nvlink_version=2,
    ),
    "nvlink_to_a_gpu": of_link(
        (4, 3),
        "an NVLink that leads to a GPU in the place of a switch",
        "nvlink_wired_otherwise",
        nvlink_remote_type=0,
    ),
    "nvlink_recovered": of_link(
        (4, 3),
        "an NVLink that was lost and came back",
        "nvlink_recovered",
        nvlink_recoveries=4,
    ),
    "nvlink_recovery_failed": of_link(
        (2, 3),
        "an NVLink that could not be recovered",
        "nvlink_recovery_failed",
        instance=_RACK,
        nvlink_failed_recoveries=1,
    ),
    "nvlink_bit_errors": of_link(
        (2, 3),
        "an NVLink with many bit errors",
        "nvlink_bit_errors",
        instance=_RACK,
        nvlink_effective_bit_errors=0x309,
    ),
    "nvlink_errors": Fault(
        "an NVLink with many CRC errors",
        link_errors,
        ("nvlink_errors_run_high",),
        {"gpu": 4, "link": 3},
    ),
    "nvlink_reduced": of_gpu(
        4,
        "NVLinks at reduced bandwidth",
        "nvlink_bandwidth_reduced",
        instance="dgx-b200",
        nvlink_bandwidth_mode=0x25,
    ),
    "c2c_down": of_link(
        (2, 1),
        "a link between GPU and processor is down",
        "c2c_down",
        instance=_RACK,
        c2c_is_active=False,
    ),
    "peer_without_nvlink": Fault(
        "a GPU does not reach another one over NVLink, one way",
        peer_lost,
        ("gpus_apart",),
        {"gpu": 4},
    ),
    "peers_without_nvlink": Fault(
        "two GPUs do not reach each other over NVLink",
        peer_out_of_reach,
        ("gpus_apart",),
        {"gpu": 2},
    ),
    "peers_refused": fixed(
        peers_refused,
        "GPUs may not read each other's memory",
        "peer_access_missing",
        instance="aws-g5-12xlarge",
    ),
    "nvswitch_missing": fixed(
        switch_gone, "one NVSwitch less than the type has", "nvswitch_missing"
    ),
    "nvswitch_error": fixed(
        switch_fault, "a fatal SXid of an NVSwitch", "switch_error_logged"
    ),
    "nvswitches_out_of_reach": fixed(
        switches_out_of_reach,
        "the driver of InfiniBand, by which NVSwitches are reached, is not loaded",
        *("switch_modules_missing", "fabric_not_registered"),
        instance="dgx-b200",
    ),
    "fabric_registering": of_gpu(
        7,
        "a GPU that never ends registering",
        "fabric_not_registered",
        fabric_state=2,
    ),
    "fabric_registration_failed": of_gpu(
        7,
        "a GPU whose registration failed",
        "fabric_not_registered",
        fabric_status=999,
    ),
    "fabric_not_supported": fixed(
        all_gpus_with(fabric_state={"status": "not_supported", "source": "NVML"}),
        "GPUs of a rack that know of no fabric",
        "fabric_not_registered",
        instance=_RACK,
    ),
    "fabric_degraded": of_gpu(
        1,
        "a GPU whose fabric is degraded",
        "fabric_unhealthy",
        instance=_RACK,
        fabric_health_mask=1,
    ),
    "fabric_other_clique": of_gpu(
        1,
        "a GPU of another clique than the others",
        "fabric_split",
        instance=_RACK,
        fabric_clique=4,
    ),
    "fabric_no_cluster": fixed(
        all_gpus_with(fabric_cluster="0" * 32),
        "GPUs of a rack that are in no cluster",
        "fabric_split",
        instance=_RACK,
    ),
    "imex_down": fixed(
        imex_down, "IMEX does not run", "imex_down", instance="oci-gb200-4"
    ),
    "rack_switched_off": fixed(
        variable_set("NCCL_MNNVL_ENABLE", "0"),
        "NVLink between the nodes of a rack is switched off",
        "rack_switched_off",
        instance=_RACK,
    ),
    "fabric_manager_down": fixed(
        part_with("driver", fabric_manager_is_running=False),
        "the fabric manager does not run",
        "fabric_manager_down",
    ),
    "fabric_manager_version": fixed(
        part_with("driver", fabric_manager_version="550.54.15"),
        "a fabric manager of another release than the driver",
        "fabric_manager_of_other_release",
    ),
    "adapter_pcie_width": fixed(
        pci_with("0000:a3:00.0", width=8),
        "an adapter on 8 lanes of 16",
        "adapter_link_below_slot",
    ),
    "bridge_pcie_width": fixed(
        pci_with("0000:09:00.0", width=4),
        "a PCIe switch on 4 lanes of 16",
        "bridge_link_narrowed",
    ),
    "drive_pcie_width": fixed(
        pci_of_class_with("0x010802", width=1),
        "a drive on one lane",
        "drive_link_below_slot",
        instance="oci-h100-8",
    ),
    "pcie_access_redirected": fixed(
        pci_with("0000:0a:00.0", acs_control=0x1D),
        "a PCIe switch sends traffic between peers through the processor",
        "peers_redirected",
    ),
    "iommu_translates": fixed(
        all_pci_with(iommu_domain="DMA-FQ"),
        "the IOMMU translates the addresses of devices",
        "devices_translated",
    ),
    "gpu_in_other_slot": fixed(
        pci_with("0000:10:00.0", ancestors=["0000:fe:01.0"]),
        "a GPU that shares no switch with its adapter",
        "gpu_far_from_adapter",
    ),
    "numa_node_unknown": fixed(
        pci_with("0000:10:00.0", numa_node=-1),
        "the firmware does not tell the half that a GPU belongs to",
        "numa_node_unknown",
    ),
    "pcie_error_uncorrected": fixed(
        pci_with("0000:a3:00.0", non_fatal_errors=12),
        "uncorrected PCIe errors of an adapter",
        "pcie_error_uncorrected",
    ),
    "pcie_error_logged": fixed(
        bus_error, "a fatal PCIe error in the log", "bus_error_logged"
    ),
}


def _port_down(port: int) -> Change:
    return port_with(port, state="DOWN", physical_state="Polling")


def _rate(port: int, gbit_per_second: float) -> Change:
    return port_with(port, rate_gbit_per_second=gbit_per_second)


def _mtu(port: int, bytes: int) -> Change:  # noqa: A002 - the name in plans
    return port_with(port, active_mtu_bytes=bytes)


def _other_firmware(version: str) -> Change:
    return all_adapters_with(firmware_version=version)


NETWORK_FAULTS: dict[str, Fault] = {
    "port_down": Fault(
        "a port that finds no peer", _port_down, ("rail_missing",), {"port": 2}
    ),
    "port_rate": Fault(
        "a port at a quarter of its rate",
        _rate,
        ("rail_missing",),
        {"port": 2, "gbit_per_second": 100.0},
    ),
    "port_without_subnet_manager": of_port(
        2,
        "a port that no subnet manager knows",
        "port_without_subnet_manager",
        subnet_manager_lid=0,
    ),
    "port_lost_its_link": of_port(
        2,
        "a port that has lost its link at some time",
        link_downed=7,
    ),
    "port_flaps": Fault(
        "a port whose link comes and goes",
        flapping,
        ("link_comes_and_goes",),
        {"port": 2},
    ),
    "mtu": Fault(
        "a port with small packets",
        _mtu,
        ("mtu_too_small",),
        {"port": 2, "bytes": 1024},
    ),
    "adapter_missing": fixed(
        adapter_gone, "one adapter less", "rail_missing", instance="oci-h100-8"
    ),
    "gpudirect_missing": fixed(
        without_module("nvidia_peermem"),
        "adapters that cannot read the memory of GPUs",
        "gpudirect_rdma_missing",
    ),
    "congestion_not_heeded": fixed(
        interface_with(5, congestion_heeded_priorities=[]),
        "an adapter that does not slow down in congestion",
        "congestion_marks_ignored",
        instance="oci-h100-8",
    ),
    "efa_does_not_answer": of_port(
        5,
        "an adapter of EFA that leaves commands unanswered",
        "efa_commands_unanswered",
        instance="aws-p5",
        efa_commands_unanswered=12,
    ),
    "firmware_drift": Fault(
        "adapters with other firmware than those of the other nodes",
        _other_firmware,
        values={"version": "28.39.1002"},
        is_fleet=True,
    ),
    "hca_order": fixed(
        adapters_exchanged, "two adapters with each other's name: crossed rails"
    )._replace(is_fleet=True),
}

# By what they are faults of, as the documentation has them.
AREAS: dict[str, dict[str, Fault]] = {
    "GPUs": GPU_FAULTS,
    "links and buses": LINK_FAULTS,
    "networks": NETWORK_FAULTS,
    "hosts": HOST_FAULTS,
    "the collection": COLLECTION_FAULTS,
}
FAULTS: dict[str, Fault] = {
    name: fault for area in AREAS.values() for name, fault in area.items()
}
