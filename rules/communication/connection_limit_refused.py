"""CUDA_DEVICE_MAX_CONNECTIONS other than Megatron-LM demands.

Why it hurts: before Blackwell, tensor and context parallelism rely on one hardware
queue to order communication before computation. Megatron-LM asserts on the value 1
there, and on another value than 1 with FSDP, whose overlap one queue would destroy.

What passes: 1 with tensor or context parallelism before the compute capability of the
clause; any other value with FSDP.

Where it does not apply: other frameworks, later GPUs. A variable that no file sets may
be set in the container.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args); issue 533.

Bad::

    export CUDA_DEVICE_MAX_CONNECTIONS=8
    torchrun pretrain_gpt.py --tensor-model-parallel-size 4

Good::

    export CUDA_DEVICE_MAX_CONNECTIONS=1
    torchrun pretrain_gpt.py --tensor-model-parallel-size 4
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import variable_set, without_variables
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_NAME = "CUDA_DEVICE_MAX_CONNECTIONS"
_FSDP = frozenset({"fsdp2", "megatron-fsdp"})


class QueueLimit(Numbers):
    """The compute capability from which several queues are fine."""

    several_queues_cc: float


@rule(clause="CONF-010", frameworks=("megatron-lm",))
def connection_limit_refused(
    environment: Environment,
    cluster: Cluster,
    parallelism: Parallelism,
    limit: QueueLimit,
) -> Verdicts:
    """Judge the number of hardware queues."""
    variable = environment.find(_NAME)
    if variable is None or not variable.value:
        return
    queues = integer_seen(variable.value)
    engine = parallelism.engine
    if engine.value in _FSDP:
        if queues != 1:
            yield passed(at=variable.place)
            return
        yield fail(
            f"{_NAME} is 1; Megatron-LM refuses that with FSDP",
            at=[variable.place, engine],
            measured=1,
            required="not 1",
            cost="Megatron-LM stops with an assertion at start-up",
            remedy="Delete the line.",
            fix=without_variables([variable]),
        )
        return
    degrees = [
        (name, leaf)
        for name, leaf in (
            ("tensor", parallelism.tensor_parallel_size),
            ("context", parallelism.context_parallel_size),
        )
        if leaf.or_else(1) > 1
    ]
    if not degrees:
        return
    major, _ = cluster.compute_capability.need()
    if major >= limit.several_queues_cc:
        return
    at = [variable.place, *(place for _, leaf in degrees for place in leaf.places)]
    if queues == 1:
        yield passed(at=at, measured=1, required=1)
        return
    kinds = " and ".join(f"{name} parallelism {leaf.value}" for name, leaf in degrees)
    yield fail(
        f"{_NAME} is {variable.value}; {kinds} before compute capability "
        f"{limit.several_queues_cc:g} needs 1",
        at=at,
        measured=variable.value,
        required=1,
        cost="Megatron-LM stops with an assertion at start-up",
        remedy=f"Export {_NAME}=1.",
        fix=variable_set(variable, "1", because="only value"),
    )
