"""Rows of memory.csv as the memory models take them."""

from collections.abc import Mapping

from speccheck.validator.models.parameters import Dimensions, LatentAttention
from speccheck.validator.models.peak_memory import FrozenBase, MemoryJob
from speccheck.validator.models.training_memory import (
    FOUR_BIT_SHARE,
    FOUR_BIT_SHARE_2023,
    Recompute,
    Scheme,
    Sharding,
    TrainingWork,
    frozen_share,
    micro_batches_in_flight,
)

Row = Mapping[str, str]

# Not in the table; from the configuration of moonshotai/Moonlight-16B-A3B. With it the
# count of the table comes out to the last parameter.
MOONLIGHT = Dimensions(
    layers=27,
    hidden_size=2048,
    attention_heads=16,
    key_value_heads=16,
    head_dimension=192,
    feed_forward_size=11264,
    gated_feed_forward=True,
    vocabulary_size=163840,
    tied_embeddings=False,
    experts=64,
    experts_per_token=6,
    expert_feed_forward_size=1408,
    shared_feed_forward_size=2 * 1408,
    dense_layers=1,
    router_bias=True,
    latent=LatentAttention(0, 512, 128, 64, 128),
)
_RECOMPUTE: dict[str, Recompute] = {
    "op-sac": "operations",
    "full": "full",
    "none": "none",
    "selective": "selective",
}
_LOSSES = {
    "eager-fp32-ce": "eager",
    "compiled-ce": "compiled",
    "vocab-parallel-ce": "vocabulary-parallel",
    "fused-vocab-parallel-ce": "vocabulary-parallel",
    "chunked-ce": "chunked",
    "fused-linear-ce": "fused-linear",
}


def whole(text: str, default: int = 1) -> int:
    """Return a number of the table."""
    return int(float(text)) if text else default


def is_adapter(row: Row) -> bool:
    """Return whether a frozen base carries a small trained part."""
    return row["method"].startswith(("lora", "qlora"))


def dimensions_of(row: Row) -> Dimensions | None:
    """Return the model's dimensions, where the table has them."""
    if row["model"].startswith("moonlight"):
        return MOONLIGHT
    if not all(row[name] for name in ("n_layers", "hidden", "heads", "ffn", "vocab")):
        return None
    return Dimensions(
        layers=whole(row["n_layers"]),
        hidden_size=whole(row["hidden"]),
        attention_heads=whole(row["heads"]),
        key_value_heads=whole(row["kv_heads"]) if row["kv_heads"] else None,
        head_dimension=whole(row["head_dim"]) if row["head_dim"] else None,
        feed_forward_size=whole(row["ffn"]),
        gated_feed_forward=row["gated_mlp"] == "true",
        vocabulary_size=whole(row["vocab"]),
        tied_embeddings=row["tied"] == "true",
        has_biases=row["id"].startswith("bloom"),
        experts=whole(row["n_experts"], 0),
        experts_per_token=whole(row["experts_topk"], 0),
        expert_feed_forward_size=whole(row["moe_ffn"]) if row["moe_ffn"] else None,
    )


def scheme_of(row: Row) -> Scheme:
    """Return how the row trains."""
    engine = "torch"
    if row["framework"].startswith("Megatron") or "megatron" in row["framework"]:
        engine = "megatron"
    if row["id"].startswith("bloom") or row["framework"] in {"ms-swift", "DeepSpeed"}:
        engine = "deepspeed" if row["zero_stage"] else "torch"
    optimizer = row["optimizer"]
    # Options of these runs are not told: nothing but the weights is sure.
    is_open = optimizer == "unknown" or row["group"] == "litgpt-full"
    base_bits = None
    if is_adapter(row):
        base_bits = 4 if row["method"].startswith("qlora") else 16
    accumulates = {"16bit": "bf16", "bf16": "bf16", "fp32": "fp32"}
    return Scheme(
        compute_dtype="bf16",
        engine=engine,
        parameter_dtype="fp32" if "fp32-master" in row["weight_dtype"] else "bf16",
        accumulate_dtype=accumulates.get(row["grad_accum_dtype"], ""),
        optimizer="" if is_open else optimizer.removeprefix("paged-"),
        frees_gradients="in-backward" in optimizer or is_open,
        base_bits=base_bits,
    )


