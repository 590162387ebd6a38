"""Words for nodes and for values that differ."""

from collections.abc import Iterable, Sequence

from speccheck.validator.node.host_names import fold, natural

_MOST_LETTERS = 72  # of a list of nodes in a message; the finding holds them all
_MOST_NAMED = 4
_MOST_TEXT = 60
_MOST_ITEMS = 3
_GIB = 2**30
_HOUR = 3600


def named(hosts: Iterable[str]) -> str:
    """Nodes as one short list: `n[17,20-21]`, or the first ones and how many more."""
    found = fold(hosts)
    if len(found) <= _MOST_LETTERS:
        return found
    names = sorted(dict.fromkeys(hosts), key=natural)
    shown = fold(names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED:,} more"


def counted(hosts: Sequence[str]) -> str:
    """How many nodes, and which: `3 nodes (n[17,20-21])`."""
    if len(hosts) == 1:
        return hosts[0]
    return f"{len(hosts):,} nodes ({named(hosts)})"


def hours(seconds: float) -> float:
    """A time in hours."""
    return seconds / _HOUR


def gibibytes(text: str) -> str:
    """Bytes as people read them, with both digits that tell two sizes apart."""
    return f"{int(text) / _GIB:,.2f} GiB" if text.isdecimal() else text


def short(text: str) -> str:
    """A value that does not fill the line."""
    if not text:
        return "none"
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."


def against(value: str, usual: str) -> str:
    """A value beside the usual one; of lists only what differs."""
    mine, others = value.split(", "), usual.split(", ")
    if len(mine) == 1 and len(others) == 1:
        return f"{short(value)} instead of {short(usual)}"
    more = [one for one in mine if one not in others]
    fewer = [one for one in others if one not in mine]
    if not more and not fewer:
        pairs = enumerate(zip(mine, others, strict=False), 1)
        for number, (one, other) in pairs:
            if one != other:
                return f"in another order: {one} at {number} instead of {other}"
        return f"{len(mine):,} instead of {len(others):,} entries"
    if more and fewer:
        return f"{_items(more)} instead of {_items(fewer)}"
    return f"{_items(more)} more" if more else f"without {_items(fewer)}"


def _items(found: Sequence[str]) -> str:
    shown = ", ".join(short(one) for one in found[:_MOST_ITEMS])
    left = len(found) - _MOST_ITEMS
    return f"{shown} and {left} more" if left > 0 else shown
