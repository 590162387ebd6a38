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
from typing import Any, TypeVar

from speccheck.validator.evidence.plan import TrainingPlan, leaf_names
from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.forecast.plan_facts import degree, stage_of, trains_adapter
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.models.estimate import Estimate, exactly
from speccheck.validator.models.parameters import (
    Dimensions,
    megatron_feed_forward_size,
)
from speccheck.validator.models.peak_memory import (
    FAMILIES,
    Family,
    MemoryJob,
    Peak,
    peak_of,
    stage_parameters,
)
from speccheck.validator.models.training_memory import (
    GRADIENT_STAGE,
    HALF_PRECISION_BITS,
    OPTIMIZER_STAGE,
    WEIGHT_STAGE,
    Recompute,
    Scheme,
    Sharding,
    TrainingWork,
    activation_estimate,
    host_bytes,
    logit_estimate,
    micro_batches_in_flight,
)
from speccheck.validator.models.units import billions, gigabytes

HALF = ("bf16", "fp16", "fp8")
# The release that changed how much torchtitan keeps; its earlier ones are 0.0.x.
_TORCHTITAN_OF_THE_ROWS = "0.0."
# No leaf tells of torchtune's optimizer_in_bwd; XLA may fuse gradients into the update.
_MAY_FREE_GRADIENTS = ("torchtune", "maxtext")
_FILLED = ("pretrain", "continued")


def dimensions_of(plan: TrainingPlan) -> Dimensions:
    """Return the dimensions of a transformer; raises MissingEvidence without three.

    A configuration that counts experts does not say which layers have them.
    """
    family = plan.value("model.family")
    if family.or_else("transformer") != "transformer":
        raise MissingEvidence(family.name, f"no model of a {family.value} is known")
    layers, hidden, heads = (
        int(plan.value(f"model.{name}").need())
        for name in ("layers", "hidden_size", "attention_heads")
    )
    if not layers or not hidden or not heads:
        name, reason = "model.layers", "the dimensions of a transformer"
        raise MissingEvidence(name, reason)
    experts = plan.value("model.experts").or_else(0)
    return Dimensions(
        layers=layers,
        hidden_size=hidden,
        attention_heads=heads,
        key_value_heads=plan.value("model.key_value_heads").value,
        head_dimension=plan.value("model.head_dimension").value,
        feed_forward_size=_feed_forward_size(plan, hidden),
        gated_feed_forward=plan.value("model.gated_feed_forward").value,
        vocabulary_size=plan.value("model.vocabulary_size").value,
        tied_embeddings=plan.value("model.tied_embeddings").value,
        experts=experts if experts > 1 else 0,
        experts_per_token=plan.value("model.experts_per_token").or_else(0),
        expert_feed_forward_size=plan.value("model.expert_feed_forward_size").value,
        mixture_is_sure=experts <= 1,
    )


def _feed_forward_size(plan: TrainingPlan, hidden: int) -> int | None:
    """Return the feed-forward size as stated, or as Megatron-LM works it out."""
    stated = plan.value("model.feed_forward_size").value
    if stated is not None:
        return int(stated)
    if plan.value("run.framework").value != "megatron-lm":
        return None
    is_gated = bool(plan.value("model.gated_feed_forward").value)
    return megatron_feed_forward_size(hidden, is_gated=is_gated)


def cuts_unasked(plan: TrainingPlan) -> bool:
    """Return whether DeepSpeed may cut optimizer state over ranks at stage 0.

    Its optimizer for bf16 does so; later releases take another one without a pipeline.
    Source: deepspeedai/DeepSpeed runtime/engine.py (_do_optimizer_sanity_check),
    runtime/bf16_optimizer.py. BLOOM was trained so.
    """
    return (
        plan.value("parallelism.engine").value == "deepspeed"
        and plan.value("precision.compute_dtype").value == "bf16"
        and plan.value("parallelism.sharding_stage").value == 0
    )


