"""A GPU whose NVLink fabric works with a fault.

Why it hurts: bandwidth is reduced, or routes are being repaired under the job, which
sees a hang.

What passes: no fault and no wrong configuration in the health of the fabric, as far as
the driver tells of them.

Where it does not apply: GPUs without a fabric, and drivers that tell nothing of its
health.

Source: nvml.h, health mask and summary of nvmlGpuFabricInfo; leptonai/gpud;
NVIDIA/k8s-test-infra, captures (an H100 tells nothing, a GB200 all but one).

Bad::

    nvidia-smi -q    # Fabric: Health: Bandwidth: Degraded

Good::

    nvidia-smi -q    # Fabric: Health: Bandwidth: Full
"""

from speccheck.validator.evidence.node.fault_codes import (
    FABRIC_HEALTHY,
    FABRIC_UNHEALTHY,
    fabric_faults,
    fabric_misconfiguration,
    states_fabric_health,
)
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-112")
def fabric_unhealthy(gpu: Gpu) -> Verdicts:
    """Judge the faults of the mask, the configuration and the summary."""
    mask, summary = gpu.fabric_health_mask, gpu.fabric_health_summary
    bits, code = mask.or_else(0), summary.or_else(0)
    faults = list(fabric_faults(bits))
    wrong = fabric_misconfiguration(bits)
    if wrong:
        faults.append(f"wrong configuration ({wrong})")
    if code in FABRIC_UNHEALTHY and not faults:
        faults.append(FABRIC_UNHEALTHY[code])
    if faults:
        yield fail(
            f"the fabric tells: {', '.join(faults)} (mask {bits:#x}); required: none",
            at=[mask, summary],
            measured=", ".join(faults),
            required="none",
            cost="less bandwidth to all other GPUs, or hangs while routes are mended",
            remedy="Drain the node and read the log of the fabric manager, in a rack "
            "that of its controller (NMX); nvidia-smi -q shows the state after it.",
            action="ISOLATE",
        )
        return
    if gpu.fabric_state.status == "not_supported":
        return
    if mask.status == "not_supported" and not code:
        if summary.status != "not_supported":
            summary.need()
        return
    bits = mask.need() if mask.status != "not_supported" else 0
    if summary.status != "not_supported":
        code = summary.need()
    if code == FABRIC_HEALTHY or states_fabric_health(bits):
        yield passed(at=[mask, summary], measured="no fault", required="none")
    elif bits or code:
        raise MissingEvidence(mask.name, f"it tells of some faults only ({bits:#x})")
