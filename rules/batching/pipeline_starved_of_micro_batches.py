"""Too few micro-batches to keep a pipeline busy.

Why it hurts: a pipeline of p stages stands idle for p - 1 micro-batches at the start
and at the end of each step. With m micro-batches and v virtual stages the idle share
is (p - 1) / (v m + p - 1) of the step.

What passes: an idle share up to the bound of the clause: about four micro-batches for
each stage without interleaving, fewer with it. Where the number of GPUs is not known,
a batch that starves the pipeline on as few ranks as there can be fails all the same.

Where it does not apply: one stage; debug runs, and runs of under 200 steps on few GPUs
or an unknown number of them. torchtitan cuts its local batch into pipeline
micro-batches in another way and is left open.

Source: Narayanan et al. 2021 (arXiv:2104.04473), section 2.2.

Bad::

    # 128 GPUs: 8 data-parallel ranks
    --pipeline-model-parallel-size 8 --tensor-model-parallel-size 2
    --micro-batch-size 1 --global-batch-size 64

Good::

    --micro-batch-size 1 --global-batch-size 512
"""

from speccheck.validator.evidence.plan import (
    FEWEST_MEASURED,
    Batch,
    Cluster,
    Model,
    Parallelism,
    Run,
    TrainingPlan,
)
from speccheck.validator.forecast.bounds import most_micro_batches
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Bubble(Numbers):
    """The largest idle share, and micro-batches that keep it without interleaving."""

    bubble_max: float
    micro_per_stage: int


@rule(clause="BATCH-003")
def pipeline_starved_of_micro_batches(
    plan: TrainingPlan,
    batch: Batch,
    parallelism: Parallelism,
    model: Model,
    run: Run,
    cluster: Cluster,
    limit: Bubble,
) -> Verdicts:
    """Judge the idle share of the schedule."""
    pipeline, steps = (
        parallelism.pipeline_parallel_size,
        batch.gradient_accumulation_steps,
    )
    stages = pipeline.need()
    if stages <= 1 or run.role.value == "debug":
        return
    if run.is_trial and cluster.world_size.or_else(0) < FEWEST_MEASURED:
        return
    at = [batch.global_batch_size, batch.micro_batch_size, pipeline]
    if run.framework.value == "torchtitan":
        yield unknown(
            "torchtitan cuts the local batch into pipeline micro-batches by itself",
            missing=("batch.gradient_accumulation_steps",),
            at=pipeline,
        )
        return
    # Elsewhere the batch of a rank may be cut for the pipeline once more.
    is_megatron = parallelism.engine.value == "megatron"
    is_bounded = is_megatron and not steps.is_known
    most = most_micro_batches(plan) if is_bounded else None
    count = steps.need() if most is None else int(most.number)
    chunks = _virtual_stages(parallelism, model, stages)
    idle = (stages - 1) / (chunks * count + stages - 1)
    if steps.status == "stated":
        at = [steps, pipeline]
    work = f"{count}" if chunks == 1 else f"{chunks} x {count}"
    share = f"{stages - 1} / ({work} + {stages - 1}) = {idle:.0%} of the step idle"
    if idle <= limit.bubble_max:
        steps.need()  # fewer micro-batches than at most leave more idle
        yield passed(share, at=at, measured=idle, required=limit.bubble_max)
        return
    needed = limit.micro_per_stage * stages
    words = f"{count} micro-batches" if most is None else most.in_words
    verb = "leave"
    if most is None and count == 1:
        words, verb = "1 micro-batch", "leaves"
    yield fail(
        f"{words} on {stages} pipeline stages {verb} {share}; at most "
        f"{limit.bubble_max:.0%} should be",
        at=at,
        measured=idle,
        required=limit.bubble_max,
        cost=f"{idle:.0%} of all GPU time is idle",
        remedy=f"Use {limit.micro_per_stage} x {stages} = {needed} micro-batches for "
        f"each rank (global batch x {needed / max(count, 1):.3g}), fewer stages, or "
        "virtual stages.",
    )


def _virtual_stages(parallelism: Parallelism, model: Model, stages: int) -> int:
    """Return the model chunks on each rank; 1 without an interleaved schedule."""
    chunk = parallelism.layers_per_virtual_stage.or_else(0)
    if parallelism.virtual_stages.is_known or chunk < 1:
        return max(parallelism.virtual_stages.or_else(1), 1)
    return max(model.layers.need() // (stages * chunk), 1)
