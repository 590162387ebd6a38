"""An InfiniBand port that no subnet manager has set up.

Why it hurts: without an address (LID), a subnet manager and full membership in a
partition the port sends nothing: NCCL fails to connect, or leaves the rail out.

What passes: a linked port is ACTIVE, knows its subnet manager, and has a partition key
with the bit of full membership.

Where it does not apply: ports of Ethernet and EFA, and ports without a link.

Source: InfiniBand Architecture Specification, volume 1 (port states, P_Key membership
bit 15); Azure/azurehpc-health-checks, check of partition keys.

Bad::

    ibstat: State: Initializing, SM lid: 0

Good::

    ibstat: State: Active, SM lid: 1
"""

from speccheck.rules.fabric._rails import INFINIBAND
from speccheck.validator.evidence.node.rdma import RdmaPort
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Membership(Numbers):
    """The bit of a partition key that tells a full member."""

    full_member_bit: int


@rule(clause="FAB-021")
def port_without_subnet_manager(port: RdmaPort, limit: Membership) -> Verdicts:
    """Judge state, subnet manager and partition keys of one port."""
    layer = port.link_layer.need()
    if layer != INFINIBAND or port.physical_state.need() != "LinkUp":
        return
    subnet = port.subnet_manager_lid
    if port.state.need() != "ACTIVE" or subnet.need() == 0:
        yield fail(
            f"the link is up, the port is {port.state.value} and its subnet manager "
            f"has LID {subnet.or_else('unknown')}",
            at=[port.state, subnet],
            measured=subnet.value,
            required="above 0",
            cost="nothing can be sent over this port",
            remedy="Start the subnet manager (opensm, or that of the switch) and see "
            "with sminfo that it answers.",
            action="FIX_CONFIG",
        )
        return
    keys = [text for text in port.partition_keys.need() if text]
    values = [int(key, 0) for key in keys]
    if not any(value & limit.full_member_bit for value in values):
        yield fail(
            f"the partition keys {', '.join(keys)} are those of a limited member",
            at=port.partition_keys,
            measured=keys[0] if keys else "none",
            required="a key with bit 0x8000",
            cost="two limited members cannot reach each other",
            remedy="Make the port a full member in the subnet manager.",
            action="FIX_CONFIG",
        )
        return
    yield passed(at=[port.state, subnet, port.partition_keys])
