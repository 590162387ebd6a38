"""CUDA_DEVICE_MAX_CONNECTIONS=1 under FSDP.

Why it hurts: with one hardware queue, the gather of the next layer waits behind the
computation of this one. FSDP loses the overlap that it lives on. The line is copied
from scripts for Megatron-LM, which needs it.

What passes: another value, or no such variable.

Where it does not apply: Megatron-LM, which refuses the pair (connection_limit_refused);
engines other than FSDP; one GPU.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (FSDP always requires more
than one); verl pull request 6976; CUDA programming guide (environment variables).

Bad::

    export CUDA_DEVICE_MAX_CONNECTIONS=1
    torchrun train.py --fsdp full_shard

Good::

    torchrun train.py --fsdp full_shard
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import without_variables
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.plan import Cluster, Parallelism, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NAME = "CUDA_DEVICE_MAX_CONNECTIONS"
_FSDP = frozenset({"fsdp1", "fsdp2", "megatron-fsdp"})


@rule(clause="COMM-051", confidence="advisory", about=(_NAME,))
def one_queue_with_fsdp(
    environment: Environment, parallelism: Parallelism, cluster: Cluster, run: Run
) -> Verdicts:
    """Judge the number of hardware queues under FSDP."""
    variable, engine = environment.find(_NAME), parallelism.engine
    if variable is None or not variable.value or engine.value not in _FSDP:
        return
    if run.framework.value == "megatron-lm" or cluster.world_size.or_else(0) == 1:
        return
    queues = integer_seen(variable.value)
    at = [variable.place, *engine.places]
    if queues != 1:
        yield passed(at=at, measured=variable.value)
        return
    yield fail(
        f"{_NAME} is 1 under {engine.need()}, which overlaps gathers with computation "
        f"over several queues",
        at=at,
        measured=1,
        required="not 1",
        cost="each layer waits for its parameters",
        remedy="Delete the line.",
        fix=without_variables([variable]),
    )
