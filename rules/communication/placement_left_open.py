"""A job of hundreds of GPUs whose placement is left to chance.

Why it hurts: a scheduler that is not asked fills free nodes wherever they are. Rings
then cross the spine of the network at every step and meet the traffic of other jobs.

What passes: --switches of Slurm, or the exclusive topology of a JobSet.

Where it does not apply: jobs below size class L; schedulers of which no file speaks.

Source: Slurm sbatch documentation (--switches, topology plugin); kubernetes-sigs/jobset
documentation (exclusive-topology).

Bad::

    #SBATCH --nodes=128

Good::

    #SBATCH --nodes=128 --switches=2@12:00:00
"""

from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="COMM-053",
    confidence="advisory",
    about=("cluster.placement_requested",),
)
def placement_left_open(cluster: Cluster) -> Verdicts:
    """Judge whether the scheduler is asked to keep the job together."""
    value, nodes = cluster.placement_requested, cluster.nodes
    if not value.is_known:
        return
    if value.need():
        yield passed(at=value)
        return
    yield fail(
        f"{nodes.need():,} nodes are requested, without a limit on how far apart",
        at=[nodes],
        measured="not asked for",
        required="asked for",
        cost="rings cross the spine of the network more often than they must",
    )
