"""What the plan says of one optimizer step, as the models of speed take it.

Every function raises MissingEvidence where the plan does not tell.
"""

from typing import Any

from speccheck.validator.evidence.plan import TrainingPlan, leaf_names
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.forecast.plan_facts import degree, trains_adapter
from speccheck.validator.models.estimate import Estimate, exactly, within
from speccheck.validator.models.flops import (
    Convention,
    Layers,
    Mixture,
    TokenWork,
    flops_per_token,
    matmul_parameters,
)
from speccheck.validator.models.parameters import megatron_feed_forward_size
from speccheck.validator.models.throughput import PipelineShape

# Norms and biases, which a count of matrices leaves out.
_UNCOUNTED_SHARE = 0.01
_COUNTED = "matrices of each layer, embedding and head"


# What is no job when it is zero or less: rules of their own judge it, models divide.
_SIZES = (
    *("cluster.nodes", "cluster.gpus_per_node", "cluster.world_size"),
    *("cluster.peak_bf16_flops_per_second", "cluster.power_watts"),
    *("cluster.peak_fp8_flops_per_second", "cluster.memory_bytes_per_second"),
    *("cluster.nvlink_bytes_per_second", "cluster.nic_bits_per_second_per_gpu"),
    *("parallelism.data_parallel_size", "parallelism.layers_per_virtual_stage"),
    *("batch.micro_batch_size", "batch.gradient_accumulation_steps"),
    *("batch.global_batch_size", "batch.sequence_length"),
    *("model.parameters", "model.layers", "model.hidden_size", "model.head_dimension"),
    *("model.attention_heads", "model.key_value_heads", "model.vocabulary_size"),
    *("model.feed_forward_size", "model.expert_feed_forward_size"),
    *("model.experts_per_token", "run.step_seconds", "run.steps", "run.hours"),
)


def of_sizes(plan: TrainingPlan) -> TrainingPlan:
    """Return the plan, with sizes of nothing as unknown."""
    odd = {name for name in _SIZES if _is_nothing(plan.value(name).value)}
    if not odd:
        return plan
    leaves = {name: plan.value(name) for name in leaf_names()}
    for name in odd:
        leaf = leaves[name]
        note = f"{leaf.value} allows no forecast"
        leaves[name] = Value[Any](name, None, "unknown", leaf.places, note)
    return TrainingPlan(leaves)


def _is_nothing(size: float | None) -> bool:
    return size is not None and size <= 0


def context_ranks(plan: TrainingPlan) -> int:
    """Return the ranks that share the tokens of one sequence."""
    return degree(plan, "context_parallel_size") * degree(plan, "ulysses_size")


