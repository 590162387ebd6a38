"""Faults of GPUs and of their memory."""

from speccheck.validator.simulation.changes import (
    Change,
    Snapshot,
    all_gpus_with,
    fallen_off_the_bus,
    gpu_gone,
    hot,
    slowed_since_start,
    unknown_hardware,
    xid_logged,
)
from speccheck.validator.simulation.fault import Fault, fixed, of_gpu
from speccheck.validator.simulation.measurements import slow_down


def _capped(watts: float) -> Change:
    return all_gpus_with(power_limit_watts=watts)


def _other_bios(version: str) -> Change:
    return all_gpus_with(vbios_version=version)


def _slow(share_left: float, gpu: int | None = None) -> Change:
    def change(node: Snapshot) -> None:
        slow_down(node, share_left, gpu)

    return change


FAULTS: dict[str, Fault] = {
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
