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

from speccheck.rules.communication._slow_members import Noise, slow_members
from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.rule import Verdicts, rule


@rule(clause="COMM-090", confidence="calibrated")
def slow_member(runs: CollectiveRuns, noise: Noise) -> Verdicts:
    """Judge all sets of one measurement together."""
    yield from slow_members(runs.shown, noise)
