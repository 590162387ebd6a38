"""Too few hot spares for the nodes of the job.

Why it hurts: at this size a node is lost every few days, and a repair takes about one.
Without a spare the whole job waits for it.

What passes: as many spare nodes as suffice in 99 of 100 cases where a repair takes a
day, at least the minimum of the clause and never more than its share of the nodes.

Where it does not apply: jobs below the size class of the clause. Plans that do not say
how many spares there are stay unknown.

Source: Poisson quantile of the nodes under repair, by the failure law
(arXiv:2410.21680, ByteRobust: 4 spares for 1,024 machines).

Bad::

    cluster: {nodes: 256, spare_nodes: 0}

Good::

    cluster: {nodes: 256, spare_nodes: 5}
"""

from math import ceil

from speccheck.validator.evidence.plan import Cluster, TrainingPlan
from speccheck.validator.forecast.recovery import recovery_forecast
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class SpareLimit(Numbers):
    """The least number of spare nodes and their share."""

    spare_min: int
    spare_share: float


@rule(clause="FT-006", confidence="calibrated")
def no_hot_spares(plan: TrainingPlan, cluster: Cluster, limit: SpareLimit) -> Verdicts:
    """Judge the spare nodes against the nodes of the job."""
    spares, nodes = cluster.spare_nodes, cluster.nodes.need()
    enough = recovery_forecast(plan).named("hot_spares").need()
    modelled = min(int(enough.value), ceil(limit.spare_share * nodes))
    needed = max(limit.spare_min, modelled)
    if spares.need() >= needed:
        yield passed(at=spares, measured=spares.need(), required=needed)
        return
    yield fail(
        f"{spares.need()} spares for {nodes:,} nodes; {needed} are needed, and "
        f"{enough.value:g} suffice in 99 of 100 cases where a repair takes a day",
        at=[spares, cluster.nodes],
        measured=spares.need(),
        required=needed,
        cost="the whole job waits for a repair when one more node breaks",
        remedy=f"Keep {max(needed, int(enough.value))} nodes ready.",
    )
