"""A node that makes every set of nodes slow in which it takes part.

Why it hurts: a collective is as fast as its slowest member. One worn cable, one adapter
that fell back to a lower rate or one board that throttles slows each step of the job,
and the collective over all nodes only tells that it is slow.

What passes: at least some sets of one kind, each node at full speed in one of them.

Where it does not apply: a single run, or runs that do not name their hosts. Sets of
another size, collective or message are never compared. Where all are slow alike there
is no outlier: the floor of the fabric tells of that.

Source: Azure/azurehpc-health-checks and GoogleCloudPlatform/cluster-health-scanner,
that ask for a second failing run with another partner before a node is drained; group
testing (Dorfman 1943) for who is cleared.

Bad::

    node003 + node007   21 GB/s
    node003 + node011   22 GB/s
    node007 + node011   46 GB/s

Good::

    node003 + node007   46 GB/s
    node003 + node011   45 GB/s
    node007 + node011   46 GB/s
"""

from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.rule import (
    Numbers,
    Verdict,
    Verdicts,
    fail,
    passed,
    rule,
    unknown,
)
from speccheck.validator.tournament.judgement import (
    JudgedNode,
    Judgement,
    Limits,
    judge,
)
from speccheck.validator.tournament.wording import (
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


@rule(clause="COMM-090", confidence="calibrated")
def slow_member(runs: CollectiveRuns, noise: Noise) -> Verdicts:
    """Judge all sets together; nothing is said of runs that are no tournament."""
    limits = Limits(*(getattr(noise, name) for name in Limits._fields))
    found = judge(runs.shown, limits)
    if not found.is_tournament:
        return
    for node in found.nodes:
        at = [trial.place for trial in node.slow_trials]
        if node.verdict == "slow":
            yield _slow(node, found)
        elif node.verdict == "suspect":
            message = f"{node.host} is a suspect: {node.why}"
            yield unknown(message, missing=["collective_runs"], at=at)
    judged = [one for one in found.conditions if one.state == "judged"]
    for one in found.undecided:
        message = f"{set_words(one.sets)}: {undecided_words(one, limits)}"
        at = [one.sets.trials[0].place]
        yield unknown(message, missing=["collective_runs"], at=at)
    if judged and not found.open and not found.accused:
        yield passed(at=[one.sets.trials[0].place for one in judged])


def _slow(node: JudgedNode, found: Judgement) -> Verdict:
    sets, peers = found.of(node)
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
    )
