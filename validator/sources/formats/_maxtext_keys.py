"""Which key of MaxText states which leaf, and the defaults of base.yml.

Sources: maxtext/configs/base.yml and types.py, 0.1.0 to 0.2.5.
"""

from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    boolean,
    integer,
    integer_text,
    lower_text,
    number,
    one_of,
    text,
)


def _cpu(value: object) -> object:
    """A switch that moves states to the memory of the host."""
    converted = boolean(value)
    if isinstance(converted, Unusable):
        return converted
    return "cpu" if converted else "none"


def _kept(value: object) -> object:
    """How many checkpoints stay; None keeps all."""
    if value is None or value == "None":
        return 0
    return integer_text(value)


def _recompute(value: object) -> object:
    """A policy that keeps some tensors recomputes the others."""
    word = lower_text(value)
    if isinstance(word, Unusable):
        return word
    return word if word in {"full", "none"} else "selective"


def _gated(value: object) -> object:
    """Two activations, one of them linear, make a gated feed-forward layer."""
    if isinstance(value, list) and value:
        return len(value) > 1
    return Unusable(f"{value!r:.60} is no list of activations")


def _profiled(value: object) -> object:
    """The name of a profiler; an empty one is off."""
    word = text(value)
    return word if isinstance(word, Unusable) else word != ""


_DTYPE = one_of({"bfloat16": "bf16", "float32": "fp32", "float16": "fp16"})
_ATTENTION = one_of(
    {
        "dot_product": "eager",
        "flash": "flash",
        "cudnn_flash_te": "fused",
        "cudnn_flash_jax": "fused",
    }
)
FIELDS: Fields = {
    "max_target_length": ("batch.sequence_length", integer),
    "packing": ("batch.packing", boolean),
    "dtype": ("precision.compute_dtype", _DTYPE),
    "weight_dtype": ("precision.parameter_dtype", _DTYPE),
    "grad_dtype": ("precision.gradient_reduce_dtype", _DTYPE),
    "mu_dtype": ("precision.optimizer_state_dtype", _DTYPE),
    "remat_policy": ("memory.recompute_mode", _recompute),
    "optimizer_memory_host_offload": ("memory.optimizer_offload_device", _cpu),
    "parameter_memory_host_offload": ("memory.parameter_offload_device", _cpu),
    "attention": ("kernels.attention_backend", _ATTENTION),
    "opt_type": ("optimizer.name_of_optimizer", lower_text),
    "learning_rate": ("optimizer.learning_rate", number),
    "adam_b1": ("optimizer.beta1", number),
    "adam_b2": ("optimizer.beta2", number),
    "adam_weight_decay": ("optimizer.weight_decay", number),
    "gradient_clipping_threshold": ("optimizer.clip_norm", number),
    "lr_schedule_type": ("optimizer.schedule", lower_text),
    "warmup_steps_fraction": ("optimizer.warmup_ratio", number),
    "jax_distributed_initialization_timeout": (
        "communication.initialization_timeout_seconds",
        number,
    ),
    "enable_checkpointing": ("checkpoint.enabled", boolean),
    "checkpoint_period": ("checkpoint.interval_steps", integer),
    "async_checkpointing": ("checkpoint.asynchronous", boolean),
    "max_num_checkpoints_to_keep": ("checkpoint.keep_last", _kept),
    "data_shuffle_seed": ("data.seed", integer),
    "abort_on_nan_loss": ("recovery.non_finite_guard", boolean),
    "profiler": ("telemetry.profiler", _profiled),
    "init_weights_seed": ("run.seed", integer),
    "model_name": ("model.name_of_model", text),
    "head_dim": ("model.head_dimension", integer),
    "vocab_size": ("model.vocabulary_size", integer),
    "logits_via_embedding": ("model.tied_embeddings", boolean),
    "mlp_activations": ("model.gated_feed_forward", _gated),
    "num_experts_per_tok": ("model.experts_per_token", integer),
}
# Multiplied by global_parameter_scale.
DIMENSIONS: Fields = {
    "base_emb_dim": ("model.hidden_size", integer),
    "base_num_decoder_layers": ("model.layers", integer),
    "base_num_query_heads": ("model.attention_heads", integer),
    "base_num_kv_heads": ("model.key_value_heads", integer),
    "base_mlp_dim": ("model.feed_forward_size", integer),
    "base_moe_mlp_dim": ("model.expert_feed_forward_size", integer),
}
DEFAULTS = tuple(
    TabulatedDefault(*row)
    for row in (
        ("max_target_length", "batch.sequence_length", integer),
        ("dtype", "precision.compute_dtype", _DTYPE),
        ("weight_dtype", "precision.parameter_dtype", _DTYPE),
        ("remat_policy", "memory.recompute_mode", _recompute),
        (
            "optimizer_memory_host_offload",
            "memory.optimizer_offload_device",
            _cpu,
        ),
        (
            "parameter_memory_host_offload",
            "memory.parameter_offload_device",
            _cpu,
        ),
        ("opt_type", "optimizer.name_of_optimizer", lower_text),
        ("adam_b1", "optimizer.beta1", number),
        ("adam_b2", "optimizer.beta2", number),
        ("adam_weight_decay", "optimizer.weight_decay", number),
        ("gradient_clipping_threshold", "optimizer.clip_norm", number),
        ("warmup_steps_fraction", "optimizer.warmup_ratio", number),
        ("enable_checkpointing", "checkpoint.enabled", boolean),
        ("checkpoint_period", "checkpoint.interval_steps", integer),
        ("async_checkpointing", "checkpoint.asynchronous", boolean),
        ("profiler", "telemetry.profiler", _profiled),
    )
)
# Read where one of LOCAL_SWITCHES is on.
LOCAL_SWITCHES = ("enable_emergency_checkpoint", "enable_multi_tier_checkpointing")
LOCAL: Fields = {
    "local_checkpoint_directory": ("checkpoint.local_directory", text),
    "local_checkpoint_period": ("checkpoint.local_interval_steps", integer),
}
