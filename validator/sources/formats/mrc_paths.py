"""The table of paths that the MRC shim under libibverbs reads, `system.json`.

By the address of an adapter and that of its peer it holds a list of entries, of which
the shim takes `ps_list` of the first: the entropy values of the connection's paths. It
takes a value of 0 for 8, and ends the process where a pair or a list is missing
(microsoft/mrc-verbs-shim-lib src/vmrc_json.c). Plane, template and masks are of the
controller that wrote the table; the shim does not read them.
"""

from collections.abc import Iterator

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.multipath_paths import PathList, PathTable
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.mapping import section
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

_LIST = "ps_list"
_ADDRESS = lazy_pattern(r"[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*")
_OF_ZERO = 8


def detect(document: Document) -> float:
    """Recognise a table by addresses within addresses."""
    rows = [section(row) for row in section(document.data).values()]
    names = [*section(document.data), *(name for row in rows for name in row)]
    are_addresses = all(_ADDRESS.fullmatch(str(name)) for name in names)
    return 0.9 if any(rows) and are_addresses else 0.0


def read(document: Document) -> Reading:
    """Return the paths of each direction."""
    return Reading(FactSheet.of(document), paths=PathTable(tuple(_lists(document))))


def _lists(document: Document) -> Iterator[PathList]:
    for origin, row in section(document.data).items():
        for peer, entries in section(row).items():
            place = document.place((str(origin), str(peer)))
            yield PathList(str(origin), str(peer), _paths(entries), place)


def _paths(entries: object) -> tuple[int, ...] | None:
    first = entries[0] if isinstance(entries, list) and entries else None
    values = section(first).get(_LIST)
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        return None
    return tuple(value or _OF_ZERO for value in values)


READER = Reader("mrc-paths", "environment", detect, read, keys=("::",))
