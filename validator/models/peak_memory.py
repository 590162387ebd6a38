"""The peak of one GPU: its parts, their sum, and the composites that rows were held to.

    peak = states + activations + logits or a layer's working set + buffers + overhead

Bounds hold for all frameworks. A best value is only as good as the family of rows that
it was held to: `FAMILIES` names each with its band; outside them the peak is an
interval. Constants that were fitted stand beside the rows that they were fitted on
(ids of fixtures/ground_truth/memory.csv).
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, EstimateKind, exactly
from speccheck.validator.models.parameters import (
    COUNT,
    Dimensions,
    fullest_stage_parameters,
    layer_parameters,
    least_layer_parameters,
    most_layer_parameters,
    parameter_buckets,
    parameter_estimate,
)
from speccheck.validator.models.training_memory import (
    GIB,
    MOST_ADAPTER_SHARE,
    WEIGHT_STAGE,
    Scheme,
    Sharding,
    TrainingWork,
    activation_estimate,
    bytes_per_parameter,
    frozen_base_bytes,
    gpt_working_set_bytes,
    layer_elements,
    logit_estimate,
    state_bytes,
    working_set_bytes,
)

# CUDA context and communicators, outside the allocator: 0.5 to 0.9 GiB and 1 to 2 GiB;
# 5 GiB with three kinds of parallelism over nodes (fitted on bloom-007 to -097; 2 GB
# instead give a mean error of 11 percent).
LEAST_OVERHEAD_BYTES = 0.5e9
ONE_NODE_OVERHEAD_BYTES = 2 * GIB
MOST_OVERHEAD_BYTES = 5 * GIB
# Layers whose gathered weights live at once under FSDP and ZeRO-3.
GATHERED_LAYERS = 3
_FULL = 4.0
_UNBOUNDED = float("inf")


class Family(Record):
    """Rows of one code base that a best value was held to.

    band: largest error that the tests allow. overhead_bytes: outside the allocator.
    peak_is_shared: logits and gathered weights do not peak together.
    """

    name: str
    band: float
    overhead_bytes: float
    source: str
    valid: str
    peak_is_shared: bool = False


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "fsdp",
            0.10,
            ONE_NODE_OVERHEAD_BYTES,
            "torchtitan benchmarks of 2024-12, rows tt-01 to tt-10",
            "FSDP alone, releases of torchtitan before 2025-06, reserved memory",
        ),
        Family(
            "megatron-deepspeed",
            0.15,
            MOST_OVERHEAD_BYTES,
            "BLOOM chronicles, rows bloom-001 to bloom-097",
            "ZeRO stage 1, GPT blocks, full recomputation, no sequence parallelism",
        ),
        Family(
            "megatron-core",
            0.15,
            MOST_OVERHEAD_BYTES,
            "ms-swift on Megatron-core, rows swift-01 and swift-04",
            "one pipeline stage, dense, selective or full recomputation",
        ),
        Family(
            "deepspeed",
            0.25,
            ONE_NODE_OVERHEAD_BYTES,
            "ms-swift on DeepSpeed, rows swift-02, swift-03 and swift-08",
            "ZeRO stages 2 and 3, full recomputation",
            peak_is_shared=True,
        ),
    )
}


class MemoryJob(Record):
    """One GPU's share of a plan.

    Attributes:
        parameters: of the model as stated; None where the dimensions alone tell them.
        dimensions: None where they are not known: only states are bounded then.
        work: None where tokens of a step are not known.
        expert_sharding: of the routed experts, where the model has any.
        keeps_gathered: FSDP leaves weights whole between micro-batches of a pipeline;
            None where it is not known.
        embeddings_are_slots: see `fullest_stage_parameters`.
        is_uneven: layers are dealt out to stages by hand.

    """

    parameters: int | None
    dimensions: Dimensions | None
    scheme: Scheme
    sharding: Sharding
    stages: int = 1
    work: TrainingWork | None = None
    expert_sharding: Sharding | None = None
    keeps_gathered: bool | None = None
    embeddings_are_slots: bool = False
    is_uneven: bool = False


class Peak(Record):
    """The parts of the fullest GPU, in bytes."""

    parameters: Estimate
    states: Estimate
    activations: Estimate
    logits: Estimate
    buffers: Estimate
    overhead: Estimate

    def total(self, family: Family | None = None) -> Estimate:
        """Return the sum: calibrated within a family, else an interval.

        Its upper end leaves out what the allocator reserves and never uses: up to 12
        percent with FSDP and tensor parallelism (rows tt-11 to tt-13).
        """
        parts = self.states + self.activations + self.logits
        whole = parts + self.buffers + self.overhead
        if family is None:
            is_open = whole.kind == "lower_bound"
            return whole._replace(
                value=whole.lower if is_open else whole.value,
                kind="lower_bound" if is_open else "advisory",
            )
        return whole._replace(
            upper=max(whole.upper, whole.value * (1 + family.band)),
            kind="calibrated",
            source=family.source,
            valid=family.valid,
        )


def stage_parameters(job: MemoryJob) -> Estimate:
    """Return parameters of the fullest pipeline stage, before tensor ranks cut it."""
    dimensions, stages = job.dimensions, job.stages
    if dimensions is None:
        count = float(job.parameters or 0)
        most = count if stages == 1 else _UNBOUNDED
        kind: EstimateKind = "exact" if stages == 1 else "lower_bound"
        return Estimate(count / stages, count / stages, most, kind, COUNT)
    whole = parameter_estimate(dimensions)
    if job.parameters is not None:
        stated = float(job.parameters)
        most = stated if not dimensions.experts else max(stated, whole.upper)
        whole = Estimate(stated, stated, most, "exact", COUNT)
    if stages == 1:
        return whole
    layers = -(-dimensions.layers // stages)
    layer = most_layer_parameters(dimensions)
    upper = _UNBOUNDED
    if layer is not None and dimensions.vocabulary_size and not job.is_uneven:
        upper = layers * layer + 2.0 * dimensions.embedding
    lower = max(whole.lower / stages, layers * least_layer_parameters(dimensions))
    if job.embeddings_are_slots or job.is_uneven:
        lower = whole.lower / stages
    value = lower
    if dimensions.is_complete and not job.is_uneven:
        value = fullest_stage_parameters(
            dimensions, stages, embeddings_are_slots=job.embeddings_are_slots
        )
    return Estimate(value, min(lower, value), max(upper, value), whole.kind, COUNT)


def peak_of(job: MemoryJob, family: Family | None = None) -> Peak:
    """Return the parts; those that the job leaves open reach to infinity."""
    parameters = stage_parameters(job)
    states = _states(job, parameters)
    buffers = buffer_estimate(job, parameters)
    overhead = Estimate(
        LEAST_OVERHEAD_BYTES if family is None else float(family.overhead_bytes),
        LEAST_OVERHEAD_BYTES,
        float(MOST_OVERHEAD_BYTES),
        "calibrated",
        "CUDA context and communicators of published device readings",
    )
    dimensions, work = job.dimensions, job.work
    if dimensions is None or work is None:
        nothing = Estimate(0.0, 0.0, _UNBOUNDED, "lower_bound", COUNT)
        return Peak(parameters, states, nothing, nothing, buffers, overhead)
    layers = -(-dimensions.layers // job.stages)
    activations = activation_estimate(dimensions, work, layers)
    if job.scheme.base_bits is not None:
        upper = activations.upper * MOST_ADAPTER_SHARE
        activations = activations._replace(upper=upper)
    logits = logit_estimate(dimensions, work)
    if family is not None and family.name == "megatron-deepspeed":
        activations = activations._replace(value=_megatron_deepspeed_kept(job, layers))
    return _with_the_larger(
        job, family, Peak(parameters, states, activations, logits, buffers, overhead)
    )


def _states(job: MemoryJob, parameters: Estimate) -> Estimate:
    dense, cut = job.sharding, job.expert_sharding
    if cut is None:
        return state_bytes(parameters, job.scheme, dense)
    if job.dimensions is None:
        # All of it may be experts.
        fewest = state_bytes(parameters, job.scheme, cut)
        most = state_bytes(parameters, job.scheme, dense).upper
        return fewest._replace(upper=most, kind="lower_bound")
    experts = _expert_parameters(job, parameters)
    others = Estimate(
        parameters.value - experts.value,
        max(parameters.lower - experts.lower, 0.0),
        parameters.upper,
        parameters.kind,
        COUNT,
    )
    return state_bytes(others, job.scheme, dense) + state_bytes(
        experts, job.scheme, cut
    )


def _expert_parameters(job: MemoryJob, parameters: Estimate) -> Estimate:
    """Return the routed experts' parameters on the fullest stage.

    The rest of it is dense.

    What is not known to be dense counts as experts, which more ranks cut.
    """
    dimensions = job.dimensions
    if dimensions is None:
        return parameters
    if dimensions.is_complete and job.stages == 1 and job.parameters is None:
        return exactly(parameter_buckets(dimensions).of_experts, COUNT)
    dense = parameter_estimate(
        dimensions._replace(experts=0, feed_forward_size=0, expert_feed_forward_size=0)
    )
    lower = max(parameters.lower - dense.lower / job.stages, 0.0)
    return Estimate(lower, lower, parameters.upper, "lower_bound", COUNT)


def buffer_estimate(job: MemoryJob, parameters: Estimate) -> Estimate:
    """Return weights gathered for the layer at work, or kept between micro-batches."""
    source = "torchtitan rows tt-01 to tt-18: three layers, embedding and head at once"
    is_gathered = job.sharding.stage >= WEIGHT_STAGE
    if not is_gathered:
        return exactly(0.0, source)
    if job.dimensions is None:
        return Estimate(0.0, 0.0, _UNBOUNDED, "lower_bound", source)
    dimensions, ranks = job.dimensions, job.sharding.model_ranks
    each = 2.0 if job.scheme.compute_dtype != "fp32" else _FULL
    units = GATHERED_LAYERS * layer_parameters(dimensions) + 2 * dimensions.embedding
    largest = most_layer_parameters(dimensions)
    upper = _UNBOUNDED
    if largest is not None and dimensions.vocabulary_size:
        most_units = GATHERED_LAYERS * largest + 2 * dimensions.embedding
        upper = 2 * each * most_units / ranks
    if job.stages == 1:
        return Estimate(each * units / ranks, 0.0, upper, "calibrated", source)
    kept = each * parameters.lower / ranks if job.keeps_gathered else 0.0
    if job.keeps_gathered is not False:
        # So do unsharded 32-bit gradients, beside those of the micro-batch.
        upper += (2 * each + _FULL) * parameters.upper / ranks
    return Estimate(kept, kept, upper, "lower_bound", source)


def zero3_module_bytes(largest_module_parameters: int) -> int:
    """Return what DeepSpeed's own estimate adds for the module at work."""
    return 4 * largest_module_parameters


