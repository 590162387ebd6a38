"""What `speccheck history` tells: of a fleet, of a node, of one leaf."""

from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.history.database import opened
from speccheck.validator.fleet.history.trends import (
    CounterGrowth,
    Flip,
    NodeDay,
    NumberTrend,
    RunRow,
    ValueChange,
    Window,
    changes_of,
    changes_of_few,
    growth,
    usual_changes,
)


class HistorySummary(Record):
    """The history of a fleet over some days, for one node or for all.

    file: the history.
    node, leaf: what it is limited to; empty for all.
    unfit: node, state and reason in the newest run.
    """

    file: str
    node: str
    leaf: str
    runs: tuple[RunRow, ...]
    days: tuple[NodeDay, ...]
    unfit: tuple[tuple[str, str, str], ...]
    flips: tuple[Flip, ...]
    changes: tuple[ValueChange, ...]
    growth: tuple[CounterGrowth, ...]
    numbers: tuple[NumberTrend, ...]


def history_summary(
    path: str, *, node: str = "", leaf: str = "", days: float | None = None
) -> HistorySummary:
    """Return what a history says; raises HistoryError.

    Args:
        path: of the file.
        node: tell of this one alone.
        leaf: tell of this one alone.
        days: before the newest run; None for all.

    """
    with opened(path, writes=False) as connection:
        connection.execute("BEGIN")  # one state of the file, whoever writes meanwhile
        window = Window(connection, path, days)
        of_node = window.number_of_node(node) if node else None
        of_leaf = window.number_of_leaf(leaf) if leaf else None
        is_of_all = of_node is None and of_leaf is None
        return HistorySummary(
            path,
            node,
            leaf,
            window.runs,
            () if of_node is None else window.days_of(of_node),
            window.unfit_now() if is_of_all else (),
            tuple(window.flips()) if is_of_all else (),
            _changes(window, of_node, of_leaf),
            tuple(growth(window, of_node, of_leaf)),
            window.numbers(of_node, of_leaf),
        )


def _changes(
    window: Window, node: int | None, leaf: int | None
) -> tuple[ValueChange, ...]:
    """Return the values that changed, the oldest change first."""
    if node is not None:
        value_changes = changes_of(window, node, leaf)
    else:
        value_changes = [*usual_changes(window, leaf), *changes_of_few(window, leaf)]
    return tuple(
        sorted(
            value_changes,
            key=lambda value_change: (
                value_change.taken,
                value_change.leaf,
                value_change.nodes,
            ),
        )
    )
