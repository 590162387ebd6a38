"""Sequence parallelism asked for with a tensor-parallel size of 1.

Why it hurts: this sequence parallelism cuts the sequence over the tensor-parallel
ranks. With one of them Megatron-LM and NeMo switch it off, with a warning, and the
memory that was counted on is not saved.

What passes: sequence parallelism with a tensor-parallel size above 1.

Where it does not apply: sequence parallelism is off, or on by a default that nobody
wrote; frameworks that mean Ulysses or context parallelism by it.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args);
megatron/core/model_parallel_config.py raises where nothing switched it off before.

Bad::

    --tensor-model-parallel-size 1 --sequence-parallel

Good::

    --tensor-model-parallel-size 8 --sequence-parallel
"""

from speccheck.validator.evidence.mending import switched
from speccheck.validator.evidence.plan import Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="CONF-020",
    confidence="advisory",
    frameworks=("megatron-lm", "nemo1"),
    about=("parallelism.sequence_parallel",),
)
def sequence_parallel_without_tensor_parallel(
    parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge the tensor-parallel size where sequence parallelism is on."""
    tensor, sequence = parallelism.tensor_parallel_size, parallelism.sequence_parallel
    if sequence.value is not True or sequence.status == "default":
        return
    if tensor.need() > 1:
        yield passed(at=[sequence, tensor])
        return
    yield fail(
        f"sequence parallelism is on with tensor-parallel size {tensor.value}, which "
        "switches it off",
        at=[sequence, tensor],
        measured=tensor.value,
        required=2,
        cost="activations stay whole: the memory that was counted on is not saved",
        remedy="Remove it, or use context parallelism for long sequences.",
        fix=switched(sequence, stated, on=False),
    )
