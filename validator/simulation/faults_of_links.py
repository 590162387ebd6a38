"""Faults of NVLink, of its switches, and of the buses of the machine."""

from speccheck.validator.simulation.changes import (
    all_gpus_with,
    all_pci_with,
    bus_error,
    imex_down,
    link_down,
    link_errors,
    part_with,
    pci_of_class_with,
    pci_with,
    peer_lost,
    peer_out_of_reach,
    peers_refused,
    switch_fault,
    switch_gone,
    switches_out_of_reach,
    variable_set,
)
from speccheck.validator.simulation.fault import Fault, fixed, of_gpu, of_link

_RACK = "dgx-gb200"

FAULTS: dict[str, Fault] = {
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
