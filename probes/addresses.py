"""Whether a network interface has addresses that others can reach."""

import errno
import re
import socket
import struct

from speccheck.probes.raw_value import Absence
from speccheck.probes.root import Root, absence_of

IPV4_SOURCE = "SIOCGIFADDR"
_ROUTES = "/proc/net/route"
IPV6_SOURCE = "/proc/net/if_inet6"
_GET_ADDRESS = 0x8915  # SIOCGIFADDR, include/uapi/linux/sockios.h
_MOST_NAME = 15
_REQUEST_BYTES = 40
_LINK_LOCAL = "20"
_FIELDS = 6


def has_ipv4(root: Root, name: str) -> bool | Absence:
    """Return whether the kernel has IPv4; of a copy, its routes may show it."""
    if root.is_live:
        return _answer(name)
    routes = root.text(_ROUTES)
    if isinstance(routes, Absence):
        return routes
    if re.search(rf"^{re.escape(name)}\s", routes, re.MULTILINE):
        return True
    # An address alone on its network has no route.
    return Absence("absent", _ROUTES, "names no route of it")


def _answer(name: str) -> bool | Absence:
    """Return the kernel's answer; a read that needs no privilege."""
    import fcntl  # noqa: PLC0415 - not on every system

    request = struct.pack(f"{_REQUEST_BYTES}s", name.encode()[:_MOST_NAME])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            fcntl.ioctl(asking.fileno(), _GET_ADDRESS, request)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            return False
        return absence_of(IPV4_SOURCE, error)
    return True


def has_ipv6(root: Root, name: str) -> bool | Absence:
    """Return whether an address is other than link-local.

    Lines: address, index, prefix, scope, flags, name.
    """
    text = root.text(IPV6_SOURCE)
    if isinstance(text, Absence):
        # The kernel has no such file where it speaks no IPv6.
        is_off = text.status == "absent" and root.exists("/proc/net/dev")
        return False if is_off else text
    rows = [line.split() for line in text.splitlines()]
    return any(
        len(row) == _FIELDS and row[5] == name and row[3] != _LINK_LOCAL for row in rows
    )
