"""A GPU whose PCIe link is slower or narrower than it should be.

Why it hurts: copies from the host, checkpoints and the traffic to the adapter run at
half the rate or less, and the other GPUs wait.

What passes: the generation that the GPU and its slot can do, in use, and all lanes. The
slot counts: an H100 on a host of generation 4 is well, and so is a board with eight
lanes in a slot that has no more. A link that idles at a lower generation is unknown:
read it under load.

Where it does not apply: GPUs that tell nothing of PCIe.

Source: NVIDIA/DCGM errors 45 and 46; nvidia-smi -q captures in NVIDIA/k8s-test-infra
and NVIDIA/aicr.

Bad::

    nvidia-smi --query-gpu=pcie.link.width.current   # 16, 16, 8, 16 on equal GPUs

Good::

    nvidia-smi --query-gpu=pcie.link.width.current   # 16 on all
"""

from speccheck.rules.topology._gpu_links import (
    Expected,
    expected_generation,
    expected_width,
)
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import Host, PciDevices
from speccheck.validator.evidence.node.profile import GpuProfiles, InstanceProfile
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule

_REMEDY = (
    "Read it under load (nvidia-smi -q -i N -d PCIE), see dmesg for its address, power "
    "cycle the node; then have board or riser replaced."
)


@rule(clause="TOPO-004")
def gpu_link_below_slot(
    gpu: Gpu,
    gpus: Gpus,
    devices: PciDevices,
    host: Host,
    profiles: GpuProfiles,
    machine: InstanceProfile,
) -> Verdicts:
    """Judge generation and width, each by the first that tells what to expect."""
    generation, width = gpu.pcie_generation_maximum, gpu.pcie_width
    if generation.status == width.status == "not_supported":
        return
    profile = profiles.of(gpu)
    speed = expected_generation(gpu, gpus, profile, machine)
    lanes = expected_width(gpu, gpus, devices, host, profile)
    is_well = True
    if speed.least and generation.or_else(speed.least) < speed.least:
        is_well = False
        text = f"generation {generation.value} is the most that the PCIe link can do"
        yield _slow(text, speed, f"generation {speed.least}")._replace(
            places=generation.places
        )
    if lanes.least and width.or_else(lanes.least) < lanes.least:
        is_well = False
        text = f"the PCIe link has {width.value} lanes"
        yield _slow(text, lanes, f"{lanes.least}")._replace(places=width.places)
    if not is_well:
        return
    now, most = gpu.pcie_generation.need(), generation.need()
    width.need()
    for expected in (speed, lanes):
        if not expected.is_sure:
            raise MissingEvidence(expected.leaf, expected.by)
    if now < most:
        reason = f"it idles at generation {now} of {most}; read it under load"
        raise MissingEvidence(gpu.pcie_generation.name, reason)
    yield passed(at=[gpu.pcie_generation, generation, width])


def _slow(text: str, wanted: Expected, least: str) -> Verdict:
    return fail(
        f"{text}; {wanted.by} {least}",
        required=wanted.least,
        cost="copies to and from this GPU are slow, and the other GPUs wait",
        remedy=_REMEDY,
        action="ISOLATE",
    )
