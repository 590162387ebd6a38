"""Exact vectors of the memory models: counts to the last one, formulas to the digit."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from known_models import LLAMA_3B, LLAMA_8B
from predictions.prediction import vectors
from speccheck.validator.models.deepspeed_estimators import (
    zero2_bytes,
    zero2_documented_bytes,
    zero3_bytes,
)
from speccheck.validator.models.estimate import exactly
from speccheck.validator.models.parameters import (
    COUNT,
    Dimensions,
    active_matmul_parameters,
    counted_parameters,
    gpt_parameters,
)
from speccheck.validator.models.peak_memory import (
    FAMILIES,
    MemoryJob,
    peak_of,
    single_device_active,
    zero3_module_bytes,
)
from speccheck.validator.models.training_memory import (
    GIB,
    Scheme,
    Sharding,
    TrainingWork,
    gib_to_gb,
    gpt_layer_bytes,
    interleave_factor,
    layer_elements,
    logit_bytes,
    micro_batches_in_flight,
    operation_checkpoint_elements,
    state_bytes,
)

Inputs = Mapping[str, Any]


def dimensions_of(given: Inputs) -> Dimensions:
    """Return the vectors' letters as dimensions."""
    return Dimensions(
        layers=given.get("L", 1),
        hidden_size=given["h"],
        attention_heads=given["a"],
        key_value_heads=given["k"],
        head_dimension=given.get("dh"),
        feed_forward_size=given.get("f"),
        gated_feed_forward=True,
        vocabulary_size=given.get("V"),
        tied_embeddings=given.get("tied", False),
        query_key_value_bias=given.get("qkv_bias", False),
        query_key_norm=given.get("qk_norm", False),
        norms_in_block=given.get("norms", 2),
        experts=given.get("n_experts", 0),
        experts_per_token=given.get("topk", 0),
        expert_feed_forward_size=given.get("moe_f"),
    )


_ZERO = {"deepspeed-zero1": 1, "deepspeed-zero2": 2, "deepspeed-zero3": 3}
_PURE = Scheme("bf16", parameter_dtype="bf16", optimizer="adamw")
_ADAM = Scheme("bf16", engine="deepspeed", accumulate_dtype="bf16", optimizer="adamw")
_SCHEMES = {
    "megatron": (_ADAM._replace(engine="megatron", accumulate_dtype="fp32"), 0),
    "megatron-distributed-optimizer": (
        _ADAM._replace(engine="megatron", accumulate_dtype="fp32"),
        1,
    ),
    **{name: (_ADAM, stage) for name, stage in _ZERO.items()},
    "deepspeed-zero1-fp32-accum": (_ADAM._replace(accumulate_dtype="fp32"), 1),
    "fsdp-fp32-master": (_PURE._replace(parameter_dtype="fp32"), 3),
    "pure-bf16-adamw": (_PURE, 0),
    "pure-bf16-adamw8bit": (_PURE._replace(optimizer="adamw_8bit"), 0),
}


def _states(given: Inputs) -> float:
    name, shard = given["scheme"], given["shard"]
    count = exactly(given["params"], COUNT)
    if name == "pure-bf16-adamw-in-backward":
        # Gradients are freed one by one: none of them are there at the peak.
        freed = _PURE._replace(frees_gradients=True)
        return state_bytes(count, freed, Sharding(1, 1, 1, 0)).lower
    scheme, stage = _SCHEMES[name]
    found = state_bytes(count, scheme, Sharding(1, shard, shard, stage)).value
    return found + zero3_module_bytes(given.get("largest_module_params", 0))


def _zero3(given: Inputs) -> dict[str, float]:
    found = zero3_bytes(
        given["total_params"],
        given["largest_layer_params"],
        gpus_per_node=given["gpus_per_node"],
        nodes=given["nodes"],
        offloads_weights=given["offload_param"],
        offloads_optimizer=given["offload_optimizer"],
        initializes_sharded=given["zero_init"],
    )
    return {"gpu": found.device / GIB, "cpu": found.host / GIB}


def _fsdp(given: Inputs) -> float:
    """Return the reserved memory of torchtitan: nothing outside the allocator."""
    shard, each = given["shard"], given["bytes_per_logit"]
    work = TrainingWork(
        tokens=given["tokens"],
        sequence_length=8192,
        recompute="operations",
        attention="flash",
        loss={16: "eager", 14: "compiled"}[each],
    )
    job = MemoryJob(
        None,
        LLAMA_8B,
        _PURE._replace(parameter_dtype="fp32"),
        Sharding(1, shard, shard, 3),
        work=work,
    )
    family = FAMILIES["fsdp"]
    peak = peak_of(job, family)._replace(overhead=exactly(0.0, COUNT))
    return peak.total(family).value / GIB


