"""The shape of `speccheck-history/1`, for its JSON Schema and for whoever reads one.

Nothing that runs imports this module: history_json.py writes plain data, and a test
holds the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.report.report_model import Tool


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HistoryRunRow(_Part):
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


class HistoryVerdict(_Part):
    """A node at one run."""

    taken: float
    state: str
    reason: str


class HistoryUnfit(_Part):
    """A node that is not fit in the newest run."""

    node: str
    state: str
    reason: str


class HistoryFlip(_Part):
    """A node whose state is not that of its run before."""

    node: str
    taken: float
    before: str
    now: str
    reason: str


class HistoryUnknown(_Part):
    """Why a value is not known."""

    not_known: str


class HistoryChange(_Part):
    """A leaf that is not what it was; nodes: folded, null for the usual value.

    before: null also where the nodes had several values.
    """

    leaf: str
    nodes: str | None
    taken: float
    before: str | HistoryUnknown | None
    now: str | HistoryUnknown | None


class HistoryGrowth(_Part):
    """What a counter of a node grew by; points: time and total."""

    leaf: str
    node: str
    by: float
    per_hour: float | None
    points: list[tuple[float, float]]
    began_anew: bool


class HistoryPoint(_Part):
    """A number at one run; usual: the median over all nodes."""

    taken: float
    value: float
    worst: float
    usual: float


class HistoryNumber(_Part):
    """A number over runs; node: empty for the median of the fleet."""

    leaf: str
    node: str
    points: list[HistoryPoint]


class HistoryDocument(_Part):
    """What a history tells of a fleet, of a node or of a leaf; times: since 1970."""

    schema_name: Literal["speccheck-history/1"] = Field(alias="schema")
    tool: Tool
    file: str
    node: str | None
    leaf: str | None
    runs: list[HistoryRunRow]
    verdicts: list[HistoryVerdict]
    not_fit: list[HistoryUnfit]
    flips: list[HistoryFlip]
    changes: list[HistoryChange]
    growth: list[HistoryGrowth]
    numbers: list[HistoryNumber]
