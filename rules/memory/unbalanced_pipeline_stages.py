r"""A pipeline whose first stage is much larger than the others.

Why it hurts: the slowest stage sets the pace, and the largest sets the memory limit. A
large vocabulary makes the outer stages of a short pipeline heavy.

What passes: a largest stage close to the mean.

Where it does not apply: no pipeline; layers dealt out by hand or by the cost of
embedding and head; mixtures of experts, whose layers differ.

Source: NVIDIA/Megatron-LM: layers are dealt out evenly unless
--account-for-embedding-in-pipeline-split or its like is set.

Bad::

    # 4 layers and an embedding of 2 layers on the first stage
    --num-layers 32 --pipeline-model-parallel-size 8 --vocab-size 256000

Good::

    --num-layers 30 --pipeline-model-parallel-size 8 --vocab-size 256000 \
      --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.models.parameters import stage_imbalance
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Imbalance(Numbers):
    """How far the largest stage may be above the mean."""

    imbalance_max: float


@rule(
    clause="MEM-006",
    frameworks=("megatron-lm",),
    about=("parallelism.pipeline_parallel_size",),
)
def unbalanced_pipeline_stages(plan: TrainingPlan, limit: Imbalance) -> Verdicts:
    """Judge the parameters of the first stage against the mean."""
    stages = plan.value("parallelism.pipeline_parallel_size")
    layers, vocabulary = plan.value("model.layers"), plan.value("model.vocabulary_size")
    if stages.need() <= 1 or plan.value("parallelism.pipeline_layout").is_known:
        return
    if plan.value("model.experts").or_else(1) > 1 or layers.need() % stages.need():
        return
    vocabulary.need()
    # Dear, and few files tell as much.
    from speccheck.validator.forecast.memory import dimensions_of  # noqa: PLC0415

    dimensions = dimensions_of(plan)
    ratio = stage_imbalance(dimensions, stages.need())
    at = [stages, layers, vocabulary]
    if ratio <= limit.imbalance_max:
        yield passed(at=at, measured=ratio, required=limit.imbalance_max)
        return
    yield fail(
        f"the first of {stages.value} stages has {ratio:.2f} times the mean of the "
        f"parameters: {layers.value // stages.need()} layers and an embedding of "
        f"{vocabulary.value:,} words; at most {limit.imbalance_max:g} times",
        at=at,
        measured=ratio,
        required=limit.imbalance_max,
        cost="the other stages wait for the outer ones in each micro-batch",
    )
