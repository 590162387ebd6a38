"""A GPU that is not registered with its NVLink fabric.

Why it hurts: CUDA does not start on it (error 802), or starts without NVLink to the
other GPUs.

What passes: the registration is completed, with success.

Where it does not apply: GPUs that register with no fabric: without switches, before
Hopper, or alone and without a link. A GPU of a rack registers always: there "not
supported" is the fault itself.

Source: nvml.h, nvmlGpuFabricInfo; NVIDIA/k8s-test-infra, captures; Azure/azhpc-images
issue 506.

Bad::

    nvidia-smi -q    # Fabric: State: In Progress

Good::

    nvidia-smi -q    # Fabric: State: Completed, Status: Success
"""

from speccheck.rules.hardware._links import ends_at_switch, has_no_links, is_of_rack
from speccheck.validator.evidence.node.fault_codes import (
    FABRIC_DONE,
    FABRIC_STATES,
    FABRIC_UNSUPPORTED,
)
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.profile import GpuProfiles, InstanceProfile
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule

_NOT_SUPPORTED = "not supported"
_SUPERCHIP = "superchip"


@rule(clause="TOPO-010")
def fabric_not_registered(
    gpu: Gpu, gpus: Gpus, profiles: GpuProfiles, instance: InstanceProfile
) -> Verdicts:
    """Judge the state, and where it is completed its result."""
    state, profile = gpu.fabric_state, profiles.of(gpu)
    may_be_of_rack = profile.form_factor.value == _SUPERCHIP
    if state.status == "not_supported" or state.value == FABRIC_UNSUPPORTED:
        if (may_be_of_rack and ends_at_switch(gpu)) or is_of_rack(gpus, instance):
            yield _failed(gpu, _NOT_SUPPORTED, of_rack=True)
        return
    if not state.is_known and profile.has_nvlink.value is False:
        return
    code = state.need()
    if code in FABRIC_STATES:
        if (
            len(gpus.shown) == 1
            and gpus.count.need() == 1
            and has_no_links(gpu, profiles)
        ):
            return  # it has nobody to talk to
        yield _failed(gpu, FABRIC_STATES[code], of_rack=may_be_of_rack)
        return
    if code != FABRIC_DONE:
        raise MissingEvidence(state.name, f"state {code} is not known")
    if gpu.fabric_status.need():
        text = f"completed with error {gpu.fabric_status.value}"
        yield _failed(gpu, text, of_rack=may_be_of_rack)
        return
    yield passed(at=[state, gpu.fabric_status], measured="completed")


def _failed(gpu: Gpu, text: str, *, of_rack: bool) -> Verdict:
    remedy = (
        "Look at the fabric's controller of the rack and at its partition; then drain "
        "the tray and reset its GPUs: nvidia-smi --gpu-reset."
        if of_rack
        else "Start the fabric manager of the driver's release (systemctl restart "
        "nvidia-fabricmanager) and read /var/log/fabricmanager.log; then reset the "
        "GPUs: nvidia-smi --gpu-reset."
    )
    return fail(
        f"registration with the fabric: {text}; required: completed, with success",
        at=[gpu.fabric_state, gpu.fabric_status],
        measured=text,
        required="completed",
        cost="CUDA does not start (error 802), or finds no NVLink",
        remedy=remedy,
        action="RESET_GPU",
    )
