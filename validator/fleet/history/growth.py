"""Which counters of which nodes grew, by the rows that are written when they change."""

from itertools import pairwise

from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.counters import is_grave
from speccheck.validator.fleet.history.trends import Window

_HOUR = 3600.0
MOST_GROWN = 1000  # counters of nodes, the most first


class CounterGrowth(Record):
    """What a counter of a node grew by; points: its totals, run after run."""

    leaf: str
    node: str
    by: float
    per_hour: float | None
    points: tuple[tuple[float, float], ...]
    began_anew: bool


def growth(
    window: Window, node: int | None = None, leaf: int | None = None
) -> list[CounterGrowth]:
    """Counters that grew within the window: grave ones first, then the most."""
    if not window.runs:
        return []
    first = min(window.order)
    rows = window.connection.execute(
        "SELECT leaf, node, counters.run, total FROM counters"
        " JOIN shown ON shown.run = counters.run"
        " WHERE (?1 IS NULL OR leaf = ?1) AND (?2 IS NULL OR node = ?2)"
        " ORDER BY leaf, node, counters.run",
        (leaf, node),
    )
    steps: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for leaf_id, node_id, run, total in rows:
        steps.setdefault((leaf_id, node_id), []).append((run, total))
    grown: list[tuple[float, bool, int, int]] = []
    came = _first_attended(window)
    for (leaf_id, node_id), totals in steps.items():
        base = None
        if totals[0][0] > came.get(node_id, totals[0][0]):
            # It was there before, with what it had then, or with nothing counted.
            base = _total_before(window, leaf_id, node_id, first) or 0.0
        before = totals if base is None else [(0, base), *totals]
        values = [total for _, total in before]
        by = sum(_step(old, new) for old, new in pairwise(values))
        if by > 0:
            anew = any(new < old for old, new in pairwise(values))
            grown.append((by, anew, leaf_id, node_id))
    leaves = {leaf_id for *_, leaf_id, _ in grown}
    grave = {one: is_grave(window.name("leaves", one)) for one in leaves}
    grown.sort(key=lambda one: (not grave[one[2]], -one[0], one[2], one[3]))
    return [
        _growth(window, by, leaf_id, node_id, began_anew=anew)
        for by, anew, leaf_id, node_id in grown[:MOST_GROWN]
    ]


def _first_attended(window: Window) -> dict[int, int]:
    """The first run of the window to which each node came."""
    rows = window.connection.execute(
        "SELECT node, min(states.run) FROM shown"
        " JOIN states ON states.run = shown.run"
        " WHERE state NOT IN ('missing', 'unread') GROUP BY node"
    )
    return dict(rows)


def _total_before(window: Window, leaf: int, node: int, run: int) -> float | None:
    row = window.connection.execute(
        "SELECT total FROM counters WHERE leaf = ? AND node = ? AND run < ?"
        " ORDER BY run DESC LIMIT 1",
        (leaf, node, run),
    ).fetchone()
    return None if row is None else float(row[0])


def _growth(
    window: Window, by: float, leaf: int, node: int, *, began_anew: bool
) -> CounterGrowth:
    """What grew, with its totals over the runs to which its node came."""
    rows = window.connection.execute(
        "SELECT run, total FROM counters WHERE leaf = ? AND node = ? ORDER BY run",
        (leaf, node),
    ).fetchall()
    points: list[tuple[float, float]] = []
    place, total = 0, 0.0
    for run in window.attended(node):
        while place < len(rows) and rows[place][0] <= run:
            total = rows[place][1]
            place += 1
        if run in window.order:
            points.append((window.taken[run], total))
    points.sort()
    hours = (points[-1][0] - points[0][0]) / _HOUR if points else 0.0
    return CounterGrowth(
        window.name("leaves", leaf),
        window.name("nodes", node),
        by,
        by / hours if hours > 0 else None,
        tuple(points),
        began_anew,
    )


def _step(old: float, new: float) -> float:
    """What a counter grew by; one that fell began anew."""
    return new - old if new >= old else new
