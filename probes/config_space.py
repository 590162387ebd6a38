"""Reads capabilities from the configuration space of a PCI device.

Users without privileges get its first 64 bytes; capabilities lie behind them. Offsets
and bits: PCI Express Base Specification, as in include/uapi/linux/pci_regs.h.
"""

from speccheck.probes.raw_value import Absence

_STATUS, _HAS_LIST = 0x06, 0x10
_FIRST = 0x34
_EXPRESS = 0x10
_DEVICE_CONTROL = 8
_EXTENDED_START = 0x100
_ACCESS_CONTROL = 0x000D
_CONTROL = 6
_HEADER_BYTES = 64
_CLOSED = "the configuration space beyond 64 bytes is for privileged users"
_LEAST_REQUEST_BYTES = 128


def request_bytes(space: bytes, path: str) -> int | Absence:
    """Return the largest read request that the device may make."""
    if len(space) <= _HEADER_BYTES:
        return Absence("not_permitted", path, _CLOSED)
    place = _capability(space)
    if place is None:
        return Absence("not_supported", path, "no PCI Express device")
    control = _word(space, place + _DEVICE_CONTROL)
    return _LEAST_REQUEST_BYTES << (control >> 12 & 7)


def access_control(space: bytes, path: str) -> int | Absence:
    """Return the bits of access control services that are on; 0: all are off."""
    if len(space) <= _HEADER_BYTES:
        return Absence("not_permitted", path, _CLOSED)
    place, seen = _EXTENDED_START, set[int]()
    while place not in seen and _EXTENDED_START <= place <= len(space) - 8:
        seen.add(place)
        header = int.from_bytes(space[place : place + 4], "little")
        if header & 0xFFFF == _ACCESS_CONTROL:
            return _word(space, place + _CONTROL)
        place = header >> 20
    return Absence("not_supported", path, "no access control services")


def _capability(space: bytes) -> int | None:
    if not _word(space, _STATUS) & _HAS_LIST:
        return None
    place, seen = space[_FIRST] & 0xFC, set[int]()
    while place not in seen and _HEADER_BYTES <= place <= len(space) - 16:
        seen.add(place)
        if space[place] == _EXPRESS:
            return place
        place = space[place + 1] & 0xFC
    return None


def _word(space: bytes, place: int) -> int:
    return int.from_bytes(space[place : place + 2], "little")
