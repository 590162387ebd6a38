"""What the plan says of the model and of one GPU's share, as the models take it."""

from typing import Any

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.training_plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.models.activation_memory import (
    Work,
    most_rank_parameters,
    working_bytes,
)
from speccheck.validator.models.parameters import (
    Dimensions,
    least_parameters,
    megatron_feed_forward_size,
)
from speccheck.validator.models.state_memory import (
    HALF_PRECISION_BITS,
    WEIGHT_STAGE,
    Interval,
    Scheme,
    Sharding,
    state_bytes,
)

_HALF = ("bf16", "fp16", "fp8")


class Estimate(Record):
    """Memory of the fullest GPU in bytes.

    peak is None where a part cannot be bounded from above; `missing` then names the
    leaves that would do it.
    """

    parameters: Interval
    sharding: Sharding
    states: Interval
    peak: Interval | None
    missing: tuple[str, ...]


def trains_adapter(plan: TrainingPlan) -> bool:
    """Whether a frozen base model carries a small trained part."""
    return bool(plan.value("model.adapter").or_else("none") != "none")


def dimensions_of(plan: TrainingPlan) -> Dimensions | None:
    """The dimensions of a dense transformer, or None."""
    if plan.value("model.family").or_else("transformer") != "transformer":
        return None
    if plan.value("model.experts").or_else(1) > 1:
        return None
    layers, hidden, heads = (
        plan.value(f"model.{name}").value
        for name in ("layers", "hidden_size", "attention_heads")
    )
    if not layers or not hidden or not heads:
        return None
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
    )


def _feed_forward_size(plan: TrainingPlan, hidden: int) -> int | None:
    """As stated, or as Megatron-LM works it out."""
    stated = plan.value("model.feed_forward_size").value
    if stated is not None:
        return int(stated)
    if plan.value("run.framework").value != "megatron-lm":
        return None
    is_gated = bool(plan.value("model.gated_feed_forward").value)
    return megatron_feed_forward_size(hidden, is_gated=is_gated)


def parameters_of(plan: TrainingPlan, dimensions: Dimensions | None) -> Interval:
    """Parameters of the model; the upper end is that of the fullest pipeline stage.

    Raises MissingEvidence where neither a count nor the dimensions are known.
    """
    stated = plan.value("model.parameters").value
    stages = degree(plan, "pipeline_parallel_size")
    most = None
    if dimensions is not None:
        fullest = most_rank_parameters(dimensions, stages)
        most = None if fullest is None else fullest * stages
    if stated is not None:
        is_whole = stages == 1 and plan.value("model.experts").or_else(1) <= 1
        return Interval(stated, stated if is_whole else most or float("inf"))
    if dimensions is None:
        name, reason = "model.parameters", "nor the dimensions of a dense transformer"
        raise MissingEvidence(name, reason)
    return Interval(least_parameters(dimensions), most or float("inf"))


def degree(plan: TrainingPlan, field: str) -> int:
    """A degree of model parallelism.

    A DeepSpeed file that says nothing of tensor or pipeline parallelism runs without,
    unless a Megatron-LM script stands beside it, which then states them.
    """
    leaf: Value[Any] = plan.value(f"parallelism.{field}")
    is_silent = leaf.status == "unknown" and not leaf.places
    if is_silent and plan.value("parallelism.engine").value in {"deepspeed", "ddp"}:
        return 1
    return max(int(leaf.need()), 1)


def stage_of(plan: TrainingPlan) -> int:
    """What is sharded, as a ZeRO stage; raises MissingEvidence when not known."""
    leaf = plan.value("parallelism.sharding_stage")
    is_megatron = plan.value("parallelism.engine").value == "megatron"
    if not leaf.is_known and is_megatron:
        return 1 if plan.value("optimizer.is_distributed").need() else 0
    return int(leaf.need())


def scheme_of(plan: TrainingPlan) -> Scheme:
    """How parameters are trained."""
    engine = plan.value("parallelism.engine").or_else("")
    compute = plan.value("precision.compute_dtype").need()
    base_bits = None
    if trains_adapter(plan):
        base_bits = plan.value("model.quantized_bits").or_else(HALF_PRECISION_BITS)
    return Scheme(
        compute_dtype=compute,
        keeps_master_weights=engine in {"deepspeed", "megatron"} and compute in _HALF,
        parameter_dtype=plan.value("precision.parameter_dtype").or_else(""),
        optimizer=_optimizer(plan, engine),
        optimizer_state_dtype=plan.value("precision.optimizer_state_dtype").or_else(""),
        base_bits=base_bits,
    )


