"""A launcher that starts more processes than devices are visible.

Why it hurts: two ranks share one GPU. NCCL stops with a duplicate GPU, or the ranks run
out of memory together.

What passes: at least one visible device for each process.

Where it does not apply: CUDA_VISIBLE_DEVICES is not set, or is set outside the files;
deepspeed with --num_gpus, which ignores it (visible_devices_ignored).

Source: NVIDIA/nccl duplicate GPU test in init.cc; clessig/atmorep issue 77.

Bad::

    export CUDA_VISIBLE_DEVICES=0
    torchrun --nproc-per-node=8 train.py

Good::

    export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
    torchrun --nproc-per-node=8 train.py
"""

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.launch import Launches
from speccheck.validator.evidence.mending import variable_set
from speccheck.validator.evidence.plan import Cluster, Recovery
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NAME = "CUDA_VISIBLE_DEVICES"


@rule(clause="COMM-017", about=("CUDA_VISIBLE_DEVICES",))
def more_processes_than_devices(
    environment: Environment, recovery: Recovery, cluster: Cluster, account: Launches
) -> Verdicts:
    """Judge processes on a node <= visible devices."""
    variable, processes = environment.find(_NAME), recovery.processes_per_node
    launches = [item for item in account.launches if item.launcher.value != "python"]
    if not processes.is_known and len(launches) == 1:
        processes = launches[0].processes_of_task
    if variable is None or not variable.value or not processes.is_known:
        return
    if any(launch.launcher.value == "deepspeed" for launch in launches):
        return
    devices = [part for part in variable.value.split(",") if part.strip()]
    at = [variable.place, *processes.places]
    if processes.need() <= len(devices):
        yield passed(at=at, measured=processes.need(), required=len(devices))
        return
    yield fail(
        f"{processes.need()} processes start on a node where {_NAME} shows "
        f"{len(devices)} device{'s' if len(devices) != 1 else ''}",
        at=at,
        measured=processes.need(),
        required=len(devices),
        cost="NCCL stops with a duplicate GPU",
        remedy=f"List {processes.need()} devices, or do not set {_NAME}.",
        fix=_fix(variable, devices, processes.need(), cluster),
    )


def _fix(
    variable: Variable, devices: list[str], processes: int, cluster: Cluster
) -> Fix | None:
    """Propose as many devices as processes, if the node has them and counts them."""
    all_of_them = [str(index) for index in range(processes)]
    if not set(devices) <= set(all_of_them):
        return None
    if cluster.gpus_per_node.or_else(processes) < processes:
        return None
    return variable_set(variable, ",".join(all_of_them))
