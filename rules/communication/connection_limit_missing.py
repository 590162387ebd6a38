"""Megatron-LM with tensor or context parallelism and no CUDA_DEVICE_MAX_CONNECTIONS.

Why it hurts: before Blackwell, Megatron-LM asserts that the variable is 1 when it cuts
a model by tensor or context parallelism. A script without it stops at start-up, unless
the image or the caller sets it.

What passes: the variable is 1.

Where it does not apply: FSDP, overlapped expert parallelism, later GPUs, a generation
that is not known, and jobs inside an image or object that may set the variable. Other
values than 1 are told by connection_limit_refused.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args); issue 533.

Bad::

    torchrun pretrain_gpt.py --tensor-model-parallel-size 4     # on H100

Good::

    export CUDA_DEVICE_MAX_CONNECTIONS=1
    torchrun pretrain_gpt.py --tensor-model-parallel-size 4
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_NAME = "CUDA_DEVICE_MAX_CONNECTIONS"
_OTHER_ORDER = "--overlap-moe-expert-parallel-comm"


class QueueLimit(Numbers):
    """The compute capability from which several queues are fine."""

    several_queues_cc: float


@rule(
    clause="COMM-051",
    confidence="advisory",
    frameworks=("megatron-lm",),
    about=(
        "parallelism.tensor_parallel_size",
        "parallelism.context_parallel_size",
    ),
)
def connection_limit_missing(
    environment: Environment,
    cluster: Cluster,
    parallelism: Parallelism,
    stated: StatedKeys,
    limit: QueueLimit,
) -> Verdicts:
    """Judge whether a script sets the variable that Megatron-LM asserts."""
    degrees = parallelism.tensor_parallel_size, parallelism.context_parallel_size
    cut = [leaf for leaf in degrees if leaf.or_else(1) > 1]
    if not cut or parallelism.engine.value != "megatron":
        return
    if not all(
        place.file.endswith(SCRIPT_SUFFIXES) for leaf in cut for place in leaf.places
    ):
        return
    if any(key.path == (_OTHER_ORDER,) for file in stated.files for key in file.keys):
        return
    major, _ = cluster.compute_capability.need()
    if major >= limit.several_queues_cc:
        return
    variable = environment.find(_NAME)
    if variable is not None:
        if variable.value == "1":
            yield passed(at=variable.place)
        return
    yield fail(
        f"no file sets {_NAME}; before compute capability "
        f"{limit.several_queues_cc:g} Megatron-LM asserts that it is 1 with "
        f"tensor or context parallelism",
        at=cut,
        measured="not set",
        required=1,
        cost="Megatron-LM stops at start-up unless the image or the caller sets it",
        remedy=f"Export {_NAME}=1.",
    )
