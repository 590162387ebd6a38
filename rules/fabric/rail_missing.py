"""A node with fewer training ports than its type has.

Why it hurts: a GPU without its rail shares that of another one, and every collective
waits for the pair.

What passes: as many ports ACTIVE, at the rate of the type, as the type of the machine
has. Ports of EFA are counted alone: its driver always reports them as active.

Where it does not apply: a node without RDMA devices, whose type has none either, or
that has one GPU at most. A type that nobody knows is unknown.

Source: counts and rates of Azure, OCI and AWS (numbers of the clause).

Bad::

    ibstat -l | wc -l      # 7 on a machine with 8

Good::

    ibstat -l | wc -l      # 8
"""

from speccheck.rules.fabric._rails import EFA, titles
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.node.rdma import RdmaPort, RdmaPorts
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class OfType(Numbers):
    """The training ports of this type of machine, and their rate in Gbit/s."""

    port_count: int | None
    port_rate: float | None


@rule(clause="FAB-001")
def rail_missing(
    ports: RdmaPorts, host: Host, gpus: Gpus, machine: InstanceProfile, wanted: OfType
) -> Verdicts:
    """Count the active ports at full rate."""
    each = ports.each()
    if wanted.port_count is None:
        # What a server with several GPUs lacks, its type alone tells.
        if each or (gpus.shown[1:] and not machine.id):
            missing, reason = "cluster.instance_type", "no profile tells how many"
            raise MissingEvidence(missing, reason)
        return
    if len(each) < wanted.port_count and host.container.need() != "none":
        reason = "a container may hide devices of the host"
        missing = "rdma_ports"
        raise MissingEvidence(missing, reason)
    good = [rdma_port for rdma_port in each if _is_good(rdma_port, wanted.port_rate)]
    at = [
        leaf
        for rdma_port in each
        for leaf in (rdma_port.state, rdma_port.rate_gbit_per_second)
    ]
    if len(good) >= wanted.port_count:
        yield passed(at=at, measured=len(good), required=wanted.port_count)
        return
    odd = [rdma_port for rdma_port in each if rdma_port not in good]
    rate = f" at {wanted.port_rate:g} Gbit/s" if wanted.port_rate else ""
    others = f"; {'; '.join(_state(rdma_port) for rdma_port in odd)}" if odd else ""
    yield fail(
        f"{len(good)} of {wanted.port_count} training ports are active{rate}{others}",
        at=[rdma_port.state for rdma_port in odd] or ports.count,
        measured=len(good),
        required=wanted.port_count,
        cost="every collective between nodes runs at the pace of the missing rail",
        remedy=_remedy(odd),
        action="ISOLATE",
    )


def _is_good(port: RdmaPort, rate: float | None) -> bool:
    if port.state.need() != "ACTIVE":
        return False
    if port.physical_state.or_else("LinkUp") != "LinkUp":
        return False
    if port.link_layer.need() == EFA or rate is None:
        return True
    return port.rate_gbit_per_second.need() >= rate


def _state(port: RdmaPort) -> str:
    """Return a state such as `mlx5_3 port 1 is DOWN (Polling) at 10 Gbit/s`."""
    text = f"{port.title} is {port.state.or_else('in no known state')}"
    if port.physical_state.is_known:
        text += f" ({port.physical_state.value})"
    rate = port.rate_gbit_per_second.value
    return text if rate is None else f"{text} at {rate:g} Gbit/s"


def _remedy(odd: list[RdmaPort]) -> str:
    if not odd:
        return (
            "Look for the adapter with lspci; reload its driver, then drain the node."
        )
    return (
        f"Reseat cable and transceiver of {titles(odd)} and look at the switch port "
        f"(mlxlink -d DEVICE); drain the node where that does not bring it back."
    )
