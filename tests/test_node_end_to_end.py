"""From what a management library answers to what is to be done with which GPU."""

import pytest

from judged_nodes import findings
from nvml_stand_in import StandIn

Found = set[tuple[str, str | None, str | None]]

LOST: Found = {("gpu_needs_recovery", "GPU 3", "REBOOT")}
GPU = "gpu.3"

FAULTS: dict[str, tuple[tuple[str, ...], Found]] = {
    "GPU lost from the start": ((f"{GPU}.lost_after=0",), LOST),
    "GPU lost on the way": ((f"{GPU}.lost_after=30",), LOST),
    "reset required": (
        (f"{GPU}.nvmlDeviceGetPowerUsage.code=16",),
        {("gpu_needs_recovery", "GPU 3", "RESET_GPU")},
    ),
    "the driver asks for a reset": (
        (f"{GPU}.field.230=1",),
        {("gpu_needs_recovery", "GPU 3", "RESET_GPU")},
    ),
    "row waits for a reset": (
        (f"{GPU}.remap_pending=1",),
        {("memory_fault_pending", "GPU 3", "RESET_GPU")},
    ),
    "row could not be replaced": (
        (f"{GPU}.remap_failed=1",),
        {("memory_fault_pending", "GPU 3", "ISOLATE")},
    ),
    "uncorrectable errors": (
        (f"{GPU}.ecc_uncorrected_volatile=2",),
        {("memory_fault_pending", "GPU 3", "RESET_GPU")},
    ),
    "spare rows used up": (
        (f"{GPU}.banks_none=1", f"{GPU}.banks_maximal=2559"),
        {("memory_wearing_out", "GPU 3", "ISOLATE")},
    ),
    "corrupted InfoROM": (
        (f"{GPU}.nvmlDeviceValidateInforom.code=14",),
        {("memory_beyond_repair", "GPU 3", "ISOLATE")},
    ),
    "error correction off": (
        (f"{GPU}.ecc=0", f"{GPU}.ecc_pending=0"),
        {("error_correction_off", "GPU 3", "FIX_CONFIG")},
    ),
    "partitioned": (
        (f"{GPU}.mig=1", f"{GPU}.mig_pending=1"),
        {("gpu_partitioned", "GPU 3", "FIX_CONFIG")},
    ),
    "power brake": (
        (f"{GPU}.clock_reasons=128",),
        {("power_brake_active", "GPU 3", "ISOLATE")},
    ),
    "thermal slowdown": (
        (f"{GPU}.clock_reasons=64",),
        {("slowed_by_hardware", "GPU 3", "ISOLATE")},
    ),
    "hot": (
        (f"{GPU}.temperature=86", f"{GPU}.margin_celsius=1"),
        {("gpu_too_hot", "GPU 3", "MONITOR"), ("unlike_its_peers", "GPU 3", "MONITOR")},
    ),
    "power limit lowered": (
        (f"{GPU}.power_limit_milliwatts=400000",),
        {("power_limited", "GPU 3", "FIX_CONFIG")},
    ),
    "exclusive mode": (
        (f"{GPU}.compute_mode=3",),
        {("mode_unfit_for_training", "GPU 3", "FIX_CONFIG")},
    ),
    "memory of no process": (
        (f"{GPU}.memory_used_bytes=9000000000",),
        {("memory_held_while_idle", "GPU 3", "RESET_GPU")},
    ),
    "one GPU of another model": (
        (f"{GPU}.name=NVIDIA A100-SXM4-80GB",),
        {("gpus_differ", "GPU 3", "FIX_CONFIG")},
    ),
    "one GPU with older firmware": (
        (f"{GPU}.vbios_version=96.00.30.00.01",),
        {("gpu_firmware_differs", "node", "SUPPORT")},
    ),
    "two GPUs of one identity": (
        (f"{GPU}.uuid=GPU-00000002-aaaa-bbbb-cccc-000000000002",),
        {("identity_repeated", "node", "MONITOR")},
    ),
    "link that is down": (
        (f"{GPU}.nvlink.7.active=0",),
        {("nvlink_down", "GPU 3", "RESET_GPU")},
    ),
    "link of another generation": (
        (f"{GPU}.nvlink.7.version=2",),
        {("nvlink_of_other_generation", "GPU 3", "MONITOR")},
    ),
    "fabric that is still being joined": (
        (f"{GPU}.fabric_state=2",),
        {("fabric_not_registered", "GPU 3", "RESET_GPU")},
    ),
    "fabric that refused": (
        (f"{GPU}.fabric_status=999",),
        {("fabric_not_registered", "GPU 3", "RESET_GPU")},
    ),
    "peer out of reach": (
        (f"{GPU}.peer_nvlink=5",),
        {("gpus_apart", "GPU 3", "ISOLATE")},
    ),
    "PCIe link of fewer lanes": (
        (f"{GPU}.pcie_width=8",),
        {("gpu_link_below_slot", "GPU 3", "ISOLATE")},
    ),
    "slower board": (
        (f"{GPU}.sm_clock_maximum=1755",),
        {("maximum_clocks_differ", "GPU 3", "FIX_CONFIG")},
    ),
    "less memory": (
        (f"{GPU}.memory_bytes=75161927680",),
        {("gpus_differ", "GPU 3", "ISOLATE")},
    ),
    "NVLink bandwidth reduced": (
        ("system.nvlink_bandwidth_mode=3",),
        {("peers_slowed_by_setting", "node", "FIX_CONFIG")},
    ),
}


def failures(stand_in: StandIn, *lines: str) -> Found:
    """Return what fails of a node whose library answers so, at any level."""
    taken = {**stand_in.snapshot(*lines), "host": {"container": "none"}}
    return {
        (finding.rule, finding.subject, finding.action)
        for finding in findings(taken)
        if finding.outcome in {"fail", "error"}
    }


def test_nothing_fails_where_all_gpus_are_well(stand_in: StandIn) -> None:
    assert failures(stand_in) == set()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_with_what_to_do_and_nothing_else(
    stand_in: StandIn, fault: str
) -> None:
    lines, expected = FAULTS[fault]
    assert failures(stand_in, *lines) == expected
