"""A launcher of several nodes that is not told where they meet.

Why it hurts: --master-addr is 127.0.0.1 unless it is given; torchrun does not read
MASTER_ADDR of the environment. Every node then waits for the others at itself, until
the start-up times out. accelerate hands the word None on as the address.

What passes: --rdzv-endpoint or --master-addr; main_process_ip of accelerate.

Where it does not apply: no --nnodes above 1; scripts inside an object of Kubernetes,
whose operator sets the PET_ variables that torchrun reads; options that stand in a
variable; accelerate with DeepSpeed, whose own launcher takes the hosts from a file.

Source: pytorch torch/distributed/run.py (get_args_parser, get_rdzv_endpoint) and
argparse_util.py (the prefix PET_); huggingface/accelerate utils/launch.py
(prepare_multi_gpu_env).

Bad::

    srun torchrun --nnodes=4 --nproc-per-node=8 train.py

Good::

    srun torchrun --nnodes=4 --rdzv-endpoint=$HEAD:29500 --rdzv-backend=c10d train.py
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.plan import Cluster, Parallelism, Recovery
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_NODES = {"torchrun": ("--nnodes",), "accelerate": ("--num_machines", "num_machines")}
_REMEDIES = {
    "torchrun": "Add --rdzv-endpoint HOST:PORT with the address of the first node.",
    "accelerate": "Add --main_process_ip HOST and --main_process_port PORT with the "
    "address of the first node.",
}


@rule(
    clause="COMM-017",
    confidence="advisory",
    about=("recovery.launcher",),
)
def rendezvous_address_missing(
    environment: Environment,
    cluster: Cluster,
    recovery: Recovery,
    parallelism: Parallelism,
) -> Verdicts:
    """Judge whether the launcher of several nodes is given an address."""
    endpoint, launcher = recovery.rendezvous_endpoint, recovery.launcher
    nodes = cluster.nodes
    counted = _NODES.get(launcher.value or "", ())
    if nodes.or_else(1) <= 1 or not any(place.key in counted for place in nodes.places):
        return
    if not all(place.file.endswith(SCRIPT_SUFFIXES) for place in launcher.places):
        return
    if endpoint.places:
        yield passed(at=endpoint)
        return
    if launcher.value == "torchrun":
        if endpoint.status != "default" or environment.sets("PET_*"):
            return
        where = f"each waits at {endpoint.need()}"
    else:
        if endpoint.note or parallelism.engine.value == "deepspeed":
            return
        if not launcher.places:
            yield unknown(
                f"{nodes.need():,} nodes, and main_process_ip is left to the launch",
                missing=[endpoint.name],
                at=nodes,
            )
            return
        where = "main_process_ip is not set"
    yield fail(
        f"{launcher.need()} starts {nodes.need():,} nodes without an address where "
        f"they meet: {where}",
        at=[launcher, nodes],
        measured=endpoint.value or "none",
        required="the address of one node",
        cost="every node waits for the others until the start-up times out",
        remedy=_REMEDIES[launcher.need()],
    )
