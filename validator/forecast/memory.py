"""What one GPU of a plan holds at its peak: that of the fullest pipeline stage.

`memory_forecast` gives these quantities, all in bytes, in this order: `states`
(weights, gradients, optimizer state), `activations` (kept for the backward pass, and
the layer that is computed again), `logits`, `buffers` (weights gathered for the layer
at work), `overhead` (outside the allocator) and `total`, their sum. Its limit is
`capacity`, the memory of the GPU. A quantity without an estimate, or whose upper end is
infinite, names the leaves that would give it.

Bounds hold for any framework. A best value is calibrated only where published figures
of the same code base back it, else for reading alone. Nothing here judges: rules hold
the total against the limit.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast._memory_job import (
    cuts_unasked,
    dimensions_of,
    family_of,
    job_of,
    scheme_of,
    work_of,
)
from speccheck.validator.forecast.plan_facts import trains_adapter
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.models.activation_memory import (
    Work,
    activation_estimate,
    logit_estimate,
)
from speccheck.validator.models.amounts import billions, gigabytes
from speccheck.validator.models.estimate import Estimate, exactly
from speccheck.validator.models.parameters import Dimensions
from speccheck.validator.models.peak_memory import (
    Family,
    Job,
    Peak,
    peak_of,
    stage_parameters,
)
from speccheck.validator.models.state_memory import (
    OPTIMIZER_STAGE,
    Sharding,
    host_bytes,
)

__all__ = [
    "dimensions_of",
    "host_forecast",
    "memory_forecast",
    "peak_forecast",
    "peak_otherwise",
    "unsharded_states",
]

T = TypeVar("T")

PARTS = ("states", "activations", "logits", "buffers", "overhead")
# What the upper bound of the activations and logits needs besides the work itself.
_SHAPE = ("model.feed_forward_size", "model.vocabulary_size")
_CAPACITY = "cluster.accelerator_memory_bytes"
# Stands for ranks that are not known where more of them make a bound lower.
_MANY_RANKS = 1_000_000


@lru_cache(maxsize=1)  # several rules in turn ask for that of one plan
def memory_forecast(plan: TrainingPlan) -> Forecast:
    """States, activations, logits, buffers, overhead and total, in bytes on one GPU."""
    work, no_work = _tried(work_of, plan)
    dimensions, no_dimensions = _tried(dimensions_of, plan)
    job, no_job = _tried(lambda one: job_of(one, work), plan)
    shape = tuple(name for name in _SHAPE if not plan.value(name).is_known)
    open_work = (*no_work, *no_dimensions, *shape)
    quantities = (
        _unplaced(dimensions, work, no_job, open_work)
        if job is None
        else _placed(plan, job, open_work)
    )
    return Forecast("memory", quantities, _limit(plan))


def peak_forecast(plan: TrainingPlan) -> tuple[Job, Peak]:
    """The models' own answer; raises MissingEvidence for what states need."""
    work, _ = _tried(work_of, plan)
    job = job_of(plan, work)
    return job, _backed_peak(plan, job)[0]


def _backed_peak(plan: TrainingPlan, job: Job) -> tuple[Peak, Family | None]:
    """The peak, and the family that backs its best value.

    None does where something that the value is made of is not known.
    """
    family = family_of(plan, job)
    if family is not None:
        peak = peak_of(job, family)
        parts = (peak.states, peak.activations, peak.logits)
        if all(part.kind != "lower_bound" for part in parts):
            return peak, family
    return peak_of(job), None


def unsharded_states(plan: TrainingPlan) -> tuple[Estimate, Estimate]:
    """Parameters, and their states on one GPU where nothing is asked to cut them."""
    dimensions, _ = _tried(dimensions_of, plan)
    whole = Sharding(1, 1, 1, 0)
    if cuts_unasked(plan):
        ranks = plan.value("cluster.world_size").or_else(_MANY_RANKS)
        whole = Sharding(1, ranks, 1, OPTIMIZER_STAGE)
    stated = plan.value("model.parameters").value
    if dimensions is None and stated is None:
        name, reason = "model.parameters", "nor the dimensions of a transformer"
        raise MissingEvidence(name, reason)
    peak = peak_of(Job(stated, dimensions, scheme_of(plan), whole))
    return peak.parameters, peak.states


def peak_otherwise(
    plan: TrainingPlan, *, recompute: bool = True, offload: bool = True
) -> Estimate:
    """The total of the same plan without recomputation or without offload."""
    job, _ = peak_forecast(plan)
    if not recompute and job.work is not None:
        job = job._replace(work=job.work._replace(recompute="none"))
    if not offload:
        kept = {"offloads_optimizer": False, "offloads_weights": False}
        job = job._replace(sharding=job.sharding._replace(**kept))
        if job.expert_sharding is not None:
            job = job._replace(expert_sharding=job.expert_sharding._replace(**kept))
    return peak_of(job).total()


def host_forecast(plan: TrainingPlan) -> Estimate | None:
    """Bytes that the ranks of a node move to host memory; None for a pipeline.

    Its stages differ, so that the fullest says nothing of a node.
    """
    job = job_of(plan)
    if job.stages > 1 or job.expert_sharding is not None:
        return None
    each = host_bytes(stage_parameters(job), job.scheme, job.sharding)
    return each.times(plan.value("cluster.gpus_per_node").need())


