"""What a history tells, as JSON: `speccheck-history/1`."""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.history.summary import HistorySummary
from speccheck.validator.fleet.history.trends import (
    CounterGrowth,
    Flip,
    NodeDay,
    NumberTrend,
)
from speccheck.validator.report.serialise import TOOL, Tool, alike, document_text


class HistoryRunRow(Record):
    """One judged fleet; taken: when the newest of its nodes was looked at."""

    taken: float
    job: str
    verdict: str
    reason: str
    exit_code: int
    nodes: int
    fit: int
    is_synthetic: bool
    edition: str
    tool: str


class HistoryUnfit(Record):
    """A node that is not fit in the newest run."""

    node: str
    state: str
    reason: str


class HistoryUnknown(Record):
    """Why a value is not known."""

    not_known: str


class HistoryChange(Record):
    """A leaf that is not what it was; nodes: folded, null for the usual value.

    before: null also where the nodes had several values.
    """

    leaf: str
    nodes: str | None
    taken: float
    before: str | HistoryUnknown | None
    now: str | HistoryUnknown | None


class HistoryDocument(Record):
    """What a history tells of a fleet, of a node or of a leaf; times: since 1970."""

    schema_name: Literal["speccheck-history/1"]
    tool: Tool
    file: str
    node: str | None
    leaf: str | None
    runs: tuple[HistoryRunRow, ...]
    verdicts: tuple[NodeDay, ...]
    not_fit: tuple[HistoryUnfit, ...]
    flips: tuple[Flip, ...]
    changes: tuple[HistoryChange, ...]
    growth: tuple[CounterGrowth, ...]
    numbers: tuple[NumberTrend, ...]


def history_json(result: HistorySummary) -> str:
    """Return the whole document; times are seconds since 1970."""
    document = HistoryDocument(
        schema_name="speccheck-history/1",
        tool=TOOL,
        file=result.file,
        node=result.node or None,
        leaf=result.leaf or None,
        runs=tuple(
            alike(HistoryRunRow, run, is_synthetic=bool(run.is_synthetic))
            for run in result.runs
        ),
        verdicts=result.days,
        not_fit=tuple(HistoryUnfit(*node) for node in result.unfit),
        flips=result.flips,
        changes=tuple(
            alike(
                HistoryChange,
                change,
                nodes=change.nodes or None,
                before=_value(change.before),
                now=_value(change.now),
            )
            for change in result.changes
        ),
        growth=result.growth,
        numbers=result.numbers,
    )
    return document_text(document)


def _value(text: str | None) -> str | HistoryUnknown | None:
    """Return a value; of none, why; null where no node stated the leaf."""
    if text is not None and text.startswith("?"):
        return HistoryUnknown(text[1:])
    return text if text is None else text.removeprefix("=")
