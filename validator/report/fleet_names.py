"""Names of nodes as a report shows them."""

from collections.abc import Sequence

from speccheck.validator.host_names import fold
from speccheck.validator.report.style import counted

_MOST_NAMES = 120  # characters of a folded list of nodes


def shown_names(hosts: Sequence[str], *, full: bool) -> str:
    """A folded list of nodes, cut to a line or two where it is long."""
    names = fold(hosts)
    if full or len(names) <= _MOST_NAMES:
        return names
    cut = names[:_MOST_NAMES].rpartition(",")[0] or names[:_MOST_NAMES]
    closing = "]" if cut.count("[") > cut.count("]") else ""
    return f"{cut},...{closing} ({counted(len(hosts), 'node')})"
