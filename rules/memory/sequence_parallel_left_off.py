"""Tensor parallelism without sequence parallelism in a large pretraining run.

Why it hurts: tensor parallelism alone leaves norms, dropout and residuals whole on each
of its ranks. Their activations take several times the memory of a rank's share, and
recomputation pays for it.

What passes: sequence parallelism beside tensor parallelism.

Where it does not apply: smaller runs and fine-tuning, which fit without; frameworks
that cut the sequence by themselves.

Source: Korthikanti et al. 2022 (arXiv:2205.05198), section 4.2.2: the all-reduce
becomes a reduce-scatter and an all-gather of the same volume.

Bad::

    # 1,024 GPUs
    --tensor-model-parallel-size 8

Good::

    --tensor-model-parallel-size 8 --sequence-parallel
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="MEM-030",
    confidence="advisory",
    frameworks=("megatron-lm", "megatron-bridge", "nemo1"),
    about=("parallelism.sequence_parallel",),
)
def sequence_parallel_left_off(parallelism: Parallelism, model: Model) -> Verdicts:
    """Judge sequence parallelism where tensor parallelism cuts a transformer."""
    tensor, sequence = parallelism.tensor_parallel_size, parallelism.sequence_parallel
    if model.family.or_else("transformer") != "transformer":
        return
    ranks = tensor.need()
    if sequence.need():
        yield passed(at=[sequence, tensor])
        return
    yield fail(
        f"tensor-parallel size {ranks} without sequence parallelism: each of the "
        f"{ranks} ranks keeps norms, dropout and residuals of whole sequences",
        at=[tensor, sequence],
        measured="off",
        required="on",
        cost="activations outside of the tensor-parallel blocks are kept "
        f"{ranks} times over",
    )
