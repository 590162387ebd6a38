"""A machine that has not the GPUs of its type.

Why it hurts: the launcher starts a rank for each GPU that the type should have. One
that has fallen off the bus is in no list of the driver, and often in none of the
kernel: only the type tells that it is missing.

What passes: as many GPUs as the type has, all of its model. A type that nobody knows is
unknown: --instance names one.

Where it does not apply: where the bus has the GPUs that the driver does not list, which
gpu_missing judges; within a container that shows fewer GPUs it is unknown.

Source: schemas/catalogues/hardware; Azure/azurehpc-health-checks check_gpu_count;
NVIDIA/DCGM error 20.

Bad::

    nvidia-smi -L | wc -l   # 7 on a machine type with 8

Good::

    nvidia-smi -L | wc -l   # 8
"""

from speccheck.rules.hardware._leaves import is_gpu
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import Host, PciDevices
from speccheck.validator.evidence.node.profile import GpuProfiles, InstanceProfile
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule


@rule(clause="HW-086")
def gpus_unlike_machine_type(
    gpus: Gpus,
    bus: PciDevices,
    host: Host,
    machine: InstanceProfile,
    profiles: GpuProfiles,
) -> Verdicts:
    """Judge number and model against those of the type."""
    model = machine.gpu.need()
    others = [gpu for gpu in gpus.each() if profiles.of(gpu).id not in {"", model}]
    if others:
        yield _other_model(others, model, machine)
        return
    listed, wanted = gpus.count.need(), machine.gpus.need()
    if listed < wanted and host.container.need() != "none":
        reason = "a container may be given a part of the GPUs"
        raise MissingEvidence(gpus.count.name, reason)
    if listed < wanted <= sum(is_gpu(pci_device) for pci_device in bus.shown):
        return  # gpu_missing names the one that the driver does not list
    if listed != wanted:
        is_less = listed < machine.gpus.need_stated()
        yield fail(
            f"the driver lists {listed} GPUs; {machine.id} has {wanted}",
            at=gpus.count,
            measured=listed,
            required=wanted,
            cost="a job that counts on all GPUs does not start",
            remedy="Compare nvidia-smi -L with lspci -d 10de:, reboot once; drain the "
            "node and have the GPU replaced if it is still missing."
            if is_less
            else "Name the right type with --instance.",
            action="ISOLATE" if is_less else "FIX_CONFIG",
        )
        return
    for gpu in gpus.each():
        if not profiles.of(gpu).id:
            reason = "the GPU is not in the hardware catalogue"
            raise MissingEvidence(gpu.name.name, reason)
    if wanted:
        at = [gpus.count, *(gpu.name for gpu in gpus.each())]
        yield passed(at=at, measured=listed, required=wanted)


def _other_model(others: list[Gpu], model: str, machine: InstanceProfile) -> Verdict:
    names = ", ".join(sorted({str(other.name.value) for other in others}))
    return fail(
        f"{len(others)} GPUs are {names}; {machine.id} has {model}",
        at=[other.name for other in others],
        measured=names,
        required=model,
        cost="batch sizes and memory are planned for another GPU",
        remedy="Name the right type with --instance, or take the node out of jobs that "
        "expect this one.",
        action="FIX_CONFIG",
    )
