"""An adapter of a multipath fabric on which a plane is down.

Why it hurts: the paths of the other planes carry on, so that nothing fails: bandwidth
is lost, and the next fault has less to fall back on.

What passes: all ports of each adapter that has an active one are active.

Where it does not apply: other fabrics; adapters with one port.

Source: public summaries of MRC deployments.

Bad::

    mlx5_0 port of plane 0 ACTIVE, mlx5_1 of the same adapter DOWN

Good::

    both ACTIVE
"""

from speccheck.validator.evidence.node.rdma import RdmaDevices, RdmaPort, RdmaPorts
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Planes(Numbers):
    """With how many planes down an adapter is degraded and no more."""

    planes_down: int


@rule(clause="MRC-015")
def plane_down(ports: RdmaPorts, devices: RdmaDevices, limit: Planes) -> Verdicts:
    """Judge the ports of each adapter by the one that is active."""
    adapters = {
        rdma_device.name.need(): rdma_device.pci_address.need().rpartition(".")[0]
        for rdma_device in devices.each()
    }
    planes: dict[str, list[RdmaPort]] = {}
    for port in ports.each():
        adapter = adapters.get(port.device.need(), port.device.need())
        planes.setdefault(adapter, []).append(port)
    for adapter, group in planes.items():
        if len(group) == 1:
            continue
        down = [rdma_port for rdma_port in group if rdma_port.state.need() != "ACTIVE"]
        if not down:
            yield passed(
                at=[rdma_port.state for rdma_port in group], measured=len(group)
            )
            continue
        if len(down) == len(group):
            continue
        word = "degraded" if len(down) <= limit.planes_down else "nearly cut off"
        text = ", ".join(
            f"{rdma_port.title} is {rdma_port.state.value}" for rdma_port in down
        )
        yield fail(
            f"{text}: {len(group) - len(down)} of {len(group)} planes of the adapter "
            f"at {adapter} are up, it is {word}; all should be",
            at=[rdma_port.state for rdma_port in down],
            measured=len(group) - len(down),
            required=len(group),
            cost="bandwidth is lost without any error",
            remedy="Repair cable or switch port of that plane before the next fault "
            "(ibdev2netdev, ethtool -m).",
            action="MONITOR",
        )
