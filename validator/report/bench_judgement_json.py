"""The judgement of a tournament as JSON, `speccheck-bench-judgement/1`."""

from typing import Annotated, Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.serialise import TOOL, Tool, alike, document_text
from speccheck.validator.straggler_search.follow_up import (
    Answer,
    Planned,
    SearchOutcome,
)
from speccheck.validator.straggler_search.judgement import (
    JudgedNode,
    JudgedSets,
    Limits,
    State,
    Verdict,
    undecided_words,
)
from speccheck.validator.straggler_search.rounds import SCHEMA as PLAN_SCHEMA
from speccheck.validator.straggler_search.rounds import Kind, SearchPlan

_Host = Annotated[str, ("min_length", 1)]
_Set = Annotated[tuple[_Host, ...], ("min_length", 1)]


class BenchPlan(Record):
    """Rounds of disjoint sets of hosts; all sets of a round measure at the same time.

    nodes, set_size and waiting are for people: all hosts, the hosts of the largest set,
    and who has no set in a round. Whoever writes a plan may leave them out, and add
    fields of his own.
    """

    schema_name: Literal["speccheck-bench-plan/1"]
    kind: Kind
    rounds: tuple[tuple[_Set, ...], ...]
    nodes: Annotated[str, ("default", "")]
    set_size: Annotated[int, ("default", 0)]
    waiting: Annotated[tuple[str, ...], ("default", [])]


class NodeVerdict(Record):
    """One node: slow, suspected, or cleared by a set at full speed.

    by_chance: of how many healthy nodes transient swings alone would make such a one.
    cleared_partners: different partners, all cleared, with which it was slow.
    """

    host: str
    verdict: Verdict
    why: str
    bus_bytes_per_second: float | None
    share_of_peers: float | None
    deviations_below: float | None
    sets: int
    slow_sets: int
    cleared_partners: int
    by_chance: float


class ComparedSets(Record):
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
    state: State
    reason: str | None
    median_bytes_per_second: float | None
    deviation_bytes_per_second: float | None
    least_bytes_per_second: float | None


class LeftOut(Record):
    """Runs that could not be compared."""

    reason: str
    runs: int


class BenchJudgement(Record):
    """The whole document; open: measured nodes that could not be judged."""

    schema_name: Literal["speccheck-bench-judgement/1"]
    tool: Tool
    answer: Answer
    exit_code: int
    nodes: tuple[NodeVerdict, ...]
    open: tuple[str, ...]
    conditions: tuple[ComparedSets, ...]
    left_out: tuple[LeftOut, ...]
    not_read: tuple[str, ...]
    planned: Planned | None
    next: BenchPlan | None


def judgement_json(outcome: SearchOutcome, limits: Limits) -> str:
    """Return the whole document."""
    judgement = outcome.judgement
    document = alike(
        BenchJudgement,
        outcome,
        schema_name="speccheck-bench-judgement/1",
        tool=TOOL,
        nodes=[_node(node) for node in judgement.nodes],
        open=judgement.open,
        conditions=[_conditions(sets, limits) for sets in judgement.conditions],
        left_out=[LeftOut(*runs) for runs in judgement.left_out],
        next=None if outcome.following is None else _plan(outcome.following),
    )
    return document_text(document, ensure_ascii=False)


def _node(node: JudgedNode) -> NodeVerdict:
    return alike(
        NodeVerdict,
        node,
        bus_bytes_per_second=node.bytes_per_second,
        share_of_peers=node.share,
        deviations_below=node.deviations,
        cleared_partners=node.partners,
        by_chance=node.chance,
    )


def _conditions(judged: JudgedSets, limits: Limits) -> ComparedSets:
    conditions, peers = judged.sets.conditions, judged.peers
    return alike(
        ComparedSets,
        conditions,
        size_bytes=judged.sets.size_bytes,
        nodes_in_a_set=conditions.hosts,
        sets=len(judged.sets.trials),
        slow_sets=judged.slow_sets,
        state=judged.state,
        reason=None if judged.state == "judged" else undecided_words(judged, limits),
        median_bytes_per_second=peers and peers.median,
        deviation_bytes_per_second=peers and peers.deviation,
        least_bytes_per_second=peers and peers.least,
    )


def _plan(plan: SearchPlan) -> dict[str, object]:
    """Return the plan without what is for people."""
    return {"schema": PLAN_SCHEMA, "kind": plan.kind, "rounds": plan.rounds}
