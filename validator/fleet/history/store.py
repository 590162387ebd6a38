"""Adds a run to a history: once, whole, and as what is new in it."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.history.database import opened, transaction
from speccheck.validator.fleet.history.recording import HistoryRun

Table = Literal["nodes", "leaves", "texts"]
_COLUMNS: dict[Table, str] = {"nodes": "name", "leaves": "name", "texts": "text"}


class Added(Record):
    """What came of adding a run. is_new: it was not there before. runs: in the file."""

    is_new: bool
    runs: int


def add_run(path: str, run: HistoryRun, now: float) -> Added:
    """Add a run; one that is there already stays as it is. Raises HistoryError.

    now: seconds since 1970.
    """
    with opened(path, writes=True) as connection:
        with transaction(connection):
            is_new = _add(connection, run, now)
        (runs,) = connection.execute("SELECT count(*) FROM runs").fetchone()
        return Added(is_new, runs)


def _add(connection: sqlite3.Connection, run: HistoryRun, now: float) -> bool:
    fit = sum(one.state == "fit" for one in run.states)
    found = connection.execute(
        "INSERT INTO runs (key, taken, added, edition, tool, job, verdict, reason,"
        " exit_code, nodes, fit, is_synthetic) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT (key) DO NOTHING RETURNING id",
        (
            run.key,
            run.taken,
            now,
            run.edition,
            run.tool,
            run.job,
            run.verdict,
            run.reason,
            run.exit_code,
            len(run.states),
            fit,
            run.is_synthetic,
        ),
    ).fetchone()
    if found is None:
        return False
    _Rows(connection, run, int(found[0])).add()
    return True


class _Rows:
    """The rows of one run."""

    def __init__(
        self, connection: sqlite3.Connection, run: HistoryRun, number: int
    ) -> None:
        self.connection, self.run, self.number = connection, run, number
        names = [one.name for one in run.states]
        self.nodes = self._ids("nodes", dict.fromkeys(names))
        leaves = (*run.usual, *run.numbers, *run.counters)
        self.leaves = self._ids("leaves", dict.fromkeys(leaves))
        texts = [one.reason for one in run.states if one.reason]
        texts += run.usual.values()
        for found in run.otherwise.values():
            texts += found.values()
        self.texts = self._ids("texts", dict.fromkeys(texts))

    def add(self) -> None:
        run, number = self.run, self.number
        self._insert(
            "states",
            (
                (
                    number,
                    self.nodes[one.name],
                    one.state,
                    one.taken,
                    self.texts.get(one.reason) if one.reason else None,
                )
                for one in run.states
            ),
        )
        self._insert("usual", self._usual())
        self._insert("otherwise", self._otherwise())
        self._insert(
            "numbers",
            (
                (number, self.leaves[leaf], self.nodes[one.name], one.median, one.worst)
                for leaf, found in run.numbers.items()
                for one in found
            ),
        )
        self._insert(
            "fleet_numbers",
            (
                (number, self.leaves[leaf], *one)
                for leaf, one in self.run.of_fleet.items()
            ),
        )
        self._insert("counters", self._counters())

    def _insert(self, table: str, rows: Iterable[tuple[object, ...]]) -> None:
        rows = list(rows)
        if rows:
            marks = ",".join("?" * len(rows[0]))
            statement = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - our own
            self.connection.executemany(statement, rows)

    def _ids(self, table: Table, names: Iterable[str]) -> dict[str, int]:
        """The number of each name, in a table of names, where new ones are added."""
        column = _COLUMNS[table]
        wanted = list(names)
        insert = f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)"  # noqa: S608
        self.connection.executemany(insert, ((_plain(one),) for one in wanted))
        query = f"SELECT {column}, id FROM {table}"  # noqa: S608 - our own
        known: dict[str, int] = dict(self.connection.execute(query))
        return {one: known[_plain(one)] for one in wanted}

    def _text(self, value: str | None) -> int | None:
        return None if value is None else self.texts[value]

    def _usual(self) -> Iterator[tuple[object, ...]]:
        """Leaves whose usual value is not what it was; null where no node tells it."""
        known = self._last("usual", ("leaf",), "value")
        for leaf, value in self.run.usual.items():
            key, text = (self.leaves[leaf],), self.texts[value]
            if known.pop(key, None) != text:
                yield *key, self.number, text
        somebody_came = any(one.is_here for one in self.run.states)
        for (leaf_id,), last in known.items():
            if last is not None and somebody_came:
                yield leaf_id, self.number, None

    def _otherwise(self) -> Iterator[tuple[object, ...]]:
        """What single nodes have, where it is not what they had; null: the usual."""
        known = self._last("otherwise", ("leaf", "node"), "value")
        for leaf, found in self.run.otherwise.items():
            for name, value in found.items():
                key, text = (self.leaves[leaf], self.nodes[name]), self.texts[value]
                if known.pop(key, None) != text:
                    yield *key, self.number, text
        here = {self.nodes[one.name] for one in self.run.states if one.is_here}
        told = {self.leaves[leaf] for leaf in self.run.usual}
        for (leaf_id, node), last in known.items():
            if last is not None and node in here and leaf_id in told:
                yield leaf_id, node, self.number, None

    def _counters(self) -> Iterator[tuple[object, ...]]:
        """Counters that are not what they were; those that never counted have none."""
        known = self._last("counters", ("leaf", "node"), "total")
        for leaf, found in self.run.counters.items():
            for name, total in found.items():
                key = self.leaves[leaf], self.nodes[name]
                if known.get(key, 0.0) != total:
                    yield *key, self.number, total

    def _last(
        self, table: str, keys: tuple[str, ...], value: str
    ) -> dict[tuple[int, ...], object]:
        """The newest row of each key."""
        columns = ", ".join(keys)
        query = f"SELECT {columns}, {value}, max(run) FROM {table} GROUP BY {columns}"  # noqa: S608 - our own
        rows = self.connection.execute(query)
        return {tuple(row[: len(keys)]): row[len(keys)] for row in rows}


def _plain(text: str) -> str:
    """A text that a database takes: names of files may hold anything."""
    return text.encode("utf-8", "replace").decode("utf-8")
