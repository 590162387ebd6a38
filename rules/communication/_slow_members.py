"""Verdicts on nodes that make the sets slow in which they take part."""

from collections.abc import Callable, Iterable

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, unknown
from speccheck.validator.straggler_search.judgement import (
    JudgedNode,
    Limits,
    SearchJudgement,
    judge,
    rate_words,
    set_words,
    undecided_words,
)


class Noise(Numbers):
    """What is noise among peers, and how much evidence blames a node."""

    max_deviations: float
    max_shortfall: float
    swing: float
    fewest_sets: int
    smallest_message: int
    usual_swings: float
    largest_chance: float
    split_share: float


def _nobody(_: str) -> tuple[str, ...]:
    return ()


def slow_members(
    runs: Iterable[CollectiveRun],
    noise: Noise,
    hosts_of: Callable[[str], tuple[str, ...]] = _nobody,
) -> Verdicts:
    """Judge all sets together; nothing is said of runs that are no tournament.

    Args:
        runs: of collectives, each with its hosts.
        noise: the numbers of the clause.
        hosts_of: the nodes of a fleet that a host of a run is.

    """
    limits = Limits(*(getattr(noise, name) for name in Limits._fields))
    judgement = judge(tuple(runs), limits)
    if not judgement.is_tournament:
        return
    for node in judgement.nodes:
        at = [trial.place for trial in node.slow_trials]
        hosts = hosts_of(node.host)
        if node.verdict == "slow":
            yield _slow(node, judgement, hosts)
        elif node.verdict == "suspect":
            message = f"{node.host} is a suspect: {node.why}"
            yield unknown(message, missing=["collective_runs"], at=at, hosts=hosts)
    judged = [
        condition for condition in judgement.conditions if condition.state == "judged"
    ]
    for judged_sets in judgement.undecided:
        message = (
            f"{set_words(judged_sets.sets)}: {undecided_words(judged_sets, limits)}"
        )
        at = [judged_sets.sets.trials[0].place]
        yield unknown(message, missing=["collective_runs"], at=at)
    if judged and not judgement.open and not judgement.accused:
        yield passed(at=[judged_sets.sets.trials[0].place for judged_sets in judged])


def _slow(
    node: JudgedNode, judgement: SearchJudgement, hosts: tuple[str, ...]
) -> Verdict:
    sets, peers = judgement.of(node)
    usual, least = rate_words(peers.median), rate_words(peers.least)
    reached = f"{rate_words(node.bytes_per_second)} GB/s at the median"
    return fail(
        f"{node.host} is slow: {node.why}; {set_words(sets.sets)}: {reached} of "
        f"{node.sets} sets, {node.share or 0:.0%} of its peers; the usual is {usual} "
        f"GB/s, and {least} GB/s the least that is not an outlier",
        at=[trial.place for trial in node.slow_trials],
        measured=node.bytes_per_second,
        required=peers.least,
        cost="every collective with it runs at its speed",
        remedy=f"Take {node.host} out of the job, probe it (speccheck probe), and let "
        "it back after a round with other nodes.",
        action="ISOLATE",
        hosts=hosts,
    )
