"""GPUs of a server that cannot read the memory of their peers.

Why it hurts: without peer access NCCL moves everything between these GPUs through host
memory.

What passes: the driver says of each other GPU that its memory can be read.

Where it does not apply: a node with one GPU, partitioned GPUs and boards without peer
access. On virtual machines the
host decides, and its answer is taken as it is, unless the driver is told to refuse.

Source: nvml.h, nvmlDeviceGetP2PStatus with NVML_P2P_CAPS_INDEX_READ.

Bad::

    nvidia-smi topo -p2p r   # CNS or DR between two GPUs of a server

Good::

    nvidia-smi topo -p2p r   # OK between all
"""

from speccheck.rules.topology._peers import state_text, statuses
from speccheck.validator.evidence.node.fault_codes import PEER_OK, PEER_SWITCHED_OFF
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Boards(Numbers):
    """Parts of names of boards without peer access."""

    without_peer_access: tuple[str, ...]


@rule(clause="TOPO-007")
def peer_access_missing(gpu: Gpu, gpus: Gpus, host: Host, boards: Boards) -> Verdicts:
    """Judge what the driver says of each other GPU."""
    if len(gpus.each()) <= 1:
        return
    leaf, name = gpu.peer_read_status, gpu.name.or_else("")
    if any(part in name for part in boards.without_peer_access):
        return
    is_partitioned = any(gpu.mig_is_on.value for gpu in gpus.each())
    if leaf.status == "not_supported" or is_partitioned:
        return
    states = {peer.title: state for peer, state in statuses(leaf, gpu, gpus)}
    result = {title: state for title, state in states.items() if state != PEER_OK}
    if not result:
        yield passed(at=leaf, measured=len(states), required=len(states))
        return
    is_refused = PEER_SWITCHED_OFF in result.values()
    if not is_refused and host.virtualisation.need() != "none":
        return
    yield fail(
        f"the memory of {len(result)} of {len(states)} peers cannot be read "
        f"({state_text(result)}); it should be for all",
        at=leaf,
        measured=len(result),
        required=0,
        cost="NCCL moves everything between these GPUs through host memory",
        remedy="Switch ACS off and peer traffic on in the firmware; boot with "
        "iommu=pt; take options that refuse peers from /etc/modprobe.d/nvidia*.conf; "
        "see nvidia-smi topo -p2p r.",
        action="FIX_CONFIG",
    )