def scheme_of(plan: TrainingPlan) -> Scheme:
    """Return how parameters are trained."""
    engine = plan.value("parallelism.engine").or_else("")
    compute = plan.value("precision.compute_dtype").need()
    if engine == "megatron" and plan.value("precision.fp8").value:
        compute = "fp8"
    base_bits = None
    if trains_adapter(plan):
        base_bits = plan.value("model.quantized_bits").or_else(HALF_PRECISION_BITS)
    return Scheme(
        compute_dtype=compute,
        engine=engine if engine in {"deepspeed", "megatron"} else "torch",
        parameter_dtype=plan.value("precision.parameter_dtype").or_else(""),
        accumulate_dtype=_accumulate_dtype(plan, engine, compute),
        optimizer=_optimizer(plan, engine),
        optimizer_state_dtype=plan.value("precision.optimizer_state_dtype").or_else(""),
        frees_gradients=plan.value("run.framework").value in _MAY_FREE_GRADIENTS,
        base_bits=base_bits,
    )


def _accumulate_dtype(plan: TrainingPlan, engine: str, compute: str) -> str:
    """Return the dtype as stated; from stage 2 on DeepSpeed adds up in the model's."""
    leaf = plan.value("precision.gradient_accumulate_dtype")
    stage = plan.value("parallelism.sharding_stage").or_else(0)
    is_silent = leaf.status == "unknown" and not leaf.places
    if is_silent and engine == "deepspeed" and stage >= GRADIENT_STAGE:
        return compute
    return str(leaf.or_else(""))


def _optimizer(plan: TrainingPlan, engine: str) -> str:
    """Return the optimizer's name.

    Megatron-LM takes Adam unless it is set otherwise.
    """
    name = plan.value("optimizer.name_of_optimizer").value
    if name is None and engine == "megatron":
        return "adam"
    return str(name or "").lower()


def sharding_of(plan: TrainingPlan) -> Sharding:
    """Return over how many ranks weights, gradients and optimizer state are cut."""
    tensor = degree(plan, "tensor_parallel_size")
    stages, stage = degree(plan, "pipeline_parallel_size"), stage_of(plan)
    most, fewest = 1, 1
    if cuts_unasked(plan):
        stage = OPTIMIZER_STAGE
        most, fewest = _shard_ranks(plan, tensor * stages)
        fewest = fewest if stages > 1 else 1
    elif stage:
        most, fewest = _shard_ranks(plan, tensor * stages)
    return Sharding(
        tensor,
        most,
        fewest,
        stage,
        offloads_optimizer=is_offloaded(plan, "optimizer"),
        offloads_weights=is_offloaded(plan, "parameter"),
    )