def _megatron_deepspeed_kept(job: MemoryJob, layers: int) -> float:
    """Return what full recomputation keeps: inputs of layers, the stage's output.

    The first stage holds them for a micro-batch of each stage, however few there are.
    """
    dimensions, work = job.dimensions, job.work
    if dimensions is None or work is None:
        return 0.0
    boundary = 2.0 * work.tokens * dimensions.hidden_size
    return boundary * (layers + 1) * work.micro_batches_in_flight


def _with_the_larger(job: MemoryJob, family: Family | None, peak: Peak) -> Peak:
    """Return the peak with only the larger of logits and a layer's working set."""
    dimensions, work = job.dimensions, job.work
    if dimensions is None or work is None:
        return peak
    logits, buffers = peak.logits, peak.buffers
    if job.stages > 1:
        # The first stage is the fullest; the last one alone has logits.
        logits = logits._replace(value=0.0, lower=0.0)
    working = 0.0
    if family is not None and family.name == "megatron-deepspeed":
        working = gpt_working_set_bytes(
            work.sequence_length,
            work.tokens // work.sequence_length,
            dimensions.hidden_size,
            dimensions.attention_heads,
            work.tensor_ranks,
        )
    elif work.recompute == "full":
        working = working_set_bytes(dimensions, work)
    shared = family is not None and family.peak_is_shared
    beside = buffers.value if shared else 0.0
    if logits.value >= working + beside:
        if shared:
            buffers = buffers._replace(value=0.0)
        return peak._replace(logits=logits, buffers=buffers)
    activations = peak.activations
    grown = activations._replace(value=activations.value + working)
    return peak._replace(activations=grown, logits=logits._replace(value=0.0))


