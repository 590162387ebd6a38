"""Which network interface leads to rank 0: the one that gloo is to use.

By itself gloo takes the interface of the host's own name, which on many systems is the
loopback (127.0.1.1 of /etc/hosts): then ranks of different hosts wait for each other
until they time out.
"""

import fcntl
import os
import socket
import struct

_VARIABLE = "GLOO_SOCKET_IFNAME"
_GET_ADDRESS = 0x8915  # SIOCGIFADDR of linux/sockios.h
_NAME_BYTES = 15
_ADDRESS = slice(20, 24)  # of struct ifreq: after the name, family and port
_ANY_PORT = 9


def lead_to(address: str) -> None:
    """Let gloo use the interface that leads there, unless the user named one."""
    if not os.environ.get(_VARIABLE):
        name = interface_to(address)
        if name:
            os.environ[_VARIABLE] = name


def interface_to(address: str) -> str:
    """Return the interface from which packets would leave; empty if it is unknown."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, _ANY_PORT))  # of a datagram: nothing is sent
            own = socket.inet_aton(probe.getsockname()[0])
            for _, name in socket.if_nameindex():
                if _address_of(probe, name) == own:
                    return name
    except OSError:
        return ""
    return ""


def _address_of(probe: socket.socket, name: str) -> bytes:
    request = struct.pack("256s", name.encode()[:_NAME_BYTES])
    try:
        return fcntl.ioctl(probe.fileno(), _GET_ADDRESS, request)[_ADDRESS]
    except OSError:
        return b""  # it has no address of IPv4
