"""The judgement of a tournament as JSON, `speccheck-bench-judgement/1`.

Fields are only ever added.
"""

import json

from speccheck.validator import VERSION
from speccheck.validator.straggler_search.follow_up import Outcome, Planned
from speccheck.validator.straggler_search.judgement import (
    JudgedNode,
    JudgedSets,
    Limits,
    undecided_words,
)
from speccheck.validator.straggler_search.rounds import SCHEMA as PLAN_SCHEMA
from speccheck.validator.straggler_search.rounds import Plan

SCHEMA = "speccheck-bench-judgement/1"


def judgement_json(outcome: Outcome, limits: Limits) -> str:
    """The whole document."""
    judgement = outcome.judgement
    document = {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": VERSION},
        "answer": outcome.answer,
        "exit_code": outcome.exit_code,
        "nodes": [_node(one) for one in judgement.nodes],
        "open": list(judgement.open),
        "conditions": [_conditions(one, limits) for one in judgement.conditions],
        "left_out": [
            {"reason": reason, "runs": runs} for reason, runs in judgement.left_out
        ],
        "not_read": list(outcome.not_read),
        "planned": None if outcome.planned is None else _planned(outcome.planned),
        "next": None if outcome.following is None else _plan(outcome.following),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _node(one: JudgedNode) -> dict[str, object]:
    return {
        "host": one.host,
        "verdict": one.verdict,
        "why": one.why,
        "bus_bytes_per_second": one.bytes_per_second,
        "share_of_peers": one.share,
        "deviations_below": one.deviations,
        "sets": one.sets,
        "slow_sets": one.slow_sets,
        "cleared_partners": one.partners,
        "by_chance": one.chance,
    }


def _conditions(one: JudgedSets, limits: Limits) -> dict[str, object]:
    found, peers = one.sets.conditions, one.peers
    return {
        "collective": found.collective,
        "size_bytes": one.sets.size_bytes,
        "nodes_in_a_set": found.hosts,
        "ranks": found.ranks,
        "backend": found.backend,
        "data_type": found.data_type,
        "placement": found.placement,
        "algorithm": found.algorithm,
        "tool": found.tool,
        "gpu": found.gpu,
        "sets": len(one.sets.trials),
        "slow_sets": one.slow_sets,
        "state": one.state,
        "reason": None if one.state == "judged" else undecided_words(one, limits),
        "median_bytes_per_second": None if peers is None else peers.median,
        "deviation_bytes_per_second": None if peers is None else peers.deviation,
        "least_bytes_per_second": None if peers is None else peers.least,
    }


def _planned(one: Planned) -> dict[str, object]:
    return {**one._asdict(), "missing": list(one.missing)}


def _plan(plan: Plan) -> dict[str, object]:
    rounds = [[list(hosts) for hosts in sets] for sets in plan.rounds]
    return {"schema": PLAN_SCHEMA, "kind": plan.kind, "rounds": rounds}
