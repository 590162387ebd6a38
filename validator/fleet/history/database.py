"""The file of a history: opened, made, brought up to date, and never harmed.

A file that is something else is refused before SQLite may touch it. Everything is
written in transactions; several processes may write one file.
"""

import os
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.history.recording import HistoryRun

# "SPCK", at byte 68 of the file (https://www.sqlite.org/fileformat.html, 1.3).
APPLICATION = 0x5350434B
_MAGIC = b"SQLite format 3\0"
_AT, _LENGTH = 68, 4
BUSY_SECONDS = 30.0
# Each step brings the file from one version to the next; steps are only ever added.
STEPS: tuple[str, ...] = (
    """
    CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE nodes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE leaves (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,      -- the same for the same evidence, judged alike
        taken REAL NOT NULL,           -- of its newest node, in seconds since 1970
        added REAL NOT NULL,
        edition TEXT NOT NULL,
        tool TEXT NOT NULL,
        job TEXT NOT NULL,
        verdict TEXT NOT NULL,
        reason TEXT NOT NULL,
        exit_code INTEGER NOT NULL,
        nodes INTEGER NOT NULL,
        fit INTEGER NOT NULL,
        is_synthetic INTEGER NOT NULL
    );
    CREATE INDEX runs_by_time ON runs (taken);
    -- One row for each node of a run; reason: of texts, none where it is fit.
    CREATE TABLE states (
        run INTEGER NOT NULL REFERENCES runs,
        node INTEGER NOT NULL REFERENCES nodes,
        state TEXT NOT NULL,
        taken REAL,
        reason INTEGER REFERENCES texts,
        PRIMARY KEY (run, node)
    ) WITHOUT ROWID;
    CREATE INDEX states_by_node ON states (node, run);
    -- What most nodes have, where it is not what it was; null: no node tells it.
    CREATE TABLE usual (
        leaf INTEGER NOT NULL REFERENCES leaves,
        run INTEGER NOT NULL REFERENCES runs,
        value INTEGER REFERENCES texts,
        PRIMARY KEY (leaf, run)
    ) WITHOUT ROWID;
    -- What single nodes have instead, where it is not what it was; null: the usual.
    CREATE TABLE otherwise (
        leaf INTEGER NOT NULL REFERENCES leaves,
        node INTEGER NOT NULL REFERENCES nodes,
        run INTEGER NOT NULL REFERENCES runs,
        value INTEGER REFERENCES texts,
        PRIMARY KEY (leaf, node, run)
    ) WITHOUT ROWID;
    -- The median over the parts of a node, and the part that is farthest out.
    CREATE TABLE numbers (
        run INTEGER NOT NULL REFERENCES runs,
        leaf INTEGER NOT NULL REFERENCES leaves,
        node INTEGER NOT NULL REFERENCES nodes,
        median REAL NOT NULL,
        worst REAL NOT NULL,
        PRIMARY KEY (run, leaf, node)
    ) WITHOUT ROWID;
    -- The sum over the parts of a node, where it is not what it was; never seen: zero.
    CREATE TABLE counters (
        leaf INTEGER NOT NULL REFERENCES leaves,
        node INTEGER NOT NULL REFERENCES nodes,
        run INTEGER NOT NULL REFERENCES runs,
        total REAL NOT NULL,
        PRIMARY KEY (leaf, node, run)
    ) WITHOUT ROWID;
    """,
    """
    -- Of each number, over all nodes of a run.
    CREATE TABLE fleet_numbers (
        run INTEGER NOT NULL REFERENCES runs,
        leaf INTEGER NOT NULL REFERENCES leaves,
        nodes INTEGER NOT NULL,
        median REAL NOT NULL,
        deviation REAL NOT NULL,
        least REAL NOT NULL,
        most REAL NOT NULL,
        PRIMARY KEY (run, leaf)
    ) WITHOUT ROWID;
    """,
)
VERSION = len(STEPS)


class HistoryError(Exception):
    """A history that cannot be opened, read or written; the message is one line."""


