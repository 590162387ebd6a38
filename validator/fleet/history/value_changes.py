"""Which values changed from run to run, by the rows that say only that."""

from collections.abc import Iterable, Sequence

from speccheck.validator.evidence.fleet import VARIABLES
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.distributions import NOT_SET
from speccheck.validator.fleet.history.trends import Window
from speccheck.validator.node.host_names import fold

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
    """Leaves whose usual value changed within the window."""
    rows = window.connection.execute(
        "SELECT leaves.name, '', run, texts.text FROM usual"
        " JOIN leaves ON leaves.id = usual.leaf"
        " LEFT JOIN texts ON texts.id = usual.value"
        " WHERE ?1 IS NULL OR usual.leaf = ?1 ORDER BY usual.leaf, run",
        (leaf,),
    )
    return _steps(window, rows)


def changes_of_few(window: Window, leaf: int | None = None) -> list[ValueChange]:
    """Leaves that changed on single nodes, the nodes with one value together.

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
    found: dict[tuple[int, str, str | None], list[str]] = {}
    for name, node, run, value in rows:
        now = _usual_at(window, name, run) if value is None else value
        found.setdefault((run, name, now), []).append(node)
    return [
        ValueChange(name, fold(nodes), window.taken[run], None, value)
        for (run, name, value), nodes in found.items()
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
    """Leaves of a node that changed within the window, usual values filled in."""
    name = window.name("nodes", node)
    attended = window.attended(node)
    query = (
        "SELECT DISTINCT leaves.id, leaves.name FROM usual"
        " JOIN leaves ON leaves.id = usual.leaf WHERE ?1 IS NULL OR leaves.id = ?1"
    )
    found: list[_Row] = []
    for leaf_id, leaf_name in window.connection.execute(query, (leaf,)).fetchall():
        usual = _texts(window, "usual", "leaf = ?", (leaf_id,))
        own = _texts(window, "otherwise", "leaf = ? AND node = ?", (leaf_id, node))
        for run in attended:
            common, value = _at(usual, run), _at(own, run)
            told = common if common is None or value is None else value
            found.append((leaf_name, name, run, told))
    return _steps(window, found)


def _texts(
    window: Window, table: str, where: str, values: tuple[int, ...]
) -> list[tuple[int, str | None]]:
    query = (
        f"SELECT run, texts.text FROM {table}"  # noqa: S608 - our own
        f" LEFT JOIN texts ON texts.id = value WHERE {where} ORDER BY run"
    )
    return window.connection.execute(query, values).fetchall()


def _at(steps: Sequence[tuple[int, str | None]], run: int) -> str | None:
    """The value that was in force at a run."""
    found = None
    for number, value in steps:
        if number > run:
            break
        found = value
    return found


def _steps(window: Window, rows: Iterable[_Row]) -> list[ValueChange]:
    """Steps from one row to the next of a leaf, of runs that are shown."""
    found: list[ValueChange] = []
    before: tuple[str, str | None] = "", None
    for leaf, node, run, told in rows:
        # Of a variable that no node sets there is no leaf.
        is_unset = told is None and leaf.startswith(VARIABLES)
        value = NOT_SET if is_unset else told
        is_step = before[0] == leaf and before[1] != value
        if is_step and run in window.order:
            taken = window.taken[run]
            found.append(ValueChange(leaf, node, taken, before[1], value))
        before = leaf, value
    return found