def _shard_ranks(plan: TrainingPlan, model_ranks: int) -> tuple[int, int]:
    """Return the most and the fewest ranks that shard, without context ranks."""
    context = plan.value("parallelism.context_parallel_size").or_else(1)
    context *= plan.value("parallelism.ulysses_size").or_else(1)
    most = max(plan.value("cluster.world_size").need() // model_ranks, 1)
    fewest = max(most // max(context, 1), 1)
    stated = plan.value("parallelism.shard_size").or_else(-1)
    if stated > 0:
        most, fewest = min(most, stated * context), min(fewest, stated)
    return most, fewest


def _expert_sharding(plan: TrainingPlan, dense: Sharding) -> Sharding | None:
    """Return the sharding of routed experts: expert ranks x tensor ranks within each.

    Those may be all tensor ranks where they are not stated: more ranks hold less.
    """
    if plan.value("model.experts").or_else(1) <= 1:
        return None
    experts = max(plan.value("parallelism.expert_parallel_size").or_else(1), 1)
    within = plan.value("parallelism.expert_tensor_parallel_size").or_else(0)
    ranks = max(experts * (within or dense.model_ranks), dense.model_ranks)
    if dense.stage == 0:
        return dense._replace(model_ranks=ranks)
    all_ranks = dense.model_ranks * dense.shard_ranks
    shards = max(all_ranks // ranks, 1)
    return dense._replace(
        model_ranks=ranks, shard_ranks=shards, fewest_shard_ranks=min(1, shards)
    )


def is_offloaded(plan: TrainingPlan, part: str) -> bool:
    """Return whether a part may lie in host memory.

    FSDP moves parameters and optimizer.
    """
    own = plan.value(f"memory.{part}_offload_device").or_else("none") != "none"
    if part == "optimizer" and not own:
        engine = plan.value("parallelism.engine").or_else("")
        return engine.startswith("fsdp") and is_offloaded(plan, "parameter")
    return bool(own)


def work_of(plan: TrainingPlan) -> TrainingWork:
    """Return what one rank computes at once; needs micro-batch and sequence length."""
    length = plan.value("batch.sequence_length").need()
    samples = plan.value("batch.micro_batch_size").need()
    context = plan.value("parallelism.context_parallel_size").or_else(1)
    stages = degree(plan, "pipeline_parallel_size")
    steps = plan.value("batch.gradient_accumulation_steps").or_else(stages)
    interleaves = (
        plan.value("parallelism.virtual_stages").or_else(1) > 1
        or plan.value("parallelism.layers_per_virtual_stage").is_known
    )
    engine = plan.value("parallelism.engine").value
    is_one_by_one = engine in {"megatron", "deepspeed"}
    mode, is_sure = _recompute(plan)
    is_full = plan.value("run.role").value in _FILLED
    return TrainingWork(
        tokens=samples * length // max(context, 1),
        sequence_length=length,
        tensor_ranks=degree(plan, "tensor_parallel_size"),
        pipeline_ranks=stages,
        shards_sequence=bool(plan.value("parallelism.sequence_parallel").value),
        recompute=mode,
        attention=plan.value("kernels.attention_backend").or_else(""),
        is_half=plan.value("precision.compute_dtype").or_else("fp32") in HALF,
        micro_batches_in_flight=micro_batches_in_flight(steps, stages),
        schedule_is_sure=stages == 1 or (is_one_by_one and not interleaves),
        is_compiled=_is_compiled(plan),
        loss=_loss(plan),
        keeps_activations=plan.value("memory.activation_offload").value is not True,
        tokens_are_sure=is_sure
        and (is_full or bool(plan.value("batch.packing").value)),
        # Its loss is parallel unless disable_loss_parallel is set.
        shares_vocabulary=plan.value("run.framework").value == "torchtitan",
        trains_weights=not trains_adapter(plan),
    )


def _recompute(plan: TrainingPlan) -> tuple[Recompute, bool]:
    """Return the mode, and whether every layer keeps its input.

    Full recomputation of some layers alone (block), or of several at once (uniform),
    keeps more or less than that of each.
    """
    mode = plan.value("memory.recompute_mode").or_else("")
    if mode == "full":
        method = plan.value("memory.recompute_method").or_else("")
        layers = plan.value("memory.recompute_layers").or_else(1)
        if method == "block" or layers > 1:
            return "", False
        return "full", True
    if plan.value("precision.fp8").value:
        # Inputs of matrix products may be kept in 8 bits.
        return "", True
    if mode == "selective":
        is_megatron = plan.value("parallelism.engine").value == "megatron"
        return ("selective" if is_megatron else ""), True
    return ("none" if mode == "none" else ""), True


def _is_compiled(plan: TrainingPlan) -> bool | None:
    """Return whether layers are compiled.

    Megatron-LM fuses by hand and compiles none.
    """
    if plan.value("parallelism.engine").value == "megatron":
        return False
    value: bool | None = plan.value("kernels.compiled").value
    return value


def _loss(plan: TrainingPlan) -> str:
    """Return the kind of loss, where the plan states it."""
    if plan.value("parallelism.engine").value == "megatron":
        return "vocabulary-parallel"
    if plan.value("kernels.fused_cross_entropy").is_known:
        return ""  # fused may mean one kernel, chunks, or no logits at all
    if plan.value("run.framework").value == "torchtitan":
        return "compiled" if plan.value("kernels.compiled").value else "eager"
    return ""


def job_of(plan: TrainingPlan, work: TrainingWork | None = None) -> MemoryJob:
    """Return the states, and with `work` the rest.

    Raises MissingEvidence for what states need.
    """
    sharding, stated = sharding_of(plan), plan.value("model.parameters").value
    dimensions = None
    try:
        dimensions = dimensions_of(plan)
    except MissingEvidence:
        if stated is None:
            name, reason = "model.parameters", "nor the dimensions of a transformer"
            raise MissingEvidence(name, reason) from None
    return MemoryJob(
        parameters=stated,
        dimensions=dimensions,
        scheme=scheme_of(plan),
        sharding=sharding,
        stages=degree(plan, "pipeline_parallel_size"),
        work=work,
        expert_sharding=_expert_sharding(plan, sharding),
        is_uneven=plan.value("parallelism.pipeline_layout").is_known,
    )


def family_of(plan: TrainingPlan, job: MemoryJob) -> Family | None:
    """Return the rows that a plan is like.

    None if no published figure backs a value.
    """
    work, dimensions = job.work, job.dimensions
    if work is None or dimensions is None or dimensions.experts:
        return None
    if trains_adapter(plan) or not work.keeps_activations or not work.schedule_is_sure:
        return None
    return FAMILIES.get(_family_name(plan, job, work, dimensions))


def _family_name(
    plan: TrainingPlan, job: MemoryJob, work: TrainingWork, dimensions: Dimensions
) -> str:
    engine, stage = plan.value("parallelism.engine").or_else(""), job.sharding.stage
    is_flat = job.stages == 1 and work.tensor_ranks == 1
    is_known = bool(work.loss and work.recompute)
    if engine == "megatron":
        is_row = job.stages == 1 and work.recompute in {"full", "selective"}
        return "megatron-core" if is_row and not job.sharding.offloads_weights else ""
    if engine == "deepspeed" and work.recompute == "full":
        if stage == OPTIMIZER_STAGE and dimensions.gated_feed_forward is False:
            return "" if work.shards_sequence else "megatron-deepspeed"
        return "deepspeed" if stage >= GRADIENT_STAGE and is_flat and is_known else ""
    version = plan.value("run.framework_version").or_else("")
    is_titan = plan.value("run.framework").value == "torchtitan"
    if is_titan and version.lstrip("v").startswith(_TORCHTITAN_OF_THE_ROWS):
        return "fsdp" if is_flat and is_known and engine.startswith("fsdp") else ""
    return ""


__all__ = [
    "dimensions_of",
    "host_forecast",
    "memory_forecast",
    "peak_forecast",
    "peak_however_sharded",
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
    """Return the parts of the memory of one GPU and their total, in bytes."""
    work, no_work = _tried(work_of, plan)
    dimensions, no_dimensions = _tried(dimensions_of, plan)
    job, no_job = _tried(lambda training_plan: job_of(training_plan, work), plan)
    shape = tuple(name for name in _SHAPE if not plan.value(name).is_known)
    open_work = (*no_work, *no_dimensions, *shape)
    quantities = (
        _unplaced(dimensions, work, no_job, open_work)
        if job is None
        else _placed(plan, job, open_work)
    )
    return Forecast("memory", quantities, _limit(plan))


def peak_forecast(plan: TrainingPlan) -> tuple[MemoryJob, Peak]:
    """Return the models' own answer; raises MissingEvidence for what states need."""
    work, _ = _tried(work_of, plan)
    job = job_of(plan, work)
    return job, _backed_peak(plan, job)[0]


def _backed_peak(plan: TrainingPlan, job: MemoryJob) -> tuple[Peak, Family | None]:
    """Return the peak, and the family that backs its best value.

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
    """Return the parameters, and their states on one GPU where no cut is stated."""
    dimensions, _ = _tried(dimensions_of, plan)
    whole = Sharding(1, 1, 1, 0)
    if cuts_unasked(plan):
        ranks = plan.value("cluster.world_size").or_else(_MANY_RANKS)
        whole = Sharding(1, ranks, 1, OPTIMIZER_STAGE)
    stated = plan.value("model.parameters").value
    if dimensions is None and stated is None:
        name, reason = "model.parameters", "nor the dimensions of a transformer"
        raise MissingEvidence(name, reason)
    peak = peak_of(MemoryJob(stated, dimensions, scheme_of(plan), whole))
    return peak.parameters, peak.states


def peak_otherwise(
    plan: TrainingPlan, *, recompute: bool = True, offload: bool = True
) -> Estimate:
    """Return the total of the same plan without recomputation or without offload."""
    job, _ = peak_forecast(plan)
    if not recompute and job.work is not None:
        job = job._replace(work=job.work._replace(recompute="none"))
    if not offload:
        kept = {"offloads_optimizer": False, "offloads_weights": False}
        job = job._replace(sharding=job.sharding._replace(**kept))
        if job.expert_sharding is not None:
            job = job._replace(expert_sharding=job.expert_sharding._replace(**kept))
    return peak_of(job).total()


def peak_however_sharded(plan: TrainingPlan) -> Estimate | None:
    """Return the total where no file says what is sharded; None where one does.

    Its upper end is the greatest of nothing and everything sharded, under plain PyTorch
    and under DeepSpeed, which keeps copies in 32 bits.
    """
    stage, engine = "parallelism.sharding_stage", "parallelism.engine"
    if plan.value(stage).is_known or plan.value(stage).places:
        return None
    named = plan.value(engine).value
    ways = [(name, cut) for name in _ENGINES for cut in (0, WEIGHT_STAGE)]
    if named is not None:
        ways = [(named, cut) for cut in (0, WEIGHT_STAGE)]
    totals: list[Estimate] = []
    for name, cut in ways:
        leaves = {leaf: plan.value(leaf) for leaf in leaf_names()}
        leaves[engine] = Value[Any](engine, name, "default")
        leaves[stage] = Value[Any](stage, cut, "default")
        job, _ = _tried(peak_forecast, TrainingPlan(leaves))
        if job is None:
            return None
        totals.append(job[1].total())
    return max(totals, key=lambda total: total.upper)


# An engine of each scheme of states that a program without one of its own may run on.
_ENGINES = ("ddp", "deepspeed")


def host_forecast(plan: TrainingPlan) -> Estimate | None:
    """Return the bytes that a node's ranks move to host memory; None for a pipeline.

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
    """Return what `read` gives, or the leaf that it lacks."""
    try:
        return read(plan), ()
    except MissingEvidence as missing:
        return None, (missing.name,)


def _limit(plan: TrainingPlan) -> Quantity:
    leaf = plan.value(_CAPACITY)
    if leaf.value is None:
        return Quantity("capacity", "bytes", None, (_CAPACITY,), leaf.note)
    estimate = exactly(float(leaf.value), "hardware catalogue or stated")
    return Quantity("capacity", "bytes", estimate, (), leaf.note)


def _placed(
    plan: TrainingPlan, job: MemoryJob, open_work: tuple[str, ...]
) -> tuple[Quantity, ...]:
    """Return all parts: what the job leaves open reaches to infinity."""
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
    lacking = tuple(dict.fromkeys(name for part in parts for name in part.missing))
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
    work: TrainingWork | None,
    no_job: tuple[str, ...],
    open_work: tuple[str, ...],
) -> tuple[Quantity, ...]:
    """Return the activations and logits alone, where nothing is known of the states."""
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


def states_note(job: MemoryJob, peak: Peak) -> str:
    """Return `30.0 billion parameters x 4.2 bytes at stage 1 over 64 / 8 ...`."""
    count = peak.parameters.lower * job.stages
    ranks = job.sharding.model_ranks * job.stages
    each = peak.states.lower * ranks / count if count else 0.0
    if job.expert_sharding is not None:
        return f"{billions(count)} parameters or more, experts over their own ranks"
    text = f"{billions(count)} parameters x {each:.1f} bytes"
    if job.sharding.stage:
        text += f" at stage {job.sharding.stage} over {job.sharding.shard_ranks:,}"
    return f"{text} / {ranks} model-parallel ranks" if ranks > 1 else text


def _activations_note(dimensions: Dimensions | None, work: TrainingWork | None) -> str:
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


def _logits_note(job: MemoryJob, peak: Peak) -> str:
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
