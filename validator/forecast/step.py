"""One optimizer step: operations, traffic, what of it shows, seconds, tokens.

Names of quantities, of the whole job unless said otherwise: model_flops of a step,
recomputation not counted; compute_seconds of the kernels; bubble_share of
the time of a pipeline stage; data_parallel_traffic, tensor_parallel_traffic,
pipeline_traffic, expert_parallel_traffic, context_parallel_traffic, bytes that one GPU
sends in a step; data_parallel_seconds, the first of them alone; exposed_communication,
seconds of exchange that no kernel hides; step_seconds;
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
from speccheck.validator.models.bus_bandwidth import (
    Network,
    architecture_of,
    hierarchical_ceiling,
)
from speccheck.validator.models.estimate import Estimate, EstimateKind, exactly
from speccheck.validator.models.flops import Mixture
from speccheck.validator.models.step_time import (
    Machine,
    StepWork,
    banded,
    step_parts,
)
from speccheck.validator.models.throughput import idle_share, scaling_efficiency
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
    if local:  # a rack joins nodes
        local = _domain(plan)
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
    """Return the seconds of all kernels of a step, waiting and exchange left aside."""
    work = work_of(plan, wires=False)
    kernels = step_parts(work).kernels
    flops = step_flops(plan).value
    gpus = plan.value("cluster.world_size").need()
    peak = plan.value("cluster.peak_bf16_flops_per_second").need()
    note = (
        f"{flops:.3g} FLOPs on {gpus:,} GPUs at "
        f"{flops / kernels / gpus / peak:.0%} of {peak / 1e12:,.0f} TFLOPS"
    )
    return _with_recomputation(plan, work, _kernels), note


def _kernels(work: StepWork) -> float:
    return step_parts(work).kernels


def _whole(work: StepWork) -> float:
    return step_parts(work).total


def _with_recomputation(
    plan: TrainingPlan, work: StepWork, seconds: Callable[[StepWork], float]
) -> Estimate:
    """Return the time; where recomputation is not known its upper end has all of it."""
    estimate = banded(seconds(work), work)
    if plan.value("memory.recompute_mode").is_known:
        return estimate
    again = work._replace(recomputes=True)
    return estimate._replace(upper=banded(seconds(again), again).upper)


def work_of(plan: TrainingPlan, *, wires: bool = True) -> StepWork:
    """Return one GPU's share of a step, as the model of its time takes it.

    wires: with the time of every exchange; False where the network is of no matter.
    """
    if plan.value("run.role").value == "rl":
        reason = "a step of reinforcement learning generates its samples as well"
        raise MissingEvidence(_STATED, reason)
    capability = plan.value("cluster.compute_capability").need()
    architecture = architecture_of(capability)
    if architecture is None:
        reason = "no step was published of such a GPU"
        raise MissingEvidence(_STATED, reason)
    machine = Machine(
        architecture,
        plan.value("cluster.peak_bf16_flops_per_second").need(),
        plan.value("cluster.peak_fp8_flops_per_second").value,
        plan.value("cluster.memory_bytes_per_second").need(),
        is_ultra=capability == _ULTRA,
    )
    narrow = plan.value("precision.compute_dtype").need() == "fp8"
    pipeline, is_adapter = pipeline_of(plan), trains_adapter(plan)
    group = None if is_adapter else data_parallel_group(plan)
    work = StepWork(
        machine,
        "megatron" if plan.value("parallelism.engine").value in _FUSED else "torch",
        layers_of(plan),
        plan.value("model.vocabulary_size").need(),
        micro_batch_tokens(plan),
        plan.value("batch.sequence_length").need(),
        micro_batches(plan),
        tensor_ranks=degree(plan, "tensor_parallel_size"),
        stages=pipeline.stages,
        chunks=pipeline.chunks,
        in_8_bits=narrow or bool(plan.value("precision.fp8").value),
        recomputes=plan.value("memory.recompute_mode").value == "full",
        writes_scores=plan.value("kernels.attention_backend").value == "eager",
        separate_norms=plan.value("kernels.fused_normalization").value is False,
        shares_sequence=bool(plan.value("parallelism.sequence_parallel").value),
        is_adapter=is_adapter,
        parameters=_updated(plan, group),
        gathers_weights=group is not None and group.scheme == "fsdp",
    )
    return _with_wires(plan, work, group) if wires else work


def _with_wires(
    plan: TrainingPlan, work: StepWork, group: ParallelGroup | None
) -> StepWork:
    """Return the work with what its exchanges take on the wires alone."""
    return work._replace(
        tensor_seconds=tensor_parallel_seconds(plan).value + _context_seconds(plan),
        expert_seconds=_expert_seconds(plan),
        hop_seconds=_hop_seconds(plan),
        gradient_seconds=0.0 if group is None else data_parallel_seconds(plan).value,
        tensor_overlaps=plan.value("communication.overlap_tensor_parallel").value,
        gradients_overlap=plan.value("communication.overlap_gradient_reduce").value,
    )


_ULTRA = (10, 3)  # B300, GB300
_FUSED = {"megatron", "deepspeed"}


def _updated(plan: TrainingPlan, group: ParallelGroup | None) -> float:
    """Return the parameters that one rank's optimizer updates."""
    if group is None:
        return 0.0
    cuts = degree(plan, "tensor_parallel_size") * degree(plan, "pipeline_parallel_size")
    ranks = 1 if group.scheme == "ddp" else group.ranks
    return model_of(plan).total.value / cuts / ranks


