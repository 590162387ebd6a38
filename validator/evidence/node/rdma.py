"""RDMA devices, their ports, and network interfaces."""

import ipaddress

from speccheck.validator.evidence.node.part import Part, Parts, Texts
from speccheck.validator.evidence.value import Value

_INTERFACE = slice(8, 16)  # the lower half: all zero where the entry is not used


def kind_of_gid(text: str) -> str:
    """Return the kind of an entry of a port: unset, link_local, ipv4 or global."""
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return "unset"
    if not any(address.packed[_INTERFACE]):
        return "unset"
    if address.ipv4_mapped:
        return "ipv4"
    return "link_local" if address.is_link_local else "global"


Numbers = tuple[int | None, ...]


class RdmaDevice(Part):
    """One device of /sys/class/infiniband."""

    __slots__ = ()
    kind = "rdma_devices"

    name: Value[str]  # mlx5_0
    driver: Value[str]  # mlx5_core, efa, bnxt_re
    pci_address: Value[str]
    is_virtual_function: Value[bool]
    numa_node: Value[int]
    firmware_version: Value[str]
    board_id: Value[str]
    type: Value[str]  # MT4129
    node_guid: Value[str]  # of the specimen


class RdmaDevices(Parts[RdmaDevice]):
    """All RDMA devices that the kernel lists."""

    __slots__ = ()
    part = RdmaDevice


class RdmaPort(Part):
    """One port of an RDMA device; counters since the device was reset."""

    __slots__ = ()
    kind = "rdma_ports"

    device: Value[str]
    number: Value[int]
    state: Value[str]  # ACTIVE
    physical_state: Value[str]  # LinkUp
    link_layer: Value[str]  # InfiniBand, Ethernet, Unspecified (EFA)
    rate_gbit_per_second: Value[float]
    active_mtu_bytes: Value[int]
    lid: Value[int]
    subnet_manager_lid: Value[int]
    partition_keys: Value[Texts]
    network_interface: Value[str]
    # by index: unset, link_local, ipv4, global
    gid_kinds: Value[Texts]
    gid_types: Value[Texts]  # by index: IB/RoCE v1, RoCE v2
    symbol_errors: Value[int]
    link_downed: Value[int]
    link_recoveries: Value[int]
    local_integrity_errors: Value[int]
    buffer_overruns: Value[int]
    receive_errors: Value[int]
    transmit_discards: Value[int]
    virtual_lane_15_dropped: Value[int]
    transmit_waits: Value[int]
    out_of_sequence: Value[int]  # of the hardware counters, as the next ones
    acknowledgement_timeouts: Value[int]
    packet_sequence_errors: Value[int]
    receiver_not_ready_retries_exceeded: Value[int]
    slow_restarts: Value[int]
    congestion_marked_packets: Value[int]
    congestion_notifications_handled: Value[int]
    efa_receive_drops: Value[int]
    efa_retransmit_timeouts: Value[int]
    efa_command_errors: Value[int]
    efa_commands_unanswered: Value[int]


class RdmaPorts(Parts[RdmaPort]):
    """All ports of all RDMA devices."""

    __slots__ = ()
    part = RdmaPort


class NetworkInterface(Part):
    """One interface of /sys/class/net, without the loopback."""

    __slots__ = ()
    kind = "network_interfaces"

    name: Value[str]
    state: Value[str]  # up, down, unknown
    mtu_bytes: Value[int]
    speed_mbit_per_second: Value[int]
    driver: Value[str]
    pci_address: Value[str]
    carrier_changes: Value[int]
    has_ipv4: Value[bool]
    has_ipv6: Value[bool]  # other than link-local
    address: Value[str]  # of the specimen
    # priorities for which it answers marked packets, and slows down on such answers
    congestion_answered_priorities: Value[Numbers]
    congestion_heeded_priorities: Value[Numbers]


class NetworkInterfaces(Parts[NetworkInterface]):
    """All interfaces."""

    __slots__ = ()
    part = NetworkInterface