def work_of(row: Row) -> TrainingWork | None:
    """Return what one rank computes at once, where the table tells it."""
    if not row["seq_len"] or not row["micro_batch"]:
        return None
    length = whole(row["seq_len"])
    stages, mode = whole(row["pp"]), row["recompute"].partition(":")[0]
    held = micro_batches_in_flight(whole(row["grad_accum"], stages), stages)
    loss = _LOSSES.get(row["loss_impl"], "")
    if row["compile"] == "true" and loss == "eager":
        loss = "compiled"
    if loss == "chunked" and is_adapter(row):
        loss = "chunked-frozen-head"
    return TrainingWork(
        tokens=whole(row["micro_batch"]) * length // whole(row["cp"]),
        sequence_length=length,
        tensor_ranks=whole(row["tp"]),
        pipeline_ranks=stages,
        shards_sequence=row["sp"] == "true",
        recompute=_RECOMPUTE.get(mode, ""),
        attention="" if row["id"].startswith("bloom") else "flash",
        micro_batches_in_flight=held,
        is_half=row["weight_dtype"] != "fp32",
        is_compiled=row["compile"] == "true",
        loss=loss,
        keeps_activations="activations" not in row["offload"],
        # Short samples: the note of the row says so.
        tokens_are_sure=not any(
            word in row["note"] for word in ("short samples", "sample length", "unpack")
        ),
    )


def sharding_of(row: Row) -> Sharding:
    """Return the cuts and offloads; a group that is not stated may be all ranks."""
    tensor, stages = whole(row["tp"]), whole(row["pp"])
    world, context = whole(row["gpus"]), whole(row["cp"])
    ranks = max(world // (tensor * stages), 1)
    stage = whole(row["zero_stage"], 3 if row["fsdp_shard"] else 0)
    fewest = max(ranks // context, 1)
    if row["fsdp_shard"]:
        # torchtitan shards over FSDP x context ranks.
        fewest = ranks
    if is_adapter(row) and not row["gpus"]:
        ranks = tensor
    return Sharding(
        tensor,
        ranks,
        fewest,
        stage,
        offloads_optimizer="optimizer" in row["offload"],
        offloads_weights="params" in row["offload"],
    )


def job_of(row: Row) -> MemoryJob:
    """Return the row as one GPU's share."""
    sharding = sharding_of(row)
    stages = whole(row["pp"])
    experts = None
    if row["n_experts"] and row["gpus"]:
        expert_ranks = whole(row["ep"]) * (whole(row["tp"]))
        world = whole(row["gpus"])
        experts = sharding._replace(
            model_ranks=expert_ranks,
            shard_ranks=max(world // (expert_ranks * stages), 1),
            fewest_shard_ranks=max(world // (expert_ranks * stages), 1),
        )
    return MemoryJob(
        parameters=whole(row["params"]) if row["params"] else None,
        dimensions=dimensions_of(row),
        scheme=scheme_of(row),
        sharding=sharding,
        stages=stages,
        work=work_of(row),
        expert_sharding=experts,
        keeps_gathered=True if row["group"] == "torchtitan-nd" else None,
        embeddings_are_slots=row["id"].startswith("bloom")
        and (row["grad_accum_dtype"] == "fp32" or "pipeline slot" in row["note"]),
    )


def adapter_base(row: Row) -> FrozenBase:
    """Return the frozen base; litgpt never ties embedding and head."""
    dimensions = dimensions_of(row)
    parameters, embedding = whole(row["params"]), 0
    is_litgpt = row["framework"] == "litgpt"
    if dimensions is not None:
        embedding = dimensions.embedding
    if is_litgpt and row["tied"] == "true":
        parameters += embedding
    is_tied = row["tied"] == "true" and not is_litgpt
    is_four_bit = row["method"].startswith("qlora")
    four_bit_share = 0.0
    if is_four_bit and is_litgpt:
        is_later = row["seq_len"] == "512"
        four_bit_share = FOUR_BIT_SHARE if is_later else FOUR_BIT_SHARE_2023
    share = frozen_share(
        is_gated=row["gated_mlp"] == "true",
        targets_all=row["lora_targets"] == "all",
        four_bit_share=four_bit_share,
    )
    if not is_litgpt:
        share = 0.73 if row["compile"] == "true" else 1.0
    bits = 4 if is_four_bit else 16
    if row["weight_dtype"] == "fp32":
        bits = 32
    return FrozenBase(
        parameters=parameters,
        embedding_parameters=embedding if is_tied else 2 * embedding,
        bits=bits,
        is_double_quantized=row["method"].endswith("-dq") or not is_litgpt,
        kept_share=share,
        shard_ranks=whole(row["fsdp_shard"]) if row["id"] != "tune-18" else 8,
    )
