"""Asks the kernel how well its clock is kept, by adjtimex with nothing to set.

The kernel knows what the time service tells it. chrony steers by frequency and leaves
the offset at zero, timesyncd tells no estimated error: the larger of the two is what is
known. A service that tells neither (phc2sys, chrony without rtcsync) leaves the clock
marked as not synchronised (adjtimex(2), include/uapi/linux/timex.h).
"""

import ctypes
import os

from speccheck.probes.raw_value import Absence, Sheet
from speccheck.probes.root import Root

SOURCE = "adjtimex"
_LEAVES = ("clock_is_synchronised", "clock_offset_milliseconds")
_UNSYNCHRONISED, _NANOSECONDS = 0x0040, 0x2000
_MICROSECONDS_PER_MILLISECOND = 1000.0
_RESERVED_WORDS = 64


class _Timex(ctypes.Structure):
    """struct timex as far as it is read; the rest is room for what follows."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_long * _RESERVED_WORDS),
    )


def put_clock(root: Root, sheet: Sheet) -> None:
    """Put down whether the clock is kept, and how well."""
    absence = (
        _kernel_clock()
        if root.is_live
        else Absence("absent", SOURCE, "no live machine")
    )
    if isinstance(absence, Absence):
        for leaf in _LEAVES:
            sheet.put("host", leaf, absence, SOURCE)
        return
    is_synchronised, milliseconds = kept(
        absence.status, absence.offset, absence.esterror
    )
    sheet.put("host", _LEAVES[0], is_synchronised, SOURCE)
    sheet.put("host", _LEAVES[1], milliseconds, SOURCE)


def _kernel_clock() -> _Timex | Absence:
    timex = _Timex()
    try:
        answer = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError) as error:
        return Absence("not_supported", SOURCE, str(error))
    if answer < 0:
        return Absence("not_permitted", SOURCE, os.strerror(ctypes.get_errno()))
    return timex


def kept(status: int, offset: int, error: int) -> tuple[bool, float | Absence]:
    """Return whether the clock is synchronised, and how far off it may be."""
    if status & _UNSYNCHRONISED:
        return False, Absence("absent", SOURCE, "no time service tells the kernel")
    unit = 1000 if status & _NANOSECONDS else 1
    microseconds = max(abs(offset) / unit, error)
    return True, round(microseconds / _MICROSECONDS_PER_MILLISECOND, 3)
