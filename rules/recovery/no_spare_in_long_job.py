"""No spare node in a run that will fail.

Why it hurts: a run longer than the time between its failures loses a node on the way.
Without a spare it waits for the repair, or for its turn in the queue.

What passes: a spare node, or a run that is shorter than the failure law's most
favourable time between failures.

Where it does not apply: plans that say nothing of spares; from size class L on FT-006
asks for more.

Source: 2.3 to 6.5 failures per 1000 node-days (arXiv:2407.21783, arXiv:2410.21680).

Bad::

    cluster: {nodes: 32, spare_nodes: 0}
    run: {hours: 1500}

Good::

    cluster: {nodes: 32, spare_nodes: 1}
    run: {hours: 1500}
"""

from speccheck.validator.evidence.plan import Cluster, Run, TrainingPlan
from speccheck.validator.forecast.checkpointing import time_between_failures
from speccheck.validator.models.units import duration, seconds_in
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class SpareLimit(Numbers):
    """How many nodes to keep ready."""

    spare_min: int


@rule(clause="FT-022", confidence="advisory", about=("cluster.spare_nodes",))
def no_spare_in_long_job(
    plan: TrainingPlan, cluster: Cluster, run: Run, limit: SpareLimit
) -> Verdicts:
    """Judge the spares of a run longer than its time between failures."""
    spares, hours = cluster.spare_nodes, run.hours
    length = seconds_in(hours.need())
    longest = time_between_failures(plan).need().upper
    at = [spares, hours]
    if spares.need() >= limit.spare_min or length <= longest:
        yield passed(at=at, measured=spares.need())
        return
    yield fail(
        f"a run of {duration(length)} on {cluster.nodes.need():,} nodes, which fail "
        f"each {duration(longest)} at best, has {spares.need()} spares",
        at=at,
        measured=spares.need(),
        required=limit.spare_min,
        cost="at each lost node the run waits for a repair or for the queue",
        remedy=f"Keep {limit.spare_min} node ready.",
    )
