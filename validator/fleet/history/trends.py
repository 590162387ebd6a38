"""What a history tells of the runs of some days, of verdicts and of numbers."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from speccheck.validator.evidence.fleet import VARIABLES
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.history.database import HistoryError
from speccheck.validator.fleet.shard import is_grave
from speccheck.validator.fleet.shared_values import NOT_SET
from speccheck.validator.node.host_names import fold

_DAY = 86_400.0
_MOST_RUNS = 5000


class RunRow(Record):
    """One run; number: of the file, in the order in which they were added."""

    number: int
    taken: float
    job: str
    verdict: str
    reason: str
    exit_code: int
    nodes: int
    fit: int
    is_synthetic: int
    edition: str
    tool: str


class Flip(Record):
    """A node whose state is not that of its run before."""

    node: str
    taken: float
    before: str
    now: str
    reason: str


class NumberPoint(Record):
    """A number at one run: of a node with its worst part, or of the fleet.

    usual: the median over all nodes.
    """

    taken: float
    value: float
    worst: float
    usual: float


class NumberTrend(Record):
    """A number over runs; node: empty for the fleet."""

    leaf: str
    node: str
    points: tuple[NumberPoint, ...]


class NodeDay(Record):
    """A node at one run."""

    taken: float
    state: str
    reason: str


class Window:
    """The runs of the last days, and what a history says of them."""

    def __init__(
        self, connection: sqlite3.Connection, path: str, days: float | None
    ) -> None:
        """Take the runs. days: before the newest run; None for all."""
        self.connection = connection
        self.path = path
        self.runs = self._runs(days)
        self.order = {run.number: place for place, run in enumerate(self.runs)}
        self.taken = {run.number: run.taken for run in self.runs}
        connection.execute("CREATE TEMP TABLE shown (run INTEGER PRIMARY KEY, place)")
        connection.executemany("INSERT INTO shown VALUES (?, ?)", self.order.items())

    def _runs(self, days: float | None) -> tuple[RunRow, ...]:
        columns = (
            "id, taken, job, verdict, reason, exit_code, nodes, fit, is_synthetic,"
            " edition, tool"
        )
        (newest,) = self.connection.execute("SELECT max(taken) FROM runs").fetchone()
        since = -1e18 if days is None or newest is None else newest - days * _DAY
        query = f"SELECT {columns} FROM runs WHERE taken >= ?"  # noqa: S608 - our own
        query += f" ORDER BY taken DESC, id DESC LIMIT {_MOST_RUNS}"
        rows = self.connection.execute(query, (since,)).fetchall()
        return tuple(RunRow._make(row) for row in reversed(rows))

    def number_of_node(self, name: str) -> int:
        """Return the number of a node.

        Raises HistoryError for one that was never there.
        """
        return self._number("nodes", name, "node")

    def number_of_leaf(self, name: str) -> int:
        """Return the number of a leaf.

        Raises HistoryError for one that was never there.
        """
        return self._number("leaves", name, "leaf")

    def _number(self, table: str, name: str, what: str) -> int:
        query = f"SELECT id FROM {table} WHERE name = ?"  # noqa: S608 - our own
        row = self.connection.execute(query, (name,)).fetchone()
        if row is None:
            from speccheck.validator.evidence.spelling import (  # noqa: PLC0415 - rare
                nearest,
            )

            names = self.connection.execute(f"SELECT name FROM {table}")  # noqa: S608
            close = nearest(name, (item for (item,) in names))
            hint = f"did you mean {close}?" if close else "see speccheck history FILE"
            message = f"{self.path}: no {what} {name} in it: {hint}"
            raise HistoryError(message)
        return int(row[0])

    def name(self, table: str, number: int) -> str:
        """Return the name of a node or a leaf."""
        query = f"SELECT name FROM {table} WHERE id = ?"  # noqa: S608 - our own
        return str(self.connection.execute(query, (number,)).fetchone()[0])

    def attended(self, node: int) -> list[int]:
        """Return runs to which a node came, in the order in which they were added."""
        rows = self.connection.execute(
            "SELECT run FROM states WHERE node = ?"
            " AND state NOT IN ('missing', 'unread') ORDER BY run",
            (node,),
        )
        return [run for (run,) in rows]

    def days_of(self, node: int) -> tuple[NodeDay, ...]:
        """Return a node, run after run."""
        rows = self.connection.execute(
            "SELECT shown.run, states.state, coalesce(texts.text, '') FROM shown"
            " JOIN states ON states.run = shown.run AND states.node = ?"
            " LEFT JOIN texts ON texts.id = states.reason ORDER BY shown.place",
            (node,),
        )
        return tuple(NodeDay(self.taken[run], state, why) for run, state, why in rows)

    def flips(self) -> Iterator[Flip]:
        """Yield each change of the state of a node, in the order of the runs."""
        rows = self.connection.execute(
            "SELECT nodes.name, run, was, state, coalesce(texts.text, '') FROM ("
            " SELECT states.node, states.run, place, state, reason,"
            " lag(state) OVER (PARTITION BY states.node ORDER BY place) AS was"
            " FROM shown JOIN states ON states.run = shown.run) AS steps"
            " JOIN nodes ON nodes.id = steps.node"
            " LEFT JOIN texts ON texts.id = steps.reason"
            " WHERE was <> state ORDER BY place, nodes.name"
        )
        for name, run, before, now, reason in rows:
            yield Flip(name, self.taken[run], before, now, reason)

    def unfit_now(self) -> tuple[tuple[str, str, str], ...]:
        """Return node, state and reason of those that are not fit in the newest run."""
        if not self.runs:
            return ()
        rows = self.connection.execute(
            "SELECT nodes.name, state, coalesce(texts.text, '') FROM states"
            " JOIN nodes ON nodes.id = states.node"
            " LEFT JOIN texts ON texts.id = states.reason"
            " WHERE run = ? AND state <> 'fit' ORDER BY nodes.name",
            (self.runs[-1].number,),
        )
        return tuple(rows)

    def numbers(
        self, node: int | None = None, leaf: int | None = None
    ) -> tuple[NumberTrend, ...]:
        """Return the numbers over the runs: of a node, or the medians of the fleet."""
        if node is None:
            query = (
                "SELECT leaves.name, '', f.run, f.median, f.most, f.median FROM shown"
                " JOIN fleet_numbers AS f ON f.run = shown.run"
                " JOIN leaves ON leaves.id = f.leaf"
            )
        else:
            query = (
                "SELECT leaves.name, nodes.name, n.run, n.median, n.worst, f.median"
                " FROM shown JOIN fleet_numbers AS f ON f.run = shown.run"
                " JOIN numbers AS n"
                " ON n.run = f.run AND n.leaf = f.leaf AND n.node = ?2"
                " JOIN leaves ON leaves.id = f.leaf JOIN nodes ON nodes.id = n.node"
            )
        query += " WHERE (?1 IS NULL OR f.leaf = ?1) AND (?2 IS NULL OR ?2 >= 0)"
        query += " ORDER BY leaves.name, shown.place"
        trends: dict[tuple[str, str], list[NumberPoint]] = {}
        for name, of_node, run, value, worst, usual in self.connection.execute(
            query, (leaf, node)
        ):
            point = NumberPoint(self.taken[run], value, worst, usual)
            trends.setdefault((name, of_node), []).append(point)
        return tuple(NumberTrend(*key, tuple(points)) for key, points in trends.items())


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
    """Return counters that grew within the window, grave ones first, then the most."""
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
    grave = {leaf: is_grave(window.name("leaves", leaf)) for leaf in leaves}
    grown.sort(
        key=lambda numbers: (not grave[numbers[2]], -numbers[0], numbers[2], numbers[3])
    )
    return [
        _growth(window, by, leaf_id, node_id, began_anew=anew)
        for by, anew, leaf_id, node_id in grown[:MOST_GROWN]
    ]


def _first_attended(window: Window) -> dict[int, int]:
    """Return the first run of the window to which each node came."""
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
    """Return what grew, with its totals over the runs to which its node came."""
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
    """Return what a counter grew by; one that fell began anew."""
    return new - old if new >= old else new


_Row = tuple[str, str, int, str | None]  # leaf, node, run, value


class ValueChange(Record):
    """A leaf that is not what it was; nodes: folded, empty for the usual value.

    before, now: None where no node told it, and before also where nodes had several.
    """

    leaf: str
    nodes: str
    taken: float
    before: str | None
    now: str | None


def usual_changes(window: Window, leaf: int | None = None) -> list[ValueChange]:
    """Return the leaves whose usual value changed within the window."""
    rows = window.connection.execute(
        "SELECT leaves.name, '', run, texts.text FROM usual"
        " JOIN leaves ON leaves.id = usual.leaf"
        " LEFT JOIN texts ON texts.id = usual.value"
        " WHERE ?1 IS NULL OR usual.leaf = ?1 ORDER BY usual.leaf, run",
        (leaf,),
    )
    return _steps(window, rows)


def changes_of_few(window: Window, leaf: int | None = None) -> list[ValueChange]:
    """Return the leaves that changed on single nodes, equal values together.

    What nodes had in the first run of all is no change; nor is that a node came.
    """
    rows = window.connection.execute(
        "SELECT leaves.name, nodes.name, otherwise.run, texts.text FROM otherwise"
        " JOIN shown ON shown.run = otherwise.run"
        " JOIN leaves ON leaves.id = otherwise.leaf"
        " JOIN nodes ON nodes.id = otherwise.node"
        " LEFT JOIN texts ON texts.id = otherwise.value"
        " WHERE (?1 IS NULL OR otherwise.leaf = ?1) AND otherwise.run > ("
        " SELECT min(states.run) FROM states WHERE states.node = otherwise.node"
        " AND state NOT IN ('missing', 'unread'))"
        " ORDER BY leaves.name, nodes.name",
        (leaf,),
    )
    result: dict[tuple[int, str, str | None], list[str]] = {}
    for name, node, run, value in rows:
        now = _usual_at(window, name, run) if value is None else value
        result.setdefault((run, name, now), []).append(node)
    return [
        ValueChange(name, fold(nodes), window.taken[run], None, value)
        for (run, name, value), nodes in result.items()
    ]


def _usual_at(window: Window, leaf: str, run: int) -> str | None:
    row = window.connection.execute(
        "SELECT texts.text FROM usual JOIN leaves ON leaves.id = usual.leaf"
        " LEFT JOIN texts ON texts.id = usual.value"
        " WHERE leaves.name = ? AND run <= ? ORDER BY run DESC LIMIT 1",
        (leaf, run),
    ).fetchone()
    return None if row is None else row[0]


def changes_of(window: Window, node: int, leaf: int | None) -> list[ValueChange]:
    """Return a node's leaves that changed within the window, with usual values."""
    name = window.name("nodes", node)
    attended = window.attended(node)
    query = (
        "SELECT DISTINCT leaves.id, leaves.name FROM usual"
        " JOIN leaves ON leaves.id = usual.leaf WHERE ?1 IS NULL OR leaves.id = ?1"
    )
    text_lists: list[_Row] = []
    for leaf_id, leaf_name in window.connection.execute(query, (leaf,)).fetchall():
        usual = _texts(window, "usual", "leaf = ?", (leaf_id,))
        own = _texts(window, "otherwise", "leaf = ? AND node = ?", (leaf_id, node))
        for run in attended:
            common, value = _at(usual, run), _at(own, run)
            text = common if common is None or value is None else value
            text_lists.append((leaf_name, name, run, text))
    return _steps(window, text_lists)


def _texts(
    window: Window, table: str, where: str, values: tuple[int, ...]
) -> list[tuple[int, str | None]]:
    query = (
        f"SELECT run, texts.text FROM {table}"  # noqa: S608 - our own
        f" LEFT JOIN texts ON texts.id = value WHERE {where} ORDER BY run"
    )
    return window.connection.execute(query, values).fetchall()


def _at(steps: Sequence[tuple[int, str | None]], run: int) -> str | None:
    """Return the value that was in force at a run."""
    result = None
    for number, value in steps:
        if number > run:
            break
        result = value
    return result


def _steps(window: Window, rows: Iterable[_Row]) -> list[ValueChange]:
    """Return the steps from one row to the next of a leaf, of runs that are shown."""
    value_changes: list[ValueChange] = []
    before: tuple[str, str | None] = "", None
    for leaf, node, run, text in rows:
        # Of a variable that no node sets there is no leaf.
        is_unset = text is None and leaf.startswith(VARIABLES)
        value = NOT_SET if is_unset else text
        is_step = before[0] == leaf and before[1] != value
        if is_step and run in window.order:
            taken = window.taken[run]
            value_changes.append(ValueChange(leaf, node, taken, before[1], value))
        before = leaf, value
    return value_changes
