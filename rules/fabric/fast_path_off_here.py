"""A fast path that the node has and a variable switches off.

Why it hurts: with NVLink switched off GPUs of a node talk through host memory; without
RDMA nodes talk over TCP sockets. Both are left over from debugging.

What passes: neither NCCL_P2P_DISABLE on a node with active NVLink, nor NCCL_IB_DISABLE
on one with an active port of InfiniBand.

Where it does not apply: neither variable is set; a node without the path.

Source: NVIDIA/nccl, environment variables (debugging); issues 631, 1439.

Bad::

    NCCL_P2P_DISABLE=1      # on eight GPUs joined by NVLink

Good::

    unset NCCL_P2P_DISABLE
"""

from speccheck.rules.fabric._rails import INFINIBAND
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.rdma import RdmaPorts
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NAMES = ("NCCL_P2P_DISABLE", "NCCL_IB_DISABLE")


@rule(clause="FAB-033", about=_NAMES)
def fast_path_off_here(
    environment: Environment, gpus: Gpus, ports: RdmaPorts
) -> Verdicts:
    """Judge each switch by what the node has."""
    for name in _NAMES:
        variable = environment.find(name)
        if variable is None or not variable.value:
            continue
        if integer_seen(variable.value) in {None, 0}:
            yield passed(at=variable.place)
            continue
        path = _nvlink(gpus) if name == _NAMES[0] else _infiniband(ports)
        if not path:
            continue
        yield fail(
            f"{name}={variable.value} switches off {path}, which is up on this node",
            at=variable.place,
            measured=variable.value,
            required="not set",
            cost="a tenth of the bandwidth, or less",
            remedy=f"Unset {name}.",
            action="FIX_CONFIG",
        )


def _nvlink(gpus: Gpus) -> str:
    each = gpus.each()
    if len(each) <= 1:
        return ""
    active = [gpu.nvlink_is_active for gpu in each]
    links = sum(bool(up) for leaf in active for up in leaf.or_else(()))
    if not links:
        for leaf in active:
            if leaf.status not in {"not_supported", "absent"}:
                leaf.need()
    return f"NVLink ({links} links)" if links else ""


def _infiniband(ports: RdmaPorts) -> str:
    up = [
        rdma_port
        for rdma_port in ports.each()
        if rdma_port.link_layer.need() == INFINIBAND
        and rdma_port.state.need() == "ACTIVE"
    ]
    return f"InfiniBand ({len(up)} active ports)" if up else ""
