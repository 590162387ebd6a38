"""What a history tells of the runs of some days, of verdicts and of numbers."""

import sqlite3
from collections.abc import Iterator

from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.history.database import HistoryError

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
        """The number of a node; raises HistoryError for one that was never there."""
        return self._number("nodes", name, "node")

    def number_of_leaf(self, name: str) -> int:
        """The number of a leaf; raises HistoryError for one that was never there."""
        return self._number("leaves", name, "leaf")

    def _number(self, table: str, name: str, what: str) -> int:
        query = f"SELECT id FROM {table} WHERE name = ?"  # noqa: S608 - our own
        row = self.connection.execute(query, (name,)).fetchone()
        if row is None:
            from speccheck.validator.evidence.spelling import (  # noqa: PLC0415 - rare
                nearest,
            )

            names = self.connection.execute(f"SELECT name FROM {table}")  # noqa: S608
            close = nearest(name, (one for (one,) in names))
            hint = f"did you mean {close}?" if close else "see speccheck history FILE"
            message = f"{self.path}: no {what} {name} in it: {hint}"
            raise HistoryError(message)
        return int(row[0])

    def name(self, table: str, number: int) -> str:
        """The name of a node or a leaf."""
        query = f"SELECT name FROM {table} WHERE id = ?"  # noqa: S608 - our own
        return str(self.connection.execute(query, (number,)).fetchone()[0])

    def attended(self, node: int) -> list[int]:
        """The runs to which a node came, in the order in which they were added."""
        rows = self.connection.execute(
            "SELECT run FROM states WHERE node = ?"
            " AND state NOT IN ('missing', 'unread') ORDER BY run",
            (node,),
        )
        return [run for (run,) in rows]

    def days_of(self, node: int) -> tuple[NodeDay, ...]:
        """A node, run after run."""
        rows = self.connection.execute(
            "SELECT shown.run, states.state, coalesce(texts.text, '') FROM shown"
            " JOIN states ON states.run = shown.run AND states.node = ?"
            " LEFT JOIN texts ON texts.id = states.reason ORDER BY shown.place",
            (node,),
        )
        return tuple(NodeDay(self.taken[run], state, why) for run, state, why in rows)

    def flips(self) -> Iterator[Flip]:
        """Each change of the state of a node, in the order of the runs."""
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
        """Node, state and reason of those that are not fit in the newest run."""
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
        """Numbers over the runs: of a node, or the medians of the fleet."""
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
