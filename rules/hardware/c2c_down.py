"""A link between the processor and the GPU of a superchip is down.

Why it hurts: transfers between host and GPU run over what is left, and offload and
loading of data with them.

What passes: all chip-to-chip links that the GPU has are up.

Where it does not apply: GPUs that are joined to their host by PCIe alone.

Source: nvml.h, fields 170 and 171; NVIDIA/k8s-test-infra, captures of GB200 and GB300.

Bad::

    nvidia-smi c2c -s    # C2C Link 1: inactive

Good::

    nvidia-smi c2c -s    # all links with a speed
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule

_SUPERCHIP = "superchip"


@rule(clause="HW-110")
def c2c_down(gpu: Gpu, profiles: GpuProfiles) -> Verdicts:
    """Judge the state of each link to the processor."""
    links, active = gpu.c2c_links, gpu.c2c_is_active
    down = [number for number, is_up in enumerate(active.or_else(())) if is_up is False]
    if down:
        yield fail(
            f"{len(down)} of {len(active.need())} chip-to-chip links are down",
            at=active,
            measured=len(down),
            required=0,
            cost="transfers between host and GPU run over what is left",
            remedy="Drain the node and reboot it; replace the superchip if the link "
            "stays down (nvidia-smi c2c -s).",
            action="ISOLATE",
        )
        return
    if links.status == "not_supported":
        return
    form = profiles.of(gpu).form_factor
    if not links.is_known and form.is_known and form.need() != _SUPERCHIP:
        return
    count = links.need()
    if count == 0:
        if form.need() == _SUPERCHIP:
            raise MissingEvidence(links.name, "a superchip that tells of no link")
        return
    states = active.need()
    if len(states) < count or None in states:
        raise MissingEvidence(active.name, f"not known of all {count} links")
    yield passed(at=[links, active], measured=count, required=count)
