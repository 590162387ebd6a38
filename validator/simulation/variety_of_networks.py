"""How the ports of healthy nodes differ: addresses, and counters that may move."""

from typing import Any

from speccheck.validator.simulation.dice import Chance

# Of a subnet; each rail is a subnet of its own, so that 10,000 nodes have room.
_MOST_LIDS = 0xBFFF
_FIRST_LID = 10


def vary_network(node: dict[str, Any], chance: Chance, index: int) -> None:
    """Make each adapter, port and interface a specimen."""
    dice = chance.life
    for device in node["rdma_devices"]:
        device["node_guid"] = dice.digest()
    grown = 1 + chance.days
    for port in node["rdma_ports"]:
        if port["link_layer"] == "InfiniBand":
            port["lid"] = _FIRST_LID + index % (_MOST_LIDS - _FIRST_LID)
            # Of waiting for credits, which is how InfiniBand works; plausible.
            port["transmit_waits"] = dice.few(40_000_000) * grown
        if isinstance(port["symbol_errors"], int):
            # A bit error rate of 1e-12 allows 120 an hour (IBTA); links that are well
            # count a few in weeks. Plausible.
            port["symbol_errors"] = dice.few(3)
        if isinstance(port["congestion_marked_packets"], int):
            # Marks are how RoCE holds senders back: they grow with the traffic, and
            # with the days. Plausible.
            marks = dice.few(20_000_000) * grown
            port["congestion_marked_packets"] = marks
            port["congestion_notifications_handled"] = marks // 2
    for interface in node["network_interfaces"]:
        interface["address"] = dice.digest()
        # Up, and down and up again while switch and adapter agree on a speed; the
        # edition allows five losses a day.
        interface["carrier_changes"] = 1 + 2 * dice.few(2)