def _optimizer(plan: TrainingPlan, engine: str) -> str:
    """The optimizer's name; Megatron-LM takes Adam unless it is told otherwise."""
    name = plan.value("optimizer.name_of_optimizer").value
    if name is None and engine == "megatron":
        return "adam"
    return str(name or "").lower()


def sharding_of(plan: TrainingPlan) -> Sharding:
    """Over how many ranks weights, gradients and optimizer state are cut."""
    model_ranks = degree(plan, "tensor_parallel_size") * degree(
        plan, "pipeline_parallel_size"
    )
    stage = stage_of(plan)
    context = plan.value("parallelism.context_parallel_size").or_else(1)
    context *= plan.value("parallelism.ulysses_size").or_else(1)
    most, fewest = 1, 1
    if stage:
        most = max(plan.value("cluster.world_size").need() // model_ranks, 1)
        fewest = max(most // max(context, 1), 1)
        stated = plan.value("parallelism.shard_size").or_else(-1)
        if stated > 0:
            most, fewest = min(most, stated * context), min(fewest, stated)
    experts = max(plan.value("parallelism.expert_parallel_size").or_else(1), 1)
    return Sharding(
        model_ranks=model_ranks * experts,
        shard_ranks=most,
        fewest_shard_ranks=fewest,
        stage=stage,
        offloads_optimizer=_is_offloaded(plan, "optimizer"),
        offloads_weights=_is_offloaded(plan, "parameter"),
    )


def _is_offloaded(plan: TrainingPlan, part: str) -> bool:
    """Whether a part may lie in host memory; FSDP moves parameters and optimizer."""
    own = plan.value(f"memory.{part}_offload_device").or_else("none") != "none"
    if part == "optimizer" and not own:
        engine = plan.value("parallelism.engine").or_else("")
        return engine.startswith("fsdp") and _is_offloaded(plan, "parameter")
    return bool(own)


def estimate(plan: TrainingPlan) -> Estimate:
    """Model states and, where all parts are known, the peak of the fullest GPU."""
    dimensions = dimensions_of(plan)
    parameters, sharding = parameters_of(plan, dimensions), sharding_of(plan)
    states = state_bytes(parameters, scheme_of(plan), sharding)
    missing = tuple(name for name in _PEAK_NEEDS if not plan.value(name).is_known)
    peak = None
    if dimensions is not None and states.most != float("inf") and not missing:
        working = working_bytes(dimensions, work_of(plan))
        peak = None if working is None else states + working
    return Estimate(parameters, sharding, states, peak, missing)


_PEAK_NEEDS = (
    "batch.micro_batch_size",
    "batch.sequence_length",
    "model.feed_forward_size",
    "model.vocabulary_size",
)


def work_of(plan: TrainingPlan) -> Work:
    """What one rank computes at once; needs micro-batch and sequence length."""
    length = plan.value("batch.sequence_length").need()
    samples = plan.value("batch.micro_batch_size").need()
    context = plan.value("parallelism.context_parallel_size").or_else(1)
    stages = degree(plan, "pipeline_parallel_size")
    steps = plan.value("batch.gradient_accumulation_steps").or_else(stages)
    interleaves = (
        plan.value("parallelism.virtual_stages").or_else(1) > 1
        or plan.value("parallelism.layers_per_virtual_stage").is_known
    )
    stage = plan.value("parallelism.sharding_stage").or_else(0)
    return Work(
        tokens=samples * length // max(context, 1),
        sequence_length=length,
        tensor_ranks=degree(plan, "tensor_parallel_size"),
        pipeline_ranks=stages,
        shards_sequence=bool(plan.value("parallelism.sequence_parallel").value),
        recompute=plan.value("memory.recompute_mode").or_else(""),
        attention=plan.value("kernels.attention_backend").or_else(""),
        is_half=plan.value("precision.compute_dtype").or_else("fp32") in _HALF,
        micro_batches_in_flight=min(steps, stages) * (2 if interleaves else 1),
        gathers_weights=stage >= WEIGHT_STAGE,
    )
