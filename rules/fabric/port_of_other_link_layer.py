"""A port that speaks Ethernet among equals on InfiniBand, or the other way round.

Why it hurts: adapters can do both; one whose type was never set joins no fabric, and
NCCL leaves it out or stops.

What passes: all ports of a board speak one protocol, and where the fabric of the job is
known, some port speaks its protocol.

Where it does not apply: a node without RDMA devices; EFA.

Source: leptonai/gpud, check of InfiniBand ports; NVIDIA mlxconfig, LINK_TYPE.

Bad::

    mlx5_0 InfiniBand    mlx5_3 Ethernet      # same board

Good::

    mlx5_0 InfiniBand    mlx5_3 InfiniBand
"""

from speccheck.rules.fabric._rails import EFA, ETHERNET, INFINIBAND
from speccheck.validator.evidence.node.rdma import RdmaDevices, RdmaPort, RdmaPorts
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule

_REMEDY = "mlxconfig -d DEVICE set LINK_TYPE_P1=1 (InfiniBand) or 2 (Ethernet); reset."


class Peers(Numbers):
    """The fewest comparable ports that show which link layer is normal."""

    peers_min: int


@rule(clause="FAB-023")
def port_of_other_link_layer(
    ports: RdmaPorts, devices: RdmaDevices, cluster: Cluster, limit: Peers
) -> Verdicts:
    """Compare the link layers of equal boards, and of all with the fabric."""
    each = [
        rdma_port for rdma_port in ports.each() if rdma_port.link_layer.need() != EFA
    ]
    if not each:
        return
    wanted = {"infiniband": INFINIBAND, "roce-lossless": ETHERNET, "mrc": ETHERNET}.get(
        cluster.fabric.or_else("")
    )
    if wanted and all(rdma_port.link_layer.value != wanted for rdma_port in each):
        yield _fail(
            f"the fabric is {cluster.fabric.value}, and no port speaks {wanted}", each
        )
        return
    odd = [
        rdma_port
        for group in _groups(each, devices)
        for rdma_port in _odd(group, limit)
    ]
    if odd:
        names = ", ".join(
            f"{rdma_port.title} {rdma_port.link_layer.value}" for rdma_port in odd
        )
        yield _fail(f"{names}: most ports of the same board speak the other one", odd)
        return
    yield passed(at=[rdma_port.link_layer for rdma_port in each])


def _fail(message: str, ports: list[RdmaPort]) -> Verdict:
    return fail(
        message,
        at=[port.link_layer for port in ports],
        cost="the rail is not used, or the job does not start",
        remedy=_REMEDY,
        action="FIX_CONFIG",
    )


def _groups(each: list[RdmaPort], devices: RdmaDevices) -> list[list[RdmaPort]]:
    boards = {
        rdma_device.name.need(): rdma_device.board_id for rdma_device in devices.each()
    }
    groups: dict[tuple[str, int], list[RdmaPort]] = {}
    for rdma_port in each:
        board = boards.get(rdma_port.device.need())
        key = (board.or_else("") if board else "", rdma_port.number.or_else(1))
        groups.setdefault(key, []).append(rdma_port)
    return list(groups.values())


def _odd(group: list[RdmaPort], limit: Peers) -> list[RdmaPort]:
    """Return the few of a group that differ from the many."""
    layers = [rdma_port.link_layer.need() for rdma_port in group]
    common = max(set(layers), key=layers.count)
    odd = [rdma_port for rdma_port in group if rdma_port.link_layer.need() != common]
    is_clear = len(group) >= limit.peers_min and len(group) > 2 * len(odd)
    return odd if is_clear else []
