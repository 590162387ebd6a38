"""Which kind of address an entry of an RDMA port is."""

import ipaddress

_INTERFACE = slice(8, 16)  # the lower half: all zero where the entry is not used


def kind_of_gid(text: str) -> str:
    """unset, link_local, ipv4 or global."""
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return "unset"
    if not any(address.packed[_INTERFACE]):
        return "unset"
    if address.ipv4_mapped:
        return "ipv4"
    return "link_local" if address.is_link_local else "global"
