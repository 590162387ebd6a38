"""A port that is down, or slower, while most like it are up.

Why it hurts: NCCL leaves the port out without a word, or rings run at its rate.

What passes: all ports on the same type of board are active at one rate.

Where it does not apply: fewer than the clause's number of such ports; a board of which
half the ports or less are up, as they may be left without cable on purpose; EFA, whose
driver always reports ports as active; a port that is down in a machine of a known type,
whose ports rail_missing counts.

Source: NVIDIA/NVSentinel, monitor of network adapters (peers of the same role).

Bad::

    mlx5_3/1: state DOWN physical_state POLLING     # seven others are ACTIVE

Good::

    mlx5_3/1: state ACTIVE physical_state LINK_UP
"""

from collections.abc import Iterator

from speccheck.rules.fabric._rails import EFA
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.node.rdma import RdmaDevices, RdmaPort, RdmaPorts
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Peers(Numbers):
    """The fewest comparable ports that show which state is normal."""

    peers_min: int


@rule(clause="FAB-020")
def one_port_down_among_equals(
    ports: RdmaPorts, devices: RdmaDevices, machine: InstanceProfile, limit: Peers
) -> Verdicts:
    """Compare state and rate of the ports of each type of board."""
    for group in _equals(ports, devices):
        if len(group) < limit.peers_min:
            continue
        active = [
            rdma_port for rdma_port in group if rdma_port.state.need() == "ACTIVE"
        ]
        if 2 * len(active) <= len(group):
            continue
        rate = max(rdma_port.rate_gbit_per_second.need() for rdma_port in active)
        odd = [rdma_port for rdma_port in group if _is_odd(rdma_port, rate)]
        if 2 * len(odd) >= len(group):
            continue
        if odd and machine.network_adapters.is_known:
            return  # rail_missing counts the ports of a type that is known
        for rdma_port in odd:
            yield fail(
                f"{rdma_port.title} is {rdma_port.state.value} "
                f"({rdma_port.physical_state.or_else('physical state not known')}) at "
                f"{rdma_port.rate_gbit_per_second.need():g} Gbit/s; "
                f"{len(group) - len(odd)} of {len(group)} such ports are ACTIVE at "
                f"{rate:g}",
                at=[rdma_port.state, rdma_port.rate_gbit_per_second],
                measured=rdma_port.rate_gbit_per_second.value,
                required=rate,
                cost="the GPU of this rail sends over that of another one",
                remedy=f"Reseat cable and transceiver of {rdma_port.title}; look "
                "at the "
                "switch port; leave the device out of NCCL_IB_HCA until then.",
                action="ISOLATE",
            )
        if not odd:
            yield passed(
                at=[rdma_port.state for rdma_port in group],
                measured=rate,
                required=rate,
            )


def _equals(ports: RdmaPorts, devices: RdmaDevices) -> Iterator[list[RdmaPort]]:
    """Yield the ports of each board type by number: second ones are often unused."""
    boards = {rdma_device.name.need(): rdma_device for rdma_device in devices.each()}
    groups: dict[tuple[str, str, int], list[RdmaPort]] = {}
    for port in ports.each():
        device = boards.get(port.device.need())
        if device is None or port.link_layer.need() == EFA:
            continue
        kind = device.type.or_else(""), device.board_id.or_else("")
        groups.setdefault((*kind, port.number.or_else(1)), []).append(port)
    yield from groups.values()


def _is_odd(port: RdmaPort, rate: float) -> bool:
    return port.state.need() != "ACTIVE" or port.rate_gbit_per_second.need() < rate
