"""The shapes of `speccheck-bench-plan/1` and `speccheck-bench-judgement/1`.

For their JSON Schemas and for whoever reads such a document. Nothing that runs imports
this module: plan_file.py and bench_judgement_json.py write plain data, and tests hold
them together.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.report.report_model import Tool

_Host = Annotated[str, Field(min_length=1)]
_Set = Annotated[list[_Host], Field(min_length=1)]


class BenchPlan(BaseModel):
    """Rounds of disjoint sets of hosts; all sets of a round measure at the same time.

    nodes, set_size and waiting are for people: all hosts, the hosts of the largest set,
    and who has no set in a round. Whoever writes a plan may leave them out, and add
    fields of his own.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    schema_name: Literal["speccheck-bench-plan/1"] = Field(alias="schema")
    kind: Literal["pairs", "groups"]
    rounds: list[list[_Set]]
    nodes: str = ""
    set_size: int = 0
    waiting: list[str] = []


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeVerdict(_Part):
    """One node: slow, suspected, or cleared by a set at full speed.

    by_chance: of how many healthy nodes transient swings alone would make such a one.
    cleared_partners: different partners, all cleared, with which it was slow.
    """

    host: str
    verdict: Literal["slow", "suspect", "cleared"]
    why: str
    bus_bytes_per_second: float | None
    share_of_peers: float | None
    deviations_below: float | None
    sets: int
    slow_sets: int
    cleared_partners: int
    by_chance: float


class ComparedSets(_Part):
    """Sets under the same conditions, and what is usual among them."""

    collective: str
    size_bytes: int
    nodes_in_a_set: int
    ranks: int | None
    backend: str | None
    data_type: str | None
    placement: str | None
    algorithm: str | None
    tool: str | None
    gpu: str | None
    sets: int
    slow_sets: int
    state: Literal["judged", "too_few", "split", "noisy"]
    reason: str | None
    median_bytes_per_second: float | None
    deviation_bytes_per_second: float | None
    least_bytes_per_second: float | None


class LeftOut(_Part):
    """Runs that could not be compared."""

    reason: str
    runs: int


class PlannedNodes(_Part):
    """What the plan asked for, and what of it is not in the results."""

    nodes: int
    missing: list[str]
    sets: int
    sets_measured: int


class BenchJudgement(_Part):
    """The whole document; open: measured nodes that could not be judged."""

    schema_name: Literal["speccheck-bench-judgement/1"] = Field(alias="schema")
    tool: Tool
    answer: Literal["slow", "suspects", "inconclusive", "none_slow"]
    exit_code: int
    nodes: list[NodeVerdict]
    open: list[str]
    conditions: list[ComparedSets]
    left_out: list[LeftOut]
    not_read: list[str]
    planned: PlannedNodes | None
    next: BenchPlan | None
