"""Packet sizes of RDMA over Ethernet."""

from typing import Literal

SourceRouting = Literal["none", "reduced", "single-segment-srh"]

# InfiniBand architecture specification: BTH, RETH, ImmDt, ICRC; RFC 768 and RFC 8200.
_BASE_TRANSPORT, _RDMA_EXTENDED, _IMMEDIATE, _INVARIANT_CRC = 12, 16, 4, 4
_UDP = 8
_IP = {4: 20, 6: 40}
# RFC 8986, RFC 8754: an outer IPv6 header, and a routing header of one segment.
_ROUTING: dict[SourceRouting, int] = {
    "none": 0,
    "reduced": 40,
    "single-segment-srh": 40 + 24,
}
_SMALLEST_MTU, _LARGEST_MTU = 256, 4096
# Headroom that Linux leaves for RoCE headers (include/rdma/ib_addr.h, iboe_get_mtu).
_HEADROOM = 96


def roce_packet_bytes(
    path_mtu: int,
    ip_version: Literal[4, 6],
    source_routing: SourceRouting = "none",
    *,
    has_immediate: bool = True,
) -> int:
    """Return the bytes of the largest RoCE v2 write from its outermost IP header on.

    The extension headers that MRC adds are not published and not counted.
    """
    headers = _BASE_TRANSPORT + _RDMA_EXTENDED + _INVARIANT_CRC + _UDP
    immediate = _IMMEDIATE if has_immediate else 0
    return path_mtu + headers + immediate + _IP[ip_version] + _ROUTING[source_routing]


def active_path_mtu(interface_mtu: int) -> int | None:
    """Return the RDMA MTU that Linux takes for an interface; None where none fits."""
    room = interface_mtu - _HEADROOM
    if room < _SMALLEST_MTU:
        return None
    return min(1 << (room.bit_length() - 1), _LARGEST_MTU)
