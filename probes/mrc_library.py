"""Asks the vendor's library of MRC which version of its interface it has.

`mrc_query_version` needs no device. The library stands alone in its process: it is of
the vendor, and loads drivers of its own. Where there is none, nothing is loaded.

Source: opencomputeproject/OCP-Multipath-Reliable-Connection mrc.h and mrc_api_ver.h.
"""

import ctypes
import os

from speccheck.probes.raw_value import Absence, RawValue, Sheet
from speccheck.probes.root import Root

KINDS = ("driver",)
_FUNCTION = "mrc_query_version"
_NAMED_BY = "VMRC_LIBMRC_SO"  # microsoft/mrc-verbs-shim-lib README.md
_LIBRARY = "libnv_mrc.so"
_FOLDERS = (
    "/opt/mellanox/doca/lib/x86_64-linux-gnu",
    "/opt/mellanox/doca/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
)
_VERSIONS = 4  # current, its oldest, the vendor's, its oldest
_MAJOR, _MINOR, _BYTE, _REST = 24, 16, 0xFF, 0xFFFF  # mrc_api_ver.h


def probe(root: Root, sheet: Sheet) -> None:
    """Put down the version of the interface."""
    sheet.put("driver", "mrc_api_version", _version(root, sheet), _FUNCTION)


def _version(root: Root, sheet: Sheet) -> RawValue:
    if not root.is_live:
        return Absence("absent", _FUNCTION, "a copy of the files has nothing to ask")
    paths = [os.environ.get(_NAMED_BY, ""), *(f"{at}/{_LIBRARY}" for at in _FOLDERS)]
    path = next((path for path in paths if path and root.exists(path)), None)
    if path is None:
        return Absence("absent", _FUNCTION, f"no {_LIBRARY} is there")
    sheet.doing(f"{_FUNCTION} of {path}")
    try:
        query = ctypes.CDLL(path)[_FUNCTION]
    except (OSError, AttributeError) as error:
        return Absence("failed", _FUNCTION, str(error))
    query.restype = None
    versions = [ctypes.c_uint32() for _ in range(_VERSIONS)]
    query(*(ctypes.byref(version) for version in versions))
    current = versions[0].value
    parts = current >> _MAJOR, current >> _MINOR & _BYTE, current & _REST
    return ".".join(map(str, parts))