def _tried(
    read: Callable[[TrainingPlan], T], plan: TrainingPlan
) -> tuple[T | None, tuple[str, ...]]:
    """What `read` gives, or the leaf that it lacks."""
    try:
        return read(plan), ()
    except MissingEvidence as missing:
        return None, (missing.name,)


def _limit(plan: TrainingPlan) -> Quantity:
    leaf = plan.value(_CAPACITY)
    if leaf.value is None:
        return Quantity("capacity", "bytes", None, (_CAPACITY,), leaf.note)
    found = exactly(float(leaf.value), "hardware catalogue or stated")
    return Quantity("capacity", "bytes", found, (), leaf.note)


def _placed(
    plan: TrainingPlan, job: Job, open_work: tuple[str, ...]
) -> tuple[Quantity, ...]:
    """All parts: what the job leaves open reaches to infinity."""
    peak, family = _backed_peak(plan, job)
    missing = {
        "states": ("model.parameters",) if _is_open(peak.states) else (),
        "activations": open_work,
        "logits": open_work,
        "buffers": open_work if _is_open(peak.buffers) else (),
        "overhead": (),
    }
    notes = {
        "states": states_note(job, peak),
        "activations": _activations_note(job.dimensions, job.work),
        "logits": _logits_note(job, peak),
        "buffers": "weights gathered for three layers, embedding and head"
        if peak.buffers.upper
        else "no weights are gathered",
        "overhead": "CUDA context and communicators, outside the allocator",
    }
    parts = tuple(
        Quantity(name, "bytes", getattr(peak, name), missing[name], notes[name])
        for name in PARTS
    )
    total = peak.total(family)
    lacking = tuple(dict.fromkeys(name for one in parts for name in one.missing))
    if family is not None:
        note = f"within {family.band:.0%} of published figures: {family.source}"
    elif trains_adapter(plan):
        note = "adapters of unknown rank: an interval"
    else:
        note = "no published figure of this kind of run: bounds"
    return (*parts, Quantity("total", "bytes", total, lacking, note))


def _is_open(estimate: Estimate) -> bool:
    return estimate.upper == float("inf")


def _unplaced(
    dimensions: Dimensions | None,
    work: Work | None,
    no_job: tuple[str, ...],
    open_work: tuple[str, ...],
) -> tuple[Quantity, ...]:
    """Activations and logits alone, where nothing is known of the states."""
    kept, logits, note = None, None, _activations_note(dimensions, work)
    if dimensions is not None and work is not None:
        layers = -(-dimensions.layers // work.pipeline_ranks)
        kept = activation_estimate(dimensions, work, layers)
        logits = logit_estimate(dimensions, work)
    return (
        Quantity("states", "bytes", None, no_job),
        Quantity("activations", "bytes", kept, open_work, note),
        Quantity("logits", "bytes", logits, open_work),
        Quantity("buffers", "bytes", None, no_job),
        Quantity("overhead", "bytes", None, no_job),
        Quantity("total", "bytes", None, (*no_job, *open_work)),
    )


def states_note(job: Job, peak: Peak) -> str:
    """`30.0 billion parameters x 4.2 bytes at stage 1 over 64 / 8 ...`."""
    count = peak.parameters.lower * job.stages
    ranks = job.sharding.model_ranks * job.stages
    each = peak.states.lower * ranks / count if count else 0.0
    if job.expert_sharding is not None:
        return f"{billions(count)} parameters or more, experts over their own ranks"
    text = f"{billions(count)} parameters x {each:.1f} bytes"
    if job.sharding.stage:
        text += f" at stage {job.sharding.stage} over {job.sharding.shard_ranks:,}"
    return f"{text} / {ranks} model-parallel ranks" if ranks > 1 else text


def _activations_note(dimensions: Dimensions | None, work: Work | None) -> str:
    if work is None or dimensions is None:
        return ""
    layers = -(-dimensions.layers // work.pipeline_ranks)
    mode = {"": "recomputation not known", "none": "nothing recomputed"}.get(
        work.recompute, f"recomputation: {work.recompute}"
    )
    text = f"{work.tokens:,} tokens x {layers} layers"
    if work.micro_batches_in_flight > 1:
        text += f" x {work.micro_batches_in_flight} micro-batches in flight"
    if work.tensor_ranks > 1:
        text += f" / {work.tensor_ranks} tensor-parallel ranks"
    return f"{text}, {mode}"


def _logits_note(job: Job, peak: Peak) -> str:
    work, dimensions = job.work, job.dimensions
    if work is None or dimensions is None or not dimensions.vocabulary_size:
        return ""
    text = f"{work.tokens:,} tokens x {dimensions.vocabulary_size:,} words"
    if work.tensor_ranks > 1:
        text += f" / {work.tensor_ranks} tensor-parallel ranks"
    kind = work.loss or "loss not known"
    if job.stages > 1:
        return f"{text} on the last stage ({kind}); the first stage is the fullest"
    most = gigabytes(peak.logits.upper)
    return f"{text}, {kind}; at most {most}"
