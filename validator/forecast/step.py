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
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast._job import (
    context_ranks,
    layers_of,
    micro_batch_tokens,
    micro_batches,
    model_of,
    of_sizes,
    pipeline_of,
    step_flops,
    step_tokens,
)
from speccheck.validator.forecast.plan_facts import degree, trains_adapter
from speccheck.validator.forecast.quantity import Forecast, Quantity, Unit
from speccheck.validator.models.bus_bandwidth import Network, hierarchical_ceiling
from speccheck.validator.models.estimate import Estimate, EstimateKind, exactly
from speccheck.validator.models.flops import Mixture
from speccheck.validator.models.throughput import (
    BACKWARD_SHARE,
    Overlap,
    compute_time,
    exposed,
    idle_share,
    published_utilization,
    scaling_efficiency,
)
from speccheck.validator.models.traffic import (
    HALF_BYTES,
    Activations,
    Scheme,
    context_parallel_bytes,
    data_parallel_bytes,
    expert_parallel_bytes,
    pipeline_bytes,
    tensor_parallel_bytes,
)

_SOURCE = "exchanges of a step, arXiv:1910.02054, 2104.04473 and 2205.05198"
_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8": 1}
# Lossy compression sends from a bit to half of each 16-bit gradient.
_COMPRESSED_BYTES = (0.125, 1.0)
_FULL_BYTES = 4.0
_WEIGHT_STAGE = 3
# What healthy fabrics reach of the wires: no published reading of all-reduce or
# all-gather at 1 GiB and more is below the first; the second is what providers accept
# (NVIDIA/cluster-readiness-engine ADR-021).
_LEAST_SHARE, _USUAL_SHARE = 0.80, 0.92


class ParallelGroup(Record):
    """A data-parallel group: scheme, ranks, and how many of them share a node."""

    scheme: Scheme
    ranks: int
    replicas: int
    of_node: int


def sharding_stage(plan: TrainingPlan) -> int:
    """Return what is sharded, as a ZeRO stage; Megatron-LM says it by another name."""
    leaf = plan.value("parallelism.sharding_stage")
    engine = plan.value("parallelism.engine").value
    if not leaf.is_known and engine == "megatron":
        return 1 if plan.value("optimizer.is_distributed").need() else 0
    if not leaf.is_known and engine == "ddp":
        return 0
    return int(leaf.need())