ACTIVE = "pytorch/torchtune README, active memory"
ADAPTER = "torchtune README and litgpt tables of adapters"


def single_device_active(
    parameters: Estimate,
    dimensions: Dimensions,
    scheme: Scheme,
    work: TrainingWork,
    *,
    pages_optimizer: bool = False,
) -> Estimate:
    """Return the bytes that one GPU without sharding holds at once.

    pages_optimizer: its state moves to the host and is not counted as active.
    """
    kept = bytes_per_parameter(scheme)
    optimizer = 0.0 if pages_optimizer else kept.optimizer.value
    gradients = 0.0 if scheme.frees_gradients else kept.gradients.value
    activations = activation_estimate(dimensions, work, dimensions.layers)
    stored = activations.value if work.keeps_activations else 0.0
    working = working_set_bytes(dimensions, work)
    logits = logit_estimate(dimensions, work)
    forward = (kept.weights.value + optimizer) * parameters.value
    forward += stored + max(logits.value, working)
    backward = (kept.weights.value + gradients + optimizer) * parameters.value + working
    whole = Sharding(1, 1, 1, 0, offloads_optimizer=pages_optimizer)
    states = state_bytes(parameters, scheme, whole)
    return Estimate(
        max(forward, backward),
        states.lower,
        states.upper + activations.upper + logits.upper,
        "calibrated",
        ACTIVE,
        "torchtune on one GPU",
    )


