"""Too few hot spares for the nodes of the job.

Why it hurts: at this size a node is lost every few days, and a repair takes about one.
Without a spare the whole job waits for it.

What passes: the share of spare nodes that the clause asks for, at least its minimum.

Where it does not apply: jobs below the size class of the clause. Plans that do not say
how many spares there are stay unknown.

Source: engineering default; a Poisson quantile for comparison
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
    needed = max(limit.spare_min, ceil(limit.spare_share * nodes))
    if spares.need() >= needed:
        yield passed(at=spares, measured=spares.need(), required=needed)
        return
    enough = recovery_forecast(plan).named("hot_spares").need()
    yield fail(
        f"{spares.need()} spares for {nodes:,} nodes; at least {needed} are needed, "
        f"and {enough.value:g} suffice in 99 of 100 cases where a repair takes a day",
        at=[spares, cluster.nodes],
        measured=spares.need(),
        required=needed,
        cost="the whole job waits for a repair when one more node breaks",
        remedy=f"Keep {needed} to {enough.value:g} nodes ready.",
    )