@contextmanager
def opened(path: str, *, writes: bool) -> Generator[sqlite3.Connection, None, None]:
    """Yield a connection to a history; raises HistoryError.

    writes: a file that is not there is made, one of an older version brought up to
    date.
    """
    demand_history(path, may_be_new=writes)
    with refusing(path), closing(_connected(path)) as connection:
        if writes:
            _bring_up_to_date(connection, path)
        else:
            _demand_version(connection, path)
        yield connection


@contextmanager
def refusing(path: str) -> Generator[None, None, None]:
    """Turn what SQLite says into one line about that file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            text = f"another process writes it for more than {BUSY_SECONDS:.0f} s"
        message = f"{path}: history not used: {text}"
        raise HistoryError(message) from error
    except sqlite3.DatabaseError as error:
        message = f"{path}: a damaged history: {error}; put it aside, and begin anew"
        raise HistoryError(message) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Commit all that is written within it, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.rollback()
        raise
    connection.commit()


def _connected(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")  # safe with a log
    except BaseException:
        connection.close()
        raise
    return connection


def demand_history(path: str, *, may_be_new: bool) -> None:
    """Refuse a file that is something else, without opening it as a database."""
    if os.path.isdir(path):
        message = f"{path}: a folder, no history: give a file"
        raise HistoryError(message)
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            head = file.read(_AT + _LENGTH)
    except FileNotFoundError as error:
        folder = os.path.dirname(path) or "."
        if may_be_new and os.path.isdir(folder):
            return
        problem = "no such file" if os.path.isdir(folder) else "no such folder"
        message = f"{path}: {problem}; speccheck fleet --history FILE makes one"
        raise HistoryError(message) from error
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}"
        raise HistoryError(message) from error
    is_new = not head and may_be_new  # another process is about to make it
    if not is_new and (
        not head.startswith(_MAGIC)
        or int.from_bytes(head[_AT : _AT + _LENGTH], "big") != APPLICATION
    ):
        message = f"{path}: no history of speccheck; left as it is: give another file"
        raise HistoryError(message)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _version(connection: sqlite3.Connection) -> int:
    (result,) = connection.execute("PRAGMA user_version").fetchone()
    return int(result)


def _demand_version(connection: sqlite3.Connection, path: str) -> None:
    version = _version(connection)
    if version > VERSION:
        message = (
            f"{path}: a history of version {version}; this speccheck reads up to "
            f"{VERSION}: use a newer speccheck"
        )
        raise HistoryError(message)
    if version < VERSION:
        message = (
            f"{path}: a history of version {version}, older than {VERSION}: the next "
            "speccheck fleet --history brings it up to date"
        )
        raise HistoryError(message)


def _bring_up_to_date(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables, or add what newer versions have, in one transaction.

    What the file is stands in its first page before there is a log, so that others who
    look at that page never take it for something else.
    """
    if _version(connection) < VERSION:
        with transaction(connection):
            for number in range(_version(connection), VERSION):
                for statement in statements(STEPS[number]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
    _demand_version(connection, path)
    connection.execute("PRAGMA journal_mode = WAL").fetchone()


def statements(script: str) -> list[str]:
    """Return the statements of a script; those of ours hold no semicolon inside."""
    lines = (line.partition("--")[0] for line in script.splitlines())
    return [part for part in "\n".join(lines).split(";") if part.strip()]


Table = Literal["nodes", "leaves", "texts"]
_COLUMNS: dict[Table, str] = {"nodes": "name", "leaves": "name", "texts": "text"}


class Added(Record):
    """The result of adding a run.

    Attributes:
        is_new: the run was not there before.
        runs: those in the file.
    """

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
    fit = sum(state.state == "fit" for state in run.states)
    result = connection.execute(
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
    if result is None:
        return False
    _Rows(connection, run, int(result[0])).add()
    return True


class _Rows:
    """The rows of one run."""

    def __init__(
        self, connection: sqlite3.Connection, run: HistoryRun, number: int
    ) -> None:
        self.connection, self.run, self.number = connection, run, number
        names = [state.name for state in run.states]
        self.nodes = self._ids("nodes", dict.fromkeys(names))
        leaves = (*run.usual, *run.numbers, *run.counters)
        self.leaves = self._ids("leaves", dict.fromkeys(leaves))
        texts = [state.reason for state in run.states if state.reason]
        texts += run.usual.values()
        for item in run.otherwise.values():
            texts += item.values()
        self.texts = self._ids("texts", dict.fromkeys(texts))

    def add(self) -> None:
        run, number = self.run, self.number
        self._insert(
            "states",
            (
                (
                    number,
                    self.nodes[state.name],
                    state.state,
                    state.taken,
                    self.texts.get(state.reason) if state.reason else None,
                )
                for state in run.states
            ),
        )
        self._insert("usual", self._usual())
        self._insert("otherwise", self._otherwise())
        self._insert(
            "numbers",
            (
                (
                    number,
                    self.leaves[leaf],
                    self.nodes[node_number.name],
                    node_number.median,
                    node_number.worst,
                )
                for leaf, node_numbers in run.numbers.items()
                for node_number in node_numbers
            ),
        )
        self._insert(
            "fleet_numbers",
            (
                (number, self.leaves[leaf], *fleet_number)
                for leaf, fleet_number in self.run.of_fleet.items()
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
        """Return each name's number in a table of names, where new ones are added."""
        column = _COLUMNS[table]
        wanted = list(names)
        insert = f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)"  # noqa: S608
        self.connection.executemany(insert, ((_plain(text),) for text in wanted))
        query = f"SELECT {column}, id FROM {table}"  # noqa: S608 - our own
        known: dict[str, int] = dict(self.connection.execute(query))
        return {text: known[_plain(text)] for text in wanted}

    def _text(self, value: str | None) -> int | None:
        return None if value is None else self.texts[value]

    def _usual(self) -> Iterator[tuple[object, ...]]:
        """Yield the leaves whose usual value is not what it was.

        Null if no node states it.
        """
        known = self._last("usual", ("leaf",), "value")
        for leaf, value in self.run.usual.items():
            key, text = (self.leaves[leaf],), self.texts[value]
            if known.pop(key, None) != text:
                yield *key, self.number, text
        somebody_came = any(state.is_here for state in self.run.states)
        for (leaf_id,), last in known.items():
            if last is not None and somebody_came:
                yield leaf_id, self.number, None

    def _otherwise(self) -> Iterator[tuple[object, ...]]:
        """Yield what single nodes have, if it is not what they had; null: the usual."""
        known = self._last("otherwise", ("leaf", "node"), "value")
        for leaf, item in self.run.otherwise.items():
            for name, value in item.items():
                key, text = (self.leaves[leaf], self.nodes[name]), self.texts[value]
                if known.pop(key, None) != text:
                    yield *key, self.number, text
        here = {self.nodes[state.name] for state in self.run.states if state.is_here}
        numbers = {self.leaves[leaf] for leaf in self.run.usual}
        for (leaf_id, node), last in known.items():
            if last is not None and node in here and leaf_id in numbers:
                yield leaf_id, node, self.number, None

    def _counters(self) -> Iterator[tuple[object, ...]]:
        """Yield the counters that are not what they were.

        Those that never counted have none.
        """
        known = self._last("counters", ("leaf", "node"), "total")
        for leaf, counter in self.run.counters.items():
            for name, total in counter.items():
                key = self.leaves[leaf], self.nodes[name]
                if known.get(key, 0.0) != total:
                    yield *key, self.number, total

    def _last(
        self, table: str, keys: tuple[str, ...], value: str
    ) -> dict[tuple[int, ...], object]:
        """Return the newest row of each key."""
        columns = ", ".join(keys)
        query = f"SELECT {columns}, {value}, max(run) FROM {table} GROUP BY {columns}"  # noqa: S608 - our own
        rows = self.connection.execute(query)
        return {tuple(row[: len(keys)]): row[len(keys)] for row in rows}


def _plain(text: str) -> str:
    """Return a text that a database takes: names of files may hold anything."""
    return text.encode("utf-8", "replace").decode("utf-8")