class FrozenBase(Record):
    """A frozen base model under an adapter.

    embedding_parameters: of embedding and head, which stay in 16 bits. kept_share: of
    `layer_elements` that stays for the backward pass, by `frozen_share`; it is of no
    matter under full recomputation.
    """

    parameters: int
    embedding_parameters: int
    bits: int
    is_double_quantized: bool = False
    kept_share: float = 1.0
    shard_ranks: int = 1


def adapter_peak(
    base: FrozenBase, dimensions: Dimensions, work: TrainingWork
) -> Estimate:
    """Return the bytes of base, activations, logits and gathered layers."""
    weights = frozen_base_bytes(
        base.parameters,
        base.embedding_parameters,
        base.bits,
        is_double_quantized=base.is_double_quantized,
    )
    token = work.bytes_of_element * work.tokens * dimensions.layers
    if not work.keeps_activations:
        stored = 0.0
    elif work.recompute == "full":
        stored = token * dimensions.hidden_size
    else:
        stored = token * base.kept_share * layer_elements(dimensions)
    working = working_set_bytes(dimensions, work) if work.recompute == "full" else 0.0
    logits = logit_estimate(dimensions, work)
    gathered = 0.0
    if base.shard_ranks > 1:
        each = weights / base.parameters
        gathered = GATHERED_LAYERS * layer_parameters(dimensions) * each
    value = weights / base.shard_ranks + gathered
    value += stored + max(logits.value, working)
    kept = bytes_per_parameter(Scheme("bf16", base_bits=base.bits)).sum()
    activations = activation_estimate(dimensions, work, dimensions.layers)
    return Estimate(
        value,
        kept.lower * base.parameters / base.shard_ranks,
        kept.upper * base.parameters
        + 4.0 * gathered
        + activations.upper * MOST_ADAPTER_SHARE
        + logits.upper,
        "calibrated",
        ADAPTER,
        "adapters of low rank on a base in 16 or 4 bits",
    )