def _megatron_deepspeed(given: Inputs) -> float:
    dimensions = Dimensions(
        layers=given["L"],
        hidden_size=given["h"],
        attention_heads=given["heads"],
        key_value_heads=given["heads"],
        feed_forward_size=4 * given["h"],
        gated_feed_forward=False,
        vocabulary_size=given["vocab"],
        tied_embeddings=True,
        has_biases=True,
    )
    work = TrainingWork(
        tokens=given["seq"] * given["micro_batch"],
        sequence_length=given["seq"],
        tensor_ranks=given["tp"],
        pipeline_ranks=given["pp"],
        recompute="full",
        micro_batches_in_flight=given["pp"],
    )
    ranks = given["dp"]
    wide = given["grad_accum_bits"] == 32
    job = MemoryJob(
        None,
        dimensions,
        _ADAM._replace(accumulate_dtype="fp32" if wide else "bf16"),
        Sharding(given["tp"], ranks, ranks, 1),
        stages=given["pp"],
        work=work,
        embeddings_are_slots=given.get("embedding_as_stage_slot", False),
    )
    family = FAMILIES["megatron-deepspeed"]
    assert family.overhead_bytes == given["overhead_gib"] * GIB
    return peak_of(job, family).total(family).value / 1e9


def _active(given: Inputs) -> float:
    work = TrainingWork(
        tokens=given["tokens"],
        sequence_length=given["tokens"],
        recompute=given["recompute"],
        attention="flash",
        is_compiled=True,
        loss="chunked",
    )
    count = exactly(counted_parameters(LLAMA_3B), COUNT)
    return single_device_active(count, LLAMA_3B, _PURE, work).value / GIB


_FUNCTIONS: dict[str, Callable[[Inputs], float | dict[str, float]]] = {
    "param_count_gated": lambda given: counted_parameters(dimensions_of(given)),
    "param_count_gpt_block": lambda given: gpt_parameters(
        given["L"], given["h"], given["V"]
    ),
    "active_matmul_params": lambda given: active_matmul_parameters(
        dimensions_of(given)
    ),
    "model_state_bytes": _states,
    "deepspeed_zero2_estimator_gib": lambda given: (
        zero2_bytes(
            given["total_params"],
            given["gpus_per_node"] * given["nodes"],
            offloads_optimizer=given["offload_optimizer"],
        )
        / GIB
    ),
    "deepspeed_zero2_estimator_docs_gib": lambda given: (
        zero2_documented_bytes(given["total_params"], given["total_gpus"]) / GIB
    ),
    "deepspeed_zero3_estimator_gib": _zero3,
    "deepspeed_zero3_estimator_mib": lambda given: (
        zero3_bytes(
            given["total_params"],
            given["largest_layer_params"],
            gpus_per_node=given["total_gpus"],
        ).device
        / 2**20
    ),
    "activation_bytes_per_layer": lambda given: gpt_layer_bytes(
        *(given[name] for name in ("case", "s", "b", "h", "a", "t"))
    ),
    "activation_elements_no_recompute": lambda given: layer_elements(
        dimensions_of(given)
    ),
    "activation_elements_op_sac": lambda given: operation_checkpoint_elements(
        dimensions_of(given)
    ),
    "inflight_microbatches": lambda given: micro_batches_in_flight(
        given["m"], given["p"], given["stage"]
    ),
    "interleave_factor": lambda given: interleave_factor(given["p"], given["v"]),
    "logits_bytes": lambda given: logit_bytes(
        given["tokens"], given["vocab"], given["tp"], given["bytes_per_logit"]
    ),
    "fsdp_reserved_gib": _fsdp,
    "megatron_deepspeed_zero1_gb": _megatron_deepspeed,
    "single_device_active_gib": _active,
    "gib_to_gb": lambda given: gib_to_gb(given["gib"]),
}


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_every_vector_of_a_function_comes_out(function: str) -> None:
    found = vectors(function)
    assert found
    for finding in found:
        predicted = _FUNCTIONS[function](finding["inputs"])
        expected = finding["expected"]
        assert predicted == pytest.approx(
            expected, rel=1e-12, abs=finding["tolerance"]
        ), finding["id"]
