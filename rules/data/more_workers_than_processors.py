"""More loader workers than the processors of the job.

Why it hurts: workers that share processors prepare batches late, and the thread of each
rank that launches kernels waits behind them. PyTorch warns in the log of each rank.

What passes: processors for all workers of the node, and the clause's number for each
rank.

Where it does not apply: the processors that the job gets, or the workers, are not
stated; a Slurm job that has the node to itself.

Source: pytorch torch/utils/data/dataloader.py (_check_worker_number_rationality).

Bad::

    #SBATCH --ntasks-per-node=8 --cpus-per-task=4
    srun train.py --num-workers 8

Good::

    #SBATCH --ntasks-per-node=8 --cpus-per-task=12
    srun train.py --num-workers 8
"""

from speccheck.validator.evidence.plan import Cluster, Data, Recovery
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Processors(Numbers):
    """The processors that a rank needs besides its workers."""

    cpus_of_rank: int


@rule(
    clause="DATA-021",
    confidence="advisory",
    about=("cluster.job_cpus_per_node",),
)
def more_workers_than_processors(
    cluster: Cluster, data: Data, recovery: Recovery, need: Processors
) -> Verdicts:
    """Judge (workers + own) x ranks <= processors of the job on a node."""
    processors, workers = cluster.job_cpus_per_node, data.workers
    if not processors.is_known or not workers.or_else(0):
        return
    processes = recovery.processes_per_node
    ranks = processes if processes.is_known else cluster.gpus_per_node
    each, count = workers.need() + need.cpus_of_rank, ranks.need()
    wanted, there = each * count, processors.need()
    at = [workers, processors, ranks]
    if wanted <= there:
        yield passed(at=at, measured=there, required=wanted)
        return
    yield fail(
        f"{count} ranks x ({workers.need()} loader workers + {need.cpus_of_rank}) = "
        f"{wanted} on {there} CPUs of the job",
        at=at,
        measured=there,
        required=wanted,
        cost="batches come late, and kernels are launched late",
        remedy=f"Ask for {wanted} CPUs on each node, or lower the workers.",
    )
