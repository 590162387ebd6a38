"""torchrun on several nodes that is not told where they meet.

Why it hurts: --master-addr is 127.0.0.1 unless it is given; torchrun does not read
MASTER_ADDR of the environment. Every node then waits for the others at itself, until
the start-up times out.

What passes: --rdzv-endpoint or --master-addr.

Where it does not apply: no --nnodes above 1; scripts inside an object of Kubernetes,
whose operator sets the PET_ variables that torchrun reads; options that stand in a
variable.

Source: pytorch torch/distributed/run.py (get_args_parser, get_rdzv_endpoint) and
argparse_util.py (the prefix PET_).

Bad::

    srun torchrun --nnodes=4 --nproc-per-node=8 train.py

Good::

    srun torchrun --nnodes=4 --rdzv-endpoint=$HEAD:29500 --rdzv-backend=c10d train.py
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.plan import Cluster, Recovery
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NODES = "--nnodes"
_SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm")


@rule(
    clause="COMM-017",
    confidence="advisory",
    about=("recovery.rendezvous_endpoint",),
)
def rendezvous_address_missing(
    environment: Environment, cluster: Cluster, recovery: Recovery
) -> Verdicts:
    """Judge whether the launcher of several nodes is given an address."""
    endpoint, launcher = recovery.rendezvous_endpoint, recovery.launcher
    nodes = cluster.nodes
    if launcher.value != "torchrun" or nodes.or_else(1) <= 1:
        return
    if not all(place.file.endswith(_SCRIPTS) for place in launcher.places):
        return
    if not any(place.key == _NODES for place in nodes.places):
        return
    if endpoint.places:
        yield passed(at=endpoint)
        return
    if endpoint.status != "default" or environment.sets("PET_*"):
        return
    yield fail(
        f"torchrun starts {nodes.need():,} nodes and is not told where they meet: each "
        f"waits at {endpoint.need()}",
        at=[launcher, nodes],
        measured=endpoint.need(),
        required="the address of one node",
        cost="every node waits for the others until the start-up times out",
        remedy="Add --rdzv-backend c10d and --rdzv-endpoint HOST:PORT.",
    )
