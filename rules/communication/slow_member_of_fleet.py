"""A node of the fleet that makes every set of nodes slow in which it takes part.

Why it hurts: a collective is as fast as its slowest member. Rounds of pairs, which
nodes measure while they wait for a job, tell which one that is; the collective over all
nodes only tells that it is slow.

What passes: at least some sets of one kind, each node at full speed in one of them.

Where it does not apply: fleets whose snapshots hold no runs of several nodes. Sets of
another size, collective or message are never compared.

Source: Azure/azurehpc-health-checks and GoogleCloudPlatform/cluster-health-scanner,
that ask for a second failing run with another partner before a node is drained.

Bad::

    node003 + node007   21 GB/s
    node003 + node011   22 GB/s
    node007 + node011   46 GB/s

Good::

    node003 + node007   46 GB/s
    node003 + node011   45 GB/s
    node007 + node011   46 GB/s
"""

from speccheck.rules.communication._slow_members import Noise, slow_members
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule
from speccheck.validator.straggler_search.judgement import hosts_of


@rule(clause="COMM-090", confidence="calibrated")
def slow_member_of_fleet(fleet: Fleet, noise: Noise) -> Verdicts:
    """Judge the runs of several nodes, of all snapshots together."""
    runs = [run for run in fleet.runs if len(hosts_of(run)) > 1]
    if not runs:
        return
    nodes = {node.name: node.name for node in fleet.nodes}
    # Engines say node7 where a host calls itself node7.cluster.
    by_short_name = {name.partition(".")[0]: name for name in nodes}

    def named(host: str) -> tuple[str, ...]:
        text = nodes.get(host) or by_short_name.get(host.partition(".")[0])
        return (text,) if text else ()

    yield from slow_members(runs, noise, named)
