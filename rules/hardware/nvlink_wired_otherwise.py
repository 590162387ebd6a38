"""A link that does not end at a switch where the other links of the node do.

Why it hurts: the routes of the switches leave that link out, or the board was put
together from parts that do not belong together.

What passes: each link that is up ends at a switch, on nodes where one of them does.

Where it does not apply: nodes whose links end at GPUs, as bridges and boards of four
do.

Source: an engineering default; nvmlDeviceGetNvLinkRemoteDeviceType.

Bad::

    nvidia-smi nvlink -R -i 0    # Link 3: a GPU, the others a switch

Good::

    nvidia-smi nvlink -R -i 0    # all of them a switch
"""

from speccheck.rules.hardware._links import (
    ends,
    ends_at_switch,
    has_no_links,
    listed,
    need_all,
)
from speccheck.validator.evidence.node.fault_codes import (
    LINK_TO_SWITCH,
    UNKNOWN_LINK_END,
)
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-103")
def nvlink_wired_otherwise(gpu: Gpu, profiles: GpuProfiles, gpus: Gpus) -> Verdicts:
    """Judge the ends of the links of a node that has switches."""
    remote = gpu.nvlink_remote_type
    if remote.status == "not_supported" or has_no_links(gpu, profiles):
        return
    if any(ends_at_switch(gpu) for gpu in gpus.shown):
        odd = [link for link, end in ends(gpu).items() if end != LINK_TO_SWITCH]
        if odd:
            yield fail(
                f"{listed(odd)} do not end at a switch, as other links of the node do",
                at=remote,
                measured=len(odd),
                required=0,
                remedy="Drain the node and look at the baseboard: nvidia-smi nvlink "
                "-R shows where each link ends.",
                action="ISOLATE",
            )
            return
    result = need_all(gpu, remote)
    if UNKNOWN_LINK_END in result.values():
        raise MissingEvidence(remote.name, "the library does not know an end")
    if LINK_TO_SWITCH in result.values():
        yield passed(at=remote, measured=len(result), required=len(result))
