"""A fixed port for the rendezvous on nodes that are shared with other jobs.

Why it hurts: the second job with that port on a node stops with "address already in
use", or joins the rendezvous of the first.

What passes: port 0, --standalone, or a port that is worked out from the number of the
job.

Where it does not apply: nodes that are not said to be shared.

Source: pytorch/pytorch issue 116974; wenet-e2e/wespeaker issue 171.

Bad::

    #SBATCH --oversubscribe
    srun torchrun --nproc_per_node=4 --rdzv_endpoint=localhost:29500 train.py

Good::

    #SBATCH --oversubscribe
    srun torchrun --nproc_per_node=4 --rdzv_endpoint=localhost:0 train.py
"""

from speccheck.validator.evidence.launch import Launches, is_certain
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="COMM-017", confidence="advisory", about=("recovery.launcher",))
def fixed_port_on_shared_node(account: Launches) -> Verdicts:
    """Judge the port of the rendezvous where other jobs may run on the node."""
    for launch in account.launches:
        port, shared = launch.rendezvous.port, launch.is_shared
        if not shared.is_known or not is_certain(port):
            continue
        at = [port, shared]
        if port.need() == "0":
            yield passed(at=at)
            continue
        yield fail(
            f"port {port.need()} is fixed, and {shared.places[0].key} lets other jobs "
            "run on the node: two of them would meet there",
            at=at,
            measured=port.need(),
            required="a port of its own for each job",
            cost="the later job stops, or joins the rendezvous of the other",
            remedy="Use --standalone or port 0 on one node; on several, a port from "
            "the number of the job: $((15000 + SLURM_JOB_ID % 10000)).",
        )
