"""An optimizer on the processor that has one thread.

Why it hurts: torchrun sets OMP_NUM_THREADS=1 for each of several ranks on a node. The
step of an optimizer that was offloaded to the processor runs on OpenMP threads, so that
one core does the work of the node's share while the GPU waits.

What passes: OMP_NUM_THREADS above the clause's number.

Where it does not apply: no optimizer on the processor; one rank on a node; launchers
that leave the variable alone; variables that are set outside the files.

Source: pytorch torch/distributed/run.py (config_from_args: OMP_NUM_THREADS);
deepspeedai/DeepSpeed csrc/adam/cpu_adam.cpp.

Bad::

    torchrun --nproc-per-node=8 train.py --deepspeed zero3_offload.json

Good::

    export OMP_NUM_THREADS=16
    torchrun --nproc-per-node=8 train.py --deepspeed zero3_offload.json
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.plan import Memory, Recovery
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_NAME = "OMP_NUM_THREADS"
_SETTING = frozenset({"torchrun", "accelerate"})


class Threads(Numbers):
    """The threads that torchrun leaves to a rank."""

    threads_of_default: int


@rule(
    clause="KERN-020",
    confidence="advisory",
    about=("memory.optimizer_offload_device",),
)
def processor_optimizer_on_one_thread(
    environment: Environment, memory: Memory, recovery: Recovery, limit: Threads
) -> Verdicts:
    """Judge the threads of an optimizer that was offloaded to the processor."""
    device, launcher = memory.optimizer_offload_device, recovery.launcher
    ranks = recovery.processes_per_node
    if device.or_else("none") == "none" or launcher.value not in _SETTING:
        return
    if ranks.or_else(1) <= 1:
        return
    variable = environment.find(_NAME)
    if variable is not None and variable.value is None:
        return
    threads = integer_seen(variable.value or "") if variable else None
    leaves = [*device.places, *launcher.places, *ranks.places]
    at = [variable.place, *leaves] if variable else leaves
    if threads is not None and threads > limit.threads_of_default:
        yield passed(at=at, measured=threads, required=limit.threads_of_default)
        return
    text = f"{_NAME} is {threads}" if variable else f"{_NAME} is not set, so 1"
    yield fail(
        f"{text} for each of {ranks.need()} ranks under {launcher.need()}, and the "
        f"optimizer runs on the processor",
        at=at,
        measured=threads if variable else limit.threads_of_default,
        required=f"more than {limit.threads_of_default}",
        cost="the optimizer step runs on one core for each rank while the GPU waits",
        remedy=f"Export {_NAME} as the CPUs of the node divided by its ranks.",
    )