def layers_of(plan: TrainingPlan) -> Layers:
    """Return the matrices of the model; transformers alone."""
    family = plan.value("model.family")
    if family.or_else("transformer") != "transformer":
        raise MissingEvidence(family.name, f"a model of family {family.value}")
    hidden = plan.value("model.hidden_size").need()
    heads = plan.value("model.attention_heads").need()
    size = plan.value("model.head_dimension").or_else(hidden // heads)
    pairs = plan.value("model.key_value_heads").or_else(heads)
    is_gated = plan.value("model.gated_feed_forward").or_else(False)  # noqa: FBT003
    return Layers(
        plan.value("model.layers").need(),
        hidden,
        query_width=heads * size,
        key_value_width=pairs * size,
        feed_forward=_feed_forward(plan, hidden, is_gated=is_gated),
        is_gated=is_gated,
    )


def _feed_forward(plan: TrainingPlan, hidden: int, *, is_gated: bool) -> int | Mixture:
    experts = plan.value("model.experts").or_else(0)
    stated = plan.value("model.feed_forward_size")
    if experts > 1:
        size = plan.value("model.expert_feed_forward_size")
        width = size.value or stated.need()
        return Mixture(experts, plan.value("model.experts_per_token").need(), width)
    if stated.value is None and plan.value("run.framework").value == "megatron-lm":
        return megatron_feed_forward_size(hidden, is_gated=is_gated)
    return int(stated.need())


class ModelShape(Record):
    """Parameters: all of them, those of experts, and those that one token meets."""

    total: Estimate
    of_experts: float
    active: Estimate
    embedding: int
    layers: Layers


def model_of(plan: TrainingPlan) -> ModelShape:
    """Return the counts as stated, else by the dimensions to within a percent."""
    layers = layers_of(plan)
    vocabulary = plan.value("model.vocabulary_size").need()
    stated = plan.value("model.parameters").value
    embedding = vocabulary * layers.hidden_size
    matrices = matmul_parameters(layers, vocabulary)
    active = within(matrices, _UNCOUNTED_SHARE, _COUNTED)
    is_mixture = isinstance(layers.feed_forward, Mixture)
    whole = matrices + (0 if plan.value("model.tied_embeddings").value else embedding)
    if is_mixture:
        whole += layers.of_experts - _chosen(layers)
    total = exactly(stated, "stated") if stated else within(whole, 0.01, _COUNTED)
    if not is_mixture:
        active = total
    return ModelShape(total, layers.of_experts, active, embedding, layers)


def _chosen(layers: Layers) -> int:
    """Return the parameters of the experts that one token meets."""
    assert isinstance(layers.feed_forward, Mixture)  # noqa: S101 - the caller's promise
    of = layers.feed_forward
    return layers.of_experts * of.per_token // of.experts


def step_tokens(plan: TrainingPlan) -> Estimate:
    """Return the tokens of an optimizer step, samples taken at full length."""
    samples = plan.value("batch.global_batch_size").need()
    tokens = samples * plan.value("batch.sequence_length").need()
    estimate = exactly(tokens, "global batch x sequence length")
    role = plan.value("run.role").or_else("")
    if role in {"sft", "lora", "rl"} and not plan.value("batch.packing").value:
        return estimate._replace(kind="advisory", valid="samples of full length")
    return estimate


def step_flops(plan: TrainingPlan) -> Estimate:
    """Return the model FLOPs of a step: palm's convention, or that of adapters."""
    model = model_of(plan)
    work = TokenWork(
        model.active.value,
        model.embedding,
        model.layers.count_of_layers,
        model.layers.query_width,
        plan.value("batch.sequence_length").need(),
    )
    convention: Convention = "nemo-lora" if trains_adapter(plan) else "palm"
    estimate = flops_per_token(convention, work)
    tokens = step_tokens(plan)
    share = (model.active.upper - model.active.value) / model.active.value
    if share or tokens.kind != "exact":
        kind = tokens.kind if tokens.kind != "exact" else "calibrated"
        low, high = estimate.value * (1 - share), estimate.value * (1 + share)
        estimate = estimate._replace(
            lower=low, upper=high, kind=kind, valid=tokens.valid
        )
    return estimate.times(tokens.value)


def pipeline_of(plan: TrainingPlan) -> PipelineShape:
    """Return the schedule; torchtitan cuts its local batch in a way of its own."""
    stages = degree(plan, "pipeline_parallel_size")
    if stages == 1:
        return PipelineShape(1, 1)
    steps = plan.value("batch.gradient_accumulation_steps")
    if plan.value("run.framework").value == "torchtitan":
        reason = "torchtitan cuts the local batch into pipeline micro-batches by itself"
        raise MissingEvidence(steps.name, reason)
    chunks = plan.value("parallelism.virtual_stages").or_else(0)
    each = plan.value("parallelism.layers_per_virtual_stage").or_else(0)
    if not chunks and each:
        chunks = plan.value("model.layers").need() // (stages * each)
    return PipelineShape(stages, steps.need(), max(chunks, 1))


def micro_batches(plan: TrainingPlan) -> int:
    """Return the micro-batches of one rank in a step."""
    return max(int(plan.value("batch.gradient_accumulation_steps").need()), 1)


def micro_batch_tokens(plan: TrainingPlan) -> float:
    """Return the tokens that one rank works on at once."""
    samples: int = plan.value("batch.micro_batch_size").need()
    length: int = plan.value("batch.sequence_length").need()
    return samples * length / context_ranks(plan)
