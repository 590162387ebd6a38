"""Names of nodes as a report shows them."""

from collections.abc import Sequence

from speccheck.validator.node.host_names import fold
from speccheck.validator.report.style import counted

_MOST_NAMES = 140  # characters of a folded list of nodes


def shown_names(hosts: Sequence[str], *, full: bool, most: int = _MOST_NAMES) -> str:
    """A folded list of nodes, cut where it is long: to a line or two, or to `most`."""
    names = fold(hosts)
    if full or len(names) <= most:
        return names
    count = counted(len(hosts), "node")
    room = max(1, most - len(count) - len(",...] ()"))
    cut = names[:room].rpartition(",")[0] or names[:room]
    closing = "]" if cut.count("[") > cut.count("]") else ""
    return f"{cut},...{closing} ({count})"
