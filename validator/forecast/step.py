"""One optimizer step: operations, traffic, what of it shows, seconds, tokens.

Names of quantities, of the whole job unless said otherwise: model_flops of a step,
recomputation not counted; compute_seconds at published utilizations; bubble_share of
the time of a pipeline stage; data_parallel_traffic, tensor_parallel_traffic,
pipeline_traffic, expert_parallel_traffic, context_parallel_traffic, bytes that one GPU
sends in a step; data_parallel_seconds, the first of them alone; exposed_communication,
seconds of data- and tensor-parallel exchange that no compute hides; step_seconds;
tokens_per_second; scaling_efficiency, throughput of a GPU over that of one replica.
"""

from collections.abc import Callable

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast._exchange import (
    context_parallel_traffic,
    data_parallel_group,
    data_parallel_seconds,
    data_parallel_traffic,
    expert_parallel_traffic,
    pipeline_traffic,
    tensor_parallel_seconds,
    tensor_parallel_traffic,
)
from speccheck.validator.forecast._job import (
    layers_of,
    micro_batches,
    of_sizes,
    pipeline_of,
    step_flops,
    step_tokens,
)
from speccheck.validator.forecast.plan_facts import trains_adapter
from speccheck.validator.forecast.quantity import Forecast, Quantity, Unit
from speccheck.validator.models.estimate import Estimate, exactly
from speccheck.validator.models.flops import Mixture
from speccheck.validator.models.pipeline_bubble import idle_share
from speccheck.validator.models.scaling import (
    BACKWARD_SHARE,
    Overlap,
    exposed,
    scaling_efficiency,
)
from speccheck.validator.models.throughput import compute_time, published_utilization

_STATED = "run.step_seconds"  # what a plan may state where no model speaks
Make = Callable[[TrainingPlan], tuple[Estimate, str]]


def step_forecast(plan: TrainingPlan) -> Forecast:
    """All quantities of a step; each names the leaves that it lacks."""
    sized = of_sizes(plan)
    found = (_quantity(sized, *one) for one in _QUANTITIES)
    # What a plan states of its step is no sum of what the models say of the parts.
    whole = "" if plan.value(_STATED).is_known else "step_seconds"
    return Forecast("step", tuple(found), whole=whole, parts=_PARTS)


def _quantity(
    plan: TrainingPlan, name: str, unit: Unit, needs: tuple[str, ...], make: Make
) -> Quantity:
    missing = tuple(need for need in needs if not plan.value(need).is_known)
    try:
        estimate, note = make(plan)
    except MissingEvidence as lack:
        names = tuple(dict.fromkeys((lack.name, *missing)))
        return Quantity(name, unit, None, names, lack.reason)
    return Quantity(name, unit, estimate, (), note)


