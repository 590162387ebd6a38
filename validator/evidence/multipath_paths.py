"""Tables of paths: which paths an MRC connection may take between two addresses.

The shim under libibverbs reads one, that VMRC_SYSTEM_JSON names, as it connects.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place


class PathList(Record):
    """What a table states for one direction between two addresses.

    paths: entropy values, as the shim takes them; None where it finds no list.
    """

    origin: str
    peer: str
    paths: tuple[int, ...] | None
    place: Place


class PathTable(Record):
    """One table."""

    lists: tuple[PathList, ...] = ()


class PathTables(Record):
    """The tables at hand."""

    tables: tuple[PathTable, ...] = ()
