"""NVLinks of a GPU are down.

Why it hurts: each collective within the node runs at the pace of the GPU with the
fewest links, and some libraries do not start at all.

What passes: as many links up as boards of the type connect: 12 of the 18 of an H100
PCIe or NVL. Without a profile of the type, GPUs of one name are held to each other.

Where it does not apply: GPUs without NVLink, bridged types where nobody fitted a
bridge, a GPU that is alone and has no link, partitioned GPUs. Guests may have been
given a part of a board, with fewer links: there only a known instance type tells.

Source: the hardware catalogue; Azure/azurehpc-health-checks issue 162 (12 of 18).

Bad::

    nvidia-smi nvlink -s -i 2    # Link 9: <inactive>

Good::

    nvidia-smi nvlink -s -i 2    # 18 links with a speed
"""

from speccheck.rules.hardware._links import explains_no_part, listed
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.profile import (
    GpuProfile,
    GpuProfiles,
    InstanceProfile,
)
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule, unknown


@rule(clause="TOPO-003")
def nvlink_down(
    gpu: Gpu, gpus: Gpus, host: Host, profiles: GpuProfiles, instance: InstanceProfile
) -> Verdicts:
    """Hold the links that are up to the profile, else to GPUs of the same name."""
    profile, active = profiles.of(gpu), gpu.nvlink_is_active
    # Links that are told by pairs are judged so.
    if active.status == "not_supported" or (
        not active.is_known
        and (profile.has_nvlink.value is False or gpu.peer_nvlinks.is_known)
    ):
        return
    states, expected = active.need(), profile.nvlinks
    up = states.count(True)
    # Without a count in the profile of a known type: all that the library lists.
    wanted = expected.or_else(len(states) if profile.id else -1)
    if up == wanted > 0:
        yield passed(at=active, measured=up, required=wanted)
        return
    if up > wanted > 0:
        raise MissingEvidence(active.name, f"{up} are up, and {wanted} are expected")
    if _is_left_alone(gpu, gpus, up):
        return
    if profile.nvlink_is_by_bridge.value:
        yield from _bridged(gpu, profile, instance)
        return
    best = max(_up(item) for item in gpus.shown if item.name.value == gpu.name.value)
    if up + states.count(None) < best and (up or profile.id):
        yield _down(gpu, best, f"up on a GPU of the same name: {best}")
        return
    most = expected.need_stated()
    if states.count(None) and up + states.count(None) >= most:
        raise MissingEvidence(active.name, "the state of a link is not known")
    is_whole = instance.gpus.is_known and len(gpus.shown) >= instance.gpus.need()
    is_fault = explains_no_part(gpu, gpus, profile, most - up)
    if not is_whole and not is_fault and host.virtualisation.need() != "none":
        yield unknown(
            f"{up} NVLinks are up, and a whole {profile.id} has {most}; a guest may "
            "have been given a part of a board, which has fewer",
            missing=[instance.gpus.name],
            at=active,
        )
        return
    yield _down(gpu, most, f"of a {profile.id}: {most}")


def _up(gpu: Gpu) -> int:
    return gpu.nvlink_is_active.or_else(()).count(True)


def _is_left_alone(gpu: Gpu, gpus: Gpus, up: int) -> bool:
    """Return whether links of it may be down by design: alone, or partitioned."""
    if not up and len(gpus.shown) == 1 and gpus.count.value == 1:
        return True
    partitioned = gpu.mig_is_on
    if up and not partitioned.is_known:
        return False  # one that is partitioned has no link up
    return partitioned.status != "not_supported" and partitioned.need()


def _bridged(gpu: Gpu, profile: GpuProfile, instance: InstanceProfile) -> Verdicts:
    """Yield a verdict on bridged GPUs: only some instance types must have bridges."""
    active, up, domain = gpu.nvlink_is_active, _up(gpu), instance.nvlink_domain_size
    if not up:
        if domain.or_else(1) > 1 and domain.need_stated():
            yield _down(gpu, profile.nvlinks.need(), "over the bridges of this type")
        return
    yield unknown(
        f"{up} NVLinks are up; with all bridges there are "
        f"{profile.nvlinks.or_else('more')}, and fewer bridges may have been fitted",
        missing=[profile.nvlinks.name],
        at=active,
    )


def _down(gpu: Gpu, required: int, what: str) -> Verdict:
    active, up = gpu.nvlink_is_active, _up(gpu)
    off = [link for link, is_up in enumerate(active.need()) if is_up is False]
    which = f" ({listed(off)} down)" if off and len(off) <= required - up else ""
    return fail(
        f"{up} NVLinks are up{which}; required {what}",
        at=active,
        measured=up,
        required=required,
        cost="each collective of the node runs at the pace of this GPU",
        remedy="Drain the node and reset all its GPUs: nvidia-smi --gpu-reset; restart "
        "the fabric manager (systemctl restart nvidia-fabricmanager). Replace the "
        "board if the link stays down.",
        action="RESET_GPU",
    )
