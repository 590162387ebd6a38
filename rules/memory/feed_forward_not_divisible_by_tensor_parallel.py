"""A feed-forward size that does not divide over the tensor-parallel ranks.

Why it hurts: tensor parallelism gives each rank an equal part of the columns of the
first feed-forward matrix and of the rows of the second. A remainder stops the run while
the model is built.

What passes: a feed-forward size that is a multiple of the tensor-parallel size; in a
mixture of experts that of an expert, a multiple of the expert-tensor-parallel size.

Where it does not apply: no tensor parallelism; engines other than Megatron-LM's, whose
shards may be uneven. The vocabulary is padded to a multiple by these frameworks.

Source: NVIDIA/Megatron-LM megatron/core/tensor_parallel/layers.py
(ColumnParallelLinear, RowParallelLinear) and megatron/core/utils.py (divide).

Bad::

    --hidden-size 4096 --ffn-hidden-size 11008 --tensor-model-parallel-size 24

Good::

    --hidden-size 4096 --ffn-hidden-size 11008 --tensor-model-parallel-size 8
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="MEM-005",
    about=("model.feed_forward_size", "model.expert_feed_forward_size"),
)
def feed_forward_not_divisible_by_tensor_parallel(
    model: Model, parallelism: Parallelism
) -> Verdicts:
    """Judge the feed-forward size % TP, or that of an expert % ETP."""
    if not parallelism.engine.or_else("").startswith("megatron"):
        return
    size, group = model.feed_forward_size, parallelism.tensor_parallel_size
    what = "tensor-parallel"
    if model.experts.or_else(1) > 1:
        size = model.expert_feed_forward_size
        group, what = parallelism.expert_tensor_parallel_size, "expert-tensor-parallel"
        if not size.is_known or not group.is_known:
            return
    if group.or_else(1) <= 1:
        return
    ranks, width = group.need(), size.need()
    if width % ranks == 0:
        yield passed(at=[size, group], measured=width, required=ranks)
        return
    yield fail(
        f"a feed-forward size of {width:,} does not divide over {ranks} {what} ranks: "
        f"{width:,} / {ranks} leaves {width % ranks}",
        at=[size, group],
        measured=width,
        required=ranks,
        cost="the run stops while the model is built",
        remedy=f"Use a feed-forward size that is a multiple of {ranks}, such as "
        f"{width // ranks * ranks + ranks:,}.",
    )
