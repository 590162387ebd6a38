"""The nearest known name to a misspelt one."""

from collections.abc import Iterable

_MAXIMUM_EDITS = 3


def nearest(word: str, known: Iterable[str], share: float = 0.34) -> str | None:
    """The known name with the fewest edits, if those are few enough for its length.

    At most three edits, and at most `share` of the longer word's length.
    """
    best: tuple[int, str] | None = None
    for name in known:
        limit = min(_MAXIMUM_EDITS, int(share * max(len(word), len(name))))
        if abs(len(word) - len(name)) > limit:
            continue
        edits = distance(word, name)
        if edits <= limit and (best is None or edits < best[0]):
            best = (edits, name)
    return best[1] if best else None


def distance(left: str, right: str) -> int:
    """Damerau-Levenshtein distance: insert, delete, replace, swap of neighbours."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before = before, row
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            swapped = i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b
            row.append(min(cost, older[j - 2] + 1) if swapped else cost)
    return row[-1]