def _domain(plan: TrainingPlan) -> int:
    """Return the GPUs that reach each other over NVLink."""
    local = plan.value("cluster.gpus_per_node").need()
    return max(int(plan.value("cluster.nvlink_domain_size").or_else(local)), int(local))


def _wire(plan: TrainingPlan, *, within_domain: bool) -> float:
    """Return the bytes a second that a healthy wire carries."""
    if within_domain:
        links: float = plan.value("cluster.nvlink_bytes_per_second").need()
        return _USUAL_SHARE * links
    rate = plan.value("cluster.nic_bits_per_second_per_gpu").need() / 8
    return _USUAL_SHARE * float(rate)


def _context_seconds(plan: TrainingPlan) -> float:
    traffic = context_parallel_traffic(plan).value
    if not traffic:
        return 0.0
    ranks = degree(plan, "tensor_parallel_size") * context_ranks(plan)
    return traffic / _wire(plan, within_domain=ranks <= _domain(plan))


def _expert_seconds(plan: TrainingPlan) -> float:
    """Return the time of all-to-all; a token goes to another domain once for each."""
    ranks = degree(plan, "expert_parallel_size")
    traffic = expert_parallel_traffic(plan).value
    if not traffic:
        return 0.0
    seconds = traffic / _wire(plan, within_domain=True)
    domains = ranks / _domain(plan)
    if domains <= 1:
        return seconds
    layers = layers_of(plan).feed_forward
    chosen = layers.per_token if isinstance(layers, Mixture) else 1
    # Of the copies of a token those that leave; at most one for each other domain.
    away = min(chosen * (1 - 1 / domains), domains - 1) / (chosen * (1 - 1 / ranks))
    return seconds + traffic * away / _wire(plan, within_domain=False)


def _hop_seconds(plan: TrainingPlan) -> float:
    """Return the part of a pipeline's sends that shows."""
    traffic = pipeline_traffic(plan).value
    if not traffic:
        return 0.0
    return _HOPS_SHOWN * traffic / _wire(plan, within_domain=False)


_HOPS_SHOWN = 0.1


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
    if not idle.value:
        return exactly(0, idle.source), note
    work = work_of(plan)
    share = idle.value / (1 - idle.value)
    return banded(step_parts(work).waiting, work), f"compute x {share:.3g}"


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
    """Return the seconds of exchange that no kernel hides."""
    work = work_of(plan)
    parts = step_parts(work)
    shown = banded(parts.activations + parts.gradients, work)
    everything = work.tensor_seconds + work.expert_seconds + work.gradient_seconds
    wires = everything + work.hop_seconds
    return shown, f"of {wires:.3g} s on the wires alone"


def step_seconds(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Return the seconds as stated; else kernels, waiting and what shows."""
    stated = plan.value(_STATED).value
    if stated is not None:
        return exactly(stated, "stated"), "as stated"
    estimate = _with_recomputation(plan, work_of(plan), _whole)
    return estimate, "compute + waiting + exposed communication"


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
    work = work_of(plan)
    parts = step_parts(work)
    alone = banded(parts.waiting + parts.activations, work)
    together = alone + banded(parts.gradients, work)
    return (
        scaling_efficiency(banded(parts.kernels, work), alone, together),
        "one GPU here over one GPU of a single replica, the same work for each",
    )


_SIZES = ("model.layers", "model.hidden_size", "model.attention_heads")
_MODEL = (*_SIZES, "model.vocabulary_size")
_BATCH = ("batch.global_batch_size", "batch.sequence_length")
_GPUS = (
    "cluster.world_size",
    "cluster.peak_bf16_flops_per_second",
    "cluster.memory_bytes_per_second",
)
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