def data_parallel_group(plan: TrainingPlan) -> ParallelGroup:
    """Return the data-parallel ranks and the context-parallel, which exchange alike."""
    stage = sharding_stage(plan)
    scheme: Scheme = "ddp" if stage == 0 else "distributed-optimizer"
    if stage >= _WEIGHT_STAGE:
        scheme = "fsdp"
    ranks = plan.value("parallelism.data_parallel_size").need() * context_ranks(plan)
    shards = plan.value("parallelism.shard_size").or_else(-1)
    if scheme != "fsdp" or shards < 1 or ranks % shards:
        shards = ranks
    local = plan.value("cluster.gpus_per_node").or_else(0)
    # Tensor-parallel ranks are innermost: the others of a node are of the group.
    of_node = max(local // degree(plan, "tensor_parallel_size"), 1) if local else 0
    return ParallelGroup(scheme, shards, ranks // shards, of_node)


def gradient_bytes(plan: TrainingPlan) -> Estimate:
    """Return the bytes of one gradient on the wire."""
    if plan.value("communication.compression").is_known:
        least, most = _COMPRESSED_BYTES
        return Estimate(most, least, most, "advisory", "lossy compression")
    dtype = plan.value("precision.gradient_reduce_dtype").value
    width = _BYTES.get(dtype or "")
    if width is None:
        return Estimate(_FULL_BYTES, HALF_BYTES, _FULL_BYTES, "calibrated", _SOURCE)
    return Estimate(width, width, width, "exact", _SOURCE)


def data_parallel_traffic(plan: TrainingPlan) -> Estimate:
    """Return the bytes that one GPU sends for gradients and sharded weights.

    The lower end gathers weights once for a micro-batch and scatters gradients once,
    as FSDP may be told to.
    """
    if trains_adapter(plan):
        name, reason = "model.adapter", "the size of the adapter is not known"
        raise MissingEvidence(name, reason)
    group, model = data_parallel_group(plan), model_of(plan)
    cuts = degree(plan, "tensor_parallel_size") * degree(plan, "pipeline_parallel_size")
    experts = degree(plan, "expert_parallel_size")
    width, steps = gradient_bytes(plan), 1
    if group.scheme == "fsdp":
        steps = micro_batches(plan)

    def sent(each: float, total: float) -> float:
        dense, sparse = (total - model.of_experts) / cuts, model.of_experts / cuts
        return _sent(group, dense, each, steps) + _sent(
            _among_experts(group, experts), sparse / experts, each, steps
        )

    least = sent(width.lower, model.total.lower)
    if group.scheme == "fsdp":
        whole = sent(0, model.total.lower)
        least = whole / 2 + sent(width.lower, model.total.lower) / steps - whole / steps
    kind = "calibrated" if group.scheme == "fsdp" else model.total.kind
    return Estimate(
        sent(width.value, model.total.value),
        least,
        sent(width.upper, model.total.upper),
        "advisory" if width.kind == "advisory" else kind,
        _SOURCE,
    )


def _among_experts(group: ParallelGroup, experts: int) -> ParallelGroup:
    """Return the ranks that hold the same experts."""
    return group._replace(ranks=max(group.ranks // experts, 1))


def _sent(group: ParallelGroup, parameters: float, width: float, steps: int) -> float:
    """Return the bytes sent within the group that shards, and between its replicas."""
    result = data_parallel_bytes(
        group.scheme, parameters, group.ranks, gradient_bytes=width, micro_batches=steps
    )
    if group.replicas > 1:
        result += data_parallel_bytes(
            "ddp", parameters / group.ranks, group.replicas, gradient_bytes=width
        )
    return result


def _activations(plan: TrainingPlan) -> Activations:
    return Activations(micro_batch_tokens(plan), layers_of(plan).hidden_size)


def tensor_parallel_traffic(plan: TrainingPlan) -> Estimate:
    """Return the traffic of all layers of a stage and all micro-batches of a step."""
    ranks = degree(plan, "tensor_parallel_size")
    if ranks == 1:
        return Estimate(0.0, 0.0, 0.0, "exact", _SOURCE)
    count = layers_of(plan).count_of_layers / degree(plan, "pipeline_parallel_size")
    each = tensor_parallel_bytes(_activations(plan), ranks)
    again = tensor_parallel_bytes(_activations(plan), ranks, recomputes=True)
    work = count * micro_batches(plan)
    mode = plan.value("memory.recompute_mode").value
    usual = again if mode == "full" else each
    most = each if mode == "none" else again
    kind: EstimateKind = "exact" if usual == most else "calibrated"
    return Estimate(usual * work, each * work, most * work, kind, _SOURCE)


def pipeline_traffic(plan: TrainingPlan) -> Estimate:
    """Return the traffic of a stage with two neighbours."""
    pipeline = pipeline_of(plan)
    if pipeline.stages == 1:
        return Estimate(0.0, 0.0, 0.0, "exact", _SOURCE)
    tensor = degree(plan, "tensor_parallel_size")
    each = pipeline_bytes(_activations(plan), chunks=pipeline.chunks, tensor_ranks=1)
    most = each * pipeline.micro_batches
    shares = plan.value("parallelism.sequence_parallel").value
    usual = most / tensor if shares else most
    kind: EstimateKind = "exact" if tensor == 1 or shares else "calibrated"
    least = most / tensor
    most = usual if shares else most
    return Estimate(usual, least, most, kind, _SOURCE)


def expert_parallel_traffic(plan: TrainingPlan) -> Estimate:
    """Return traffic of a stage's mixture layers, tokens evenly spread over experts."""
    ranks, layers = degree(plan, "expert_parallel_size"), layers_of(plan)
    mixture = layers.feed_forward
    if ranks == 1 or not isinstance(mixture, Mixture):
        return Estimate(0.0, 0.0, 0.0, "exact", _SOURCE)
    tensor = degree(plan, "tensor_parallel_size")
    count = layers.count_of_layers / degree(plan, "pipeline_parallel_size")
    each = expert_parallel_bytes(
        _activations(plan),
        ranks,
        experts_per_token=mixture.per_token,
        tensor_ranks=tensor,
    )
    value = each * count * micro_batches(plan)
    valid = "tokens evenly spread, every layer a mixture"
    return Estimate(value, 0.0, value, "advisory", _SOURCE, valid)


def context_parallel_traffic(plan: TrainingPlan) -> Estimate:
    """Return the traffic of a stage's layers: keys and values go around a ring."""
    ranks, layers = degree(plan, "context_parallel_size"), layers_of(plan)
    if ranks == 1:
        return Estimate(0.0, 0.0, 0.0, "exact", _SOURCE)
    width = layers.key_value_width / degree(plan, "tensor_parallel_size")
    count = layers.count_of_layers / degree(plan, "pipeline_parallel_size")
    each = context_parallel_bytes(micro_batch_tokens(plan), width, ranks)
    value = each * count * micro_batches(plan)
    return Estimate(value, 0.0, value, "advisory", _SOURCE, "ring attention")


def data_parallel_seconds(plan: TrainingPlan) -> Estimate:
    """Return the time of that traffic alone, on healthy wires."""
    traffic, group = data_parallel_traffic(plan), data_parallel_group(plan)
    if not traffic.upper:
        return traffic
    links = plan.value("cluster.nvlink_bytes_per_second")
    ranks = group.ranks * group.replicas
    if not group.of_node:
        plan.value("cluster.gpus_per_node").need()
    of_node = min(group.of_node, ranks)
    if ranks <= of_node:
        return _time(traffic, links.need(), links.need())
    rate = plan.value("cluster.nic_bits_per_second_per_gpu").need() / 8
    ring = min(of_node * rate, links.or_else(float("inf")))
    best = ring
    if group.scheme == "ddp":
        network = Network(ranks // of_node, of_node, rate)
        best = max(ring, hierarchical_ceiling(network).value)
    if group.ranks <= of_node and group.scheme == "fsdp":
        best = max(ring, links.need())  # shards within a node, replicas across
    return _time(traffic, best, ring)


def tensor_parallel_seconds(plan: TrainingPlan) -> Estimate:
    """Return the time of that traffic alone; a group within a domain uses NVLink."""
    traffic = tensor_parallel_traffic(plan)
    if not traffic.upper:
        return traffic
    ranks = degree(plan, "tensor_parallel_size")
    local = plan.value("cluster.gpus_per_node").need()
    domain = plan.value("cluster.nvlink_domain_size").or_else(local)
    if ranks <= max(domain, local):
        rate = plan.value("cluster.nvlink_bytes_per_second").need()
    else:
        rate = plan.value("cluster.nic_bits_per_second_per_gpu").need() / 8
    return _time(traffic, rate, rate)


def _time(traffic: Estimate, best: float, usual: float) -> Estimate:
    return Estimate(
        traffic.value / (_USUAL_SHARE * usual),
        traffic.lower / best,
        traffic.upper / (_LEAST_SHARE * usual),
        "advisory",
        f"{traffic.source}; wires of the hardware catalogue, 80 to 100 percent of them",
        "healthy fabric, messages of 1 GiB",
    )


_STATED = "run.step_seconds"  # what a plan may state where no model speaks
Make = Callable[[TrainingPlan], tuple[Estimate, str]]


def step_forecast(plan: TrainingPlan) -> Forecast:
    """Return all quantities of a step; each names the leaves that it lacks."""
    sized = of_sizes(plan)
    result = (_quantity(sized, *texts) for texts in _QUANTITIES)
    # What a plan states of its step is no sum of what the models say of the parts.
    whole = "" if plan.value(_STATED).is_known else "step_seconds"
    return Forecast("step", tuple(result), whole=whole, parts=_PARTS)


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
    """Return the operations that training needs, recomputation not counted."""
    estimate, tokens = step_flops(plan), step_tokens(plan).value
    each = estimate.value / tokens
    name = "adapter" if trains_adapter(plan) else "palm"
    note = f"{tokens:,.0f} tokens x {each:.3g} FLOPs, convention {name}"
    return estimate, note


def compute_seconds(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Return the seconds at the utilization of published runs on such GPUs."""
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
    estimate = compute_time(flops.value, gpus, peak, published)
    note = (
        f"{flops.value:.3g} FLOPs / ({gpus:,} GPUs x {peak / 1e12:,.0f} TFLOPS x "
        f"{published.lowest:.2f} to {published.highest:.2f})"
    )
    return estimate, note


def bubble_share(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Return the share of the step that a pipeline stage waits."""
    pipeline = pipeline_of(plan)
    waits = pipeline.stages - 1
    note = "one stage"
    if waits:
        work = f"{pipeline.chunks} x {pipeline.micro_batches}"
        note = f"{waits} / ({work} + {waits})"
    return idle_share(pipeline), note


def pipeline_wait(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Return the seconds of that share, beside those of compute."""
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
    """Return seconds of data- and tensor-parallel exchange that no compute hides."""
    gradients, activations = _exposed_gradients(plan), _exposed_activations(plan)
    return gradients + activations, "data parallel and tensor parallel"


def _exposed_gradients(plan: TrainingPlan) -> Estimate:
    """Return what shows: shards hide under the step, gradients under the backward."""
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
    """Return the seconds as stated; else compute, the bubble and what shows.

    The lower end is compute alone, since published runs waited for exchanges too.
    """
    stated = plan.value(_STATED).value
    if stated is not None:
        return exactly(stated, "stated"), "as stated"
    compute, shown = compute_seconds(plan)[0], exposed_communication(plan)[0]
    idle = bubble_share(plan)[0].value
    estimate = Estimate(
        compute.value / (1 - idle) + shown.value,
        compute.lower,
        compute.upper / (1 - idle) + shown.upper,
        "advisory",
        f"{compute.source}; {shown.source}",
    )
    return estimate, "compute / (1 - bubble) + exposed communication"


def tokens_per_second(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Return the tokens per second of the whole job."""
    tokens, seconds = step_tokens(plan), step_seconds(plan)[0]
    estimate = Estimate(
        tokens.value / seconds.value,
        tokens.lower / seconds.upper,
        tokens.upper / seconds.lower,
        tokens.kind if seconds.kind == "exact" else seconds.kind,
        seconds.source,
        tokens.valid,
    )
    return estimate, f"{tokens.value:,.0f} tokens of a step / its seconds"


def scaling(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Return the throughput of one GPU over that of a single replica of the model."""
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
