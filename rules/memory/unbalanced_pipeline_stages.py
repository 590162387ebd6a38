r"""A pipeline stage that has much more work than the others.

Why it hurts: the slowest stage sets the pace of every micro-batch. A large vocabulary
makes the output layer as dear as several layers, and it stands on the last stage;
stages that are filled by hand are easily filled wrongly.

What passes: a slowest stage close to the mean. An embedding is looked up and costs no
time; of mixtures the experts that a token passes count.

Where it does not apply: no pipeline; a layout in which embedding and output layer are
dealt out as layers, or that is written out stage by stage.

Source: NVIDIA/Megatron-LM: layers are dealt out evenly unless
--account-for-loss-in-pipeline-split, --decoder-last-pipeline-num-layers or their like
are set.

Bad::

    # 4 layers on each stage, and an output layer of 2 layers on the last
    --num-layers 32 --pipeline-model-parallel-size 8 --vocab-size 256000

Good::

    --num-layers 30 --pipeline-model-parallel-size 8 --vocab-size 256000 \
      --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split
"""

from speccheck.validator.evidence.plan import Parallelism, TrainingPlan
from speccheck.validator.evidence.value import Value
from speccheck.validator.models.parameters import stage_imbalance
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Imbalance(Numbers):
    """How far the slowest stage may be above the mean."""

    imbalance_max: float


@rule(
    clause="MEM-006",
    frameworks=("megatron-lm",),
    about=("parallelism.pipeline_parallel_size",),
)
def unbalanced_pipeline_stages(
    plan: TrainingPlan, parallelism: Parallelism, limit: Imbalance
) -> Verdicts:
    """Judge the work of the slowest stage against the mean."""
    stages, layers = parallelism.pipeline_parallel_size, plan.value("model.layers")
    if stages.need() <= 1:
        return
    split = _split(parallelism, layers.need())
    if not split:
        return
    vocabulary = plan.value("model.vocabulary_size")
    vocabulary.need()
    # Dear, and few files tell as much.
    from speccheck.validator.forecast.memory import dimensions_of  # noqa: PLC0415

    dimensions = dimensions_of(plan)
    if dimensions.experts:
        plan.value("model.experts_per_token").need()
        plan.value("model.expert_feed_forward_size").need()
    worst = stage_imbalance(dimensions, split)
    outer = (parallelism.first_stage_layers, parallelism.last_stage_layers)
    at: list[Value[int]] = [*(leaf for leaf in outer if leaf.is_known), stages]
    at += [layers, vocabulary]
    if worst.ratio <= limit.imbalance_max:
        yield passed(at=at, measured=worst.ratio, required=limit.imbalance_max)
        return
    is_last = worst.stage == len(split) - 1
    head = (
        f" and an output layer for {vocabulary.value:,} words, which costs as much as "
        f"{worst.head_layers:.1f} layers"
        if is_last
        else ""
    )
    yield fail(
        f"stage {worst.stage + 1} of {len(split)} has {worst.ratio:.2f} times the mean "
        f"work: {split[worst.stage]} layers{head}; at most {limit.imbalance_max:g} "
        f"times is balanced",
        at=at,
        measured=worst.ratio,
        required=limit.imbalance_max,
        cost=f"the other stages wait for it in each micro-batch: up to "
        f"{1 - 1 / worst.ratio:.0%} of the GPU time",
    )


def _split(parallelism: Parallelism, layers: int) -> list[int]:
    """Return the layers of each stage; nothing where that is not to be worked out."""
    stages = parallelism.pipeline_parallel_size.need()
    first, last = parallelism.first_stage_layers, parallelism.last_stage_layers
    is_stated = first.is_known or last.is_known
    if parallelism.pipeline_layout.is_known and not is_stated:
        return []
    inner = stages - first.is_known - last.is_known
    rest = layers - first.or_else(0) - last.or_else(0)
    if inner <= 0 or rest < 0 or rest % inner:
        return []
    return [
        *([first.need()] if first.is_known else []),
        *[rest // inner] * inner,
        *([last.need()] if last.is_known else []),
    ]