def model_flops(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Operations that training needs, recomputation not counted."""
    found, tokens = step_flops(plan), step_tokens(plan).value
    each = found.value / tokens
    name = "adapter" if trains_adapter(plan) else "palm"
    note = f"{tokens:,.0f} tokens x {each:.3g} FLOPs, convention {name}"
    return found, note


def compute_seconds(plan: TrainingPlan) -> tuple[Estimate, str]:
    """At the utilization of published runs on such GPUs."""
    if plan.value("run.role").value == "rl":
        reason = "a step of reinforcement learning generates its samples as well"
        raise MissingEvidence(_STATED, reason)
    capability = plan.value("cluster.compute_capability").need()
    peak = plan.value("cluster.peak_bf16_flops_per_second").need()
    gpus = plan.value("cluster.world_size").need()
    in_8_bits = plan.value("precision.compute_dtype").need() == "fp8"
    is_mixture = isinstance(layers_of(plan).feed_forward, Mixture)
    published = published_utilization(
        capability,
        in_8_bits=in_8_bits or bool(plan.value("precision.fp8").value),
        is_mixture=is_mixture,
    )
    if published is None:
        reason = "no utilization is published for such a GPU, number format and model"
        raise MissingEvidence(_STATED, reason)
    flops = step_flops(plan)
    found = compute_time(flops.value, gpus, peak, published)
    note = (
        f"{flops.value:.3g} FLOPs / ({gpus:,} GPUs x {peak / 1e12:,.0f} TFLOPS x "
        f"{published.lowest:.2f} to {published.highest:.2f})"
    )
    return found, note


def bubble_share(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Share of the step that a pipeline stage waits."""
    pipeline = pipeline_of(plan)
    waits = pipeline.stages - 1
    note = "one stage"
    if waits:
        work = f"{pipeline.chunks} x {pipeline.micro_batches}"
        note = f"{waits} / ({work} + {waits})"
    return idle_share(pipeline), note


def pipeline_wait(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Seconds of that share, beside those of compute."""
    idle, note = bubble_share(plan)
    share = idle.value / (1 - idle.value)
    if not share:
        return exactly(0, idle.source), note
    return compute_seconds(plan)[0].times(share), f"compute x {share:.3g}"


def _data_parallel(plan: TrainingPlan) -> tuple[Estimate, str]:
    group = data_parallel_group(plan)
    note = f"{group.scheme} over {group.ranks:,} ranks"
    if group.replicas > 1:
        note += f", {group.replicas:,} replicas"
    return data_parallel_traffic(plan), note


def _data_parallel_seconds(plan: TrainingPlan) -> tuple[Estimate, str]:
    return data_parallel_seconds(plan), "that traffic alone, nothing hidden"


def _tensor_parallel(plan: TrainingPlan) -> tuple[Estimate, str]:
    return tensor_parallel_traffic(plan), "8 exchanges of each layer and micro-batch"


def _pipeline(plan: TrainingPlan) -> tuple[Estimate, str]:
    return pipeline_traffic(plan), "outputs on and gradients back, two neighbours"


def _experts(plan: TrainingPlan) -> tuple[Estimate, str]:
    return expert_parallel_traffic(plan), "to the experts and back, both passes"


def _context(plan: TrainingPlan) -> tuple[Estimate, str]:
    return context_parallel_traffic(plan), "keys and values, 3 rounds of each layer"


def exposed_communication(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Seconds of data- and tensor-parallel exchange that no compute hides."""
    gradients, activations = _exposed_gradients(plan), _exposed_activations(plan)
    return gradients + activations, "data parallel and tensor parallel"


def _exposed_gradients(plan: TrainingPlan) -> Estimate:
    """Weight shards hide under the whole step, gradients under the last backward."""
    compute = compute_seconds(plan)[0]
    hideable = compute
    if data_parallel_group(plan).scheme != "fsdp":
        hideable = compute.times(BACKWARD_SHARE / micro_batches(plan))
    overlap = _overlap(plan, "overlap_gradient_reduce")
    return exposed(data_parallel_seconds(plan), hideable, overlap)


def _exposed_activations(plan: TrainingPlan) -> Estimate:
    overlap = _overlap(plan, "overlap_tensor_parallel")
    seconds = tensor_parallel_seconds(plan)
    return exposed(seconds, compute_seconds(plan)[0], overlap)


def _overlap(plan: TrainingPlan, field: str) -> Overlap:
    states: dict[bool | None, Overlap] = {True: "on", False: "off", None: "unknown"}
    return states[plan.value(f"communication.{field}").value]


def step_seconds(plan: TrainingPlan) -> tuple[Estimate, str]:
    """As stated; else compute, the bubble and what shows.

    The lower end is compute alone, since published runs waited for exchanges too.
    """
    stated = plan.value(_STATED).value
    if stated is not None:
        return exactly(stated, "stated"), "as stated"
    compute, shown = compute_seconds(plan)[0], exposed_communication(plan)[0]
    idle = bubble_share(plan)[0].value
    found = Estimate(
        compute.value / (1 - idle) + shown.value,
        compute.lower,
        compute.upper / (1 - idle) + shown.upper,
        "advisory",
        f"{compute.source}; {shown.source}",
    )
    return found, "compute / (1 - bubble) + exposed communication"


def tokens_per_second(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Of the whole job."""
    tokens, seconds = step_tokens(plan), step_seconds(plan)[0]
    found = Estimate(
        tokens.value / seconds.value,
        tokens.lower / seconds.upper,
        tokens.upper / seconds.lower,
        tokens.kind if seconds.kind == "exact" else seconds.kind,
        seconds.source,
        tokens.valid,
    )
    return found, f"{tokens.value:,.0f} tokens of a step / its seconds"


def scaling(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Throughput of one GPU over that of a single replica of the model."""
    compute, alone = compute_seconds(plan)[0], _exposed_activations(plan)
    together = alone + _exposed_gradients(plan)
    return (
        scaling_efficiency(compute, alone, together),
        "one GPU here over one GPU of a single replica, the same work for each",
    )


_SIZES = ("model.layers", "model.hidden_size", "model.attention_heads")
_MODEL = (*_SIZES, "model.vocabulary_size")
_BATCH = ("batch.global_batch_size", "batch.sequence_length")
_GPUS = ("cluster.world_size", "cluster.peak_bf16_flops_per_second")
_WIRES = ("cluster.gpus_per_node", "cluster.nic_bits_per_second_per_gpu")
_COMPUTE = (*_GPUS, "precision.compute_dtype", *_MODEL, *_BATCH)
_PARTS = ("compute_seconds", "pipeline_wait_seconds", "exposed_communication")
_SHOWN = (*_COMPUTE, *_WIRES)
_QUANTITIES: tuple[tuple[str, Unit, tuple[str, ...], Make], ...] = (
    ("model_flops", "flops", (*_MODEL, *_BATCH), model_flops),
    ("compute_seconds", "seconds", _COMPUTE, compute_seconds),
    ("bubble_share", "share", (), bubble_share),
    ("pipeline_wait_seconds", "seconds", (), pipeline_wait),
    ("data_parallel_traffic", "bytes", _MODEL, _data_parallel),
    ("data_parallel_seconds", "seconds", (*_MODEL, *_WIRES), _data_parallel_seconds),
    ("tensor_parallel_traffic", "bytes", _SIZES, _tensor_parallel),
    ("pipeline_traffic", "bytes", _SIZES, _pipeline),
    ("expert_parallel_traffic", "bytes", _SIZES, _experts),
    ("context_parallel_traffic", "bytes", _SIZES, _context),
    ("exposed_communication", "seconds", _SHOWN, exposed_communication),
    ("step_seconds", "seconds", (), step_seconds),
    ("tokens_per_second", "tokens_per_second", _BATCH, tokens_per_second),
    ("scaling_efficiency", "share", _SHOWN, scaling),
)
