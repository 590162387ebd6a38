"""Which flag of Megatron-LM states which leaf, and what an absent flag means.

Flags and defaults: NVIDIA/Megatron-LM megatron/training/arguments.py and the
configuration classes it is built from, at the commits of the key table. Flags of the
forks that the table does not hold: microsoft/Megatron-DeepSpeed
megatron/arguments.py, and Megatron-LM 2.5 (activations-checkpoint, checkpoint).
"""

from collections.abc import Mapping

from speccheck.validator.sources.launching import Leaf
from speccheck.validator.sources.mapping import (
    TabulatedDefault,
    Unusable,
    integer_text,
    lower_text,
    minutes,
    number,
    one_of,
    text,
)

TIMEOUT = "--distributed-timeout-minutes"
TIMEOUT_AFTER = "--distributed-timeout-seconds-after-init"
_FINEST = 2
_RECOMPUTE = one_of({"full": "full", "selective": "selective", "none": "none"})
_BACKENDS = one_of(
    {"flash": "flash", "fused": "fused", "unfused": "eager", "local": "eager"}
)
_DTYPE = one_of(
    {"fp32": "fp32", "float32": "fp32", "bf16": "bf16", "fp16": "fp16", "fp8": "fp8"}
)
_FORMAT = one_of(
    {
        "torch": "full",
        "torch_dist": "sharded",
        "torch_dcp": "sharded",
        "fsdp_dtensor": "sharded",
        "zarr": "sharded",
    }
)

# Any of these flags makes stages of unequal depth; which does not matter to a rule.
_UNEVEN = Leaf("parallelism.pipeline_layout", text, "uneven")


def _attention(value: object) -> object:
    """The backend of attention; auto leaves the choice to Transformer Engine."""
    if value == "auto":
        return Unusable("auto: Transformer Engine chooses at start")
    return _BACKENDS(value)


def _uses_graphs(value: object) -> object:
    """`--cuda-graph-impl local`; none is off."""
    return lower_text(value) != "none"


def _is_some(value: object) -> object:
    """Whether a number of layers is above zero."""
    count = integer_text(value)
    return count > 0 if isinstance(count, int) else count


def _is_fine(value: object) -> object:
    """Whether the level times every operation: 2 (arguments.py, --timing-log-level)."""
    level = integer_text(value)
    return level >= _FINEST if isinstance(level, int) else level


def _uses_fp8(value: object) -> object:
    """`--fp8-format hybrid` or `e4m3`."""
    return lower_text(value) not in {"none", "null"}


LEAVES: Mapping[str, Leaf] = {
    "--tensor-model-parallel-size": Leaf(
        "parallelism.tensor_parallel_size", integer_text
    ),
    "--pipeline-model-parallel-size": Leaf(
        "parallelism.pipeline_parallel_size", integer_text
    ),
    "--context-parallel-size": Leaf("parallelism.context_parallel_size", integer_text),
    "--expert-model-parallel-size": Leaf(
        "parallelism.expert_parallel_size", integer_text
    ),
    "--expert-tensor-parallel-size": Leaf(
        "parallelism.expert_tensor_parallel_size", integer_text
    ),
    "--num-layers-per-virtual-pipeline-stage": Leaf(
        "parallelism.layers_per_virtual_stage", integer_text
    ),
    "--num-virtual-stages-per-pipeline-rank": Leaf(
        "parallelism.virtual_stages", integer_text
    ),
    "--pipeline-model-parallel-layout": _UNEVEN,
    "--decoder-first-pipeline-num-layers": _UNEVEN,
    "--decoder-last-pipeline-num-layers": _UNEVEN,
    "--account-for-embedding-in-pipeline-split": _UNEVEN,
    "--account-for-loss-in-pipeline-split": _UNEVEN,
    "--num-layers-in-first-pipeline-stage": _UNEVEN,
    "--num-layers-in-last-pipeline-stage": _UNEVEN,
    "--model-parallel-size": Leaf("parallelism.tensor_parallel_size", integer_text),
    "--ds-sequence-parallel-size": Leaf("parallelism.ulysses_size", integer_text),
    "--num-distributed-optimizer-instances": Leaf(
        "parallelism.replicate_size", integer_text
    ),
    "--zero-stage": Leaf("parallelism.sharding_stage", integer_text),
    "--sequence-parallel": Leaf("parallelism.sequence_parallel", text, present=True),
    "--micro-batch-size": Leaf("batch.micro_batch_size", integer_text),
    "--batch-size": Leaf("batch.micro_batch_size", integer_text),
    "--global-batch-size": Leaf("batch.global_batch_size", integer_text),
    "--eval-micro-batch-size": Leaf("batch.evaluation_micro_batch_size", integer_text),
    "--eval-global-batch-size": Leaf(
        "batch.evaluation_global_batch_size", integer_text
    ),
    "--seq-length": Leaf("batch.sequence_length", integer_text),
    "--encoder-seq-length": Leaf("batch.sequence_length", integer_text),
    "--rampup-batch-size": Leaf("batch.mode", text, "rampup"),
    "--step-batch-size-schedule": Leaf("batch.mode", text, "rampup"),
    "--bf16": Leaf("precision.bf16", text, present=True),
    "--fp16": Leaf("precision.fp16", text, present=True),
    "--fp8-format": Leaf("precision.fp8", _uses_fp8),
    "--fp8-hybrid": Leaf("precision.fp8", text, present=True),
    "--fp8-e4m3": Leaf("precision.fp8", text, present=True),
    # NVFP4 counts as fp8 with a recipe of its own.
    "--fp4-format": Leaf("precision.fp8", _uses_fp8),
    "--fp8-recipe": Leaf("precision.fp8_recipe", lower_text),
    "--main-grads-dtype": Leaf("precision.gradient_accumulate_dtype", _DTYPE),
    "--exp-avg-dtype": Leaf("precision.optimizer_state_dtype", _DTYPE),
    "--grad-reduce-in-bf16": Leaf("precision.gradient_reduce_dtype", text, "bf16"),
    "--loss-scale": Leaf("precision.loss_scale", number),
    "--loss-scale-window": Leaf("precision.loss_scale_window", integer_text),
    "--min-loss-scale": Leaf("precision.minimum_loss_scale", number),
    "--hysteresis": Leaf("precision.hysteresis", integer_text),
    "--recompute-granularity": Leaf("memory.recompute_mode", _RECOMPUTE),
    "--recompute-activations": Leaf("memory.recompute_mode", text, "selective"),
    "--checkpoint-activations": Leaf("memory.recompute_mode", text, "full"),
    "--deepspeed-activation-checkpointing": Leaf("memory.recompute_mode", text, "full"),
    "--recompute-method": Leaf("memory.recompute_method", lower_text),
    "--activations-checkpoint-method": Leaf("memory.recompute_method", lower_text),
    "--recompute-num-layers": Leaf("memory.recompute_layers", integer_text),
    "--activations-checkpoint-num-layers": Leaf(
        "memory.recompute_layers", integer_text
    ),
    "--checkpoint-num-layers": Leaf("memory.recompute_layers", integer_text),
    "--cpu-offloading-num-layers": Leaf("memory.activation_offload", _is_some),
    "--fine-grained-activation-offloading": Leaf(
        "memory.activation_offload", text, present=True
    ),
    "--optimizer-cpu-offload": Leaf("memory.optimizer_offload_device", text, "cpu"),
    "--attention-backend": Leaf("kernels.attention_backend", _attention),
    "--cross-entropy-loss-fusion": Leaf(
        "kernels.fused_cross_entropy", text, present=True
    ),
    "--cuda-graph-impl": Leaf("kernels.cuda_graphs", _uses_graphs),
    "--enable-cuda-graph": Leaf("kernels.cuda_graphs", text, present=True),
    "--external-cuda-graph": Leaf("kernels.cuda_graphs", text, present=True),
    "--use-flash-attn": Leaf("kernels.attention_backend", text, "flash"),
    "--optimizer": Leaf("optimizer.name_of_optimizer", lower_text),
    "--lr": Leaf("optimizer.learning_rate", number),
    "--min-lr": Leaf("optimizer.minimum_learning_rate", number),
    "--adam-beta1": Leaf("optimizer.beta1", number),
    "--adam-beta2": Leaf("optimizer.beta2", number),
    "--weight-decay": Leaf("optimizer.weight_decay", number),
    "--clip-grad": Leaf("optimizer.clip_norm", number),
    "--lr-decay-style": Leaf("optimizer.schedule", lower_text),
    "--lr-warmup-iters": Leaf("optimizer.warmup_steps", integer_text),
    "--lr-warmup-fraction": Leaf("optimizer.warmup_ratio", number),
    "--lr-decay-iters": Leaf("optimizer.decay_steps", integer_text),
    "--use-distributed-optimizer": Leaf("optimizer.is_distributed", text, present=True),
    "--overlap-grad-reduce": Leaf(
        "communication.overlap_gradient_reduce", text, present=True
    ),
    "--overlap-param-gather": Leaf(
        "communication.overlap_parameter_gather", text, present=True
    ),
    "--tp-comm-overlap": Leaf(
        "communication.overlap_tensor_parallel", text, present=True
    ),
    TIMEOUT: Leaf("communication.initialization_timeout_seconds", minutes),
    TIMEOUT_AFTER: Leaf("communication.timeout_seconds", number),
    "--save": Leaf("checkpoint.directory", text),
    "--save-interval": Leaf("checkpoint.interval_steps", integer_text),
    "--persistent-save-interval": Leaf("checkpoint.interval_steps", integer_text),
    "--async-save": Leaf("checkpoint.asynchronous", text, present=True),
    "--ckpt-format": Leaf("checkpoint.format", _FORMAT),
    "--no-save-optim": Leaf("checkpoint.save_optimizer", text, present=False),
    "--no-save-rng": Leaf("checkpoint.save_random_state", text, present=False),
    "--non-persistent-save-interval": Leaf(
        "checkpoint.local_interval_steps", integer_text
    ),
    "--non-persistent-local-ckpt-dir": Leaf("checkpoint.local_directory", text),
    "--inprocess-restart": Leaf("recovery.in_process_restart", text, present=True),
    "--exit-duration-in-mins": Leaf(
        "recovery.exit_before_walltime", text, present=True
    ),
    "--no-check-for-nan-in-loss-and-grad": Leaf(
        "recovery.non_finite_guard", text, present=False
    ),
    "--check-for-spiky-loss": Leaf("recovery.spike_guard", text, present=True),
    "--exit-signal-handler": Leaf("recovery.exit_before_walltime", text, present=True),
    "--num-workers": Leaf("data.workers", integer_text),
    "--log-interval": Leaf("telemetry.log_interval_steps", integer_text),
    "--timing-log-level": Leaf("telemetry.time_breakdown", _is_fine),
    "--log-throughput": Leaf("telemetry.throughput", text, present=True),
    "--profile": Leaf("telemetry.profiler", text, present=True),
    "--num-layers": Leaf("model.layers", integer_text),
    "--hidden-size": Leaf("model.hidden_size", integer_text),
    "--ffn-hidden-size": Leaf("model.feed_forward_size", integer_text),
    "--num-attention-heads": Leaf("model.attention_heads", integer_text),
    "--kv-channels": Leaf("model.head_dimension", integer_text),
    "--vocab-size": Leaf("model.vocabulary_size", integer_text),
    "--make-vocab-size-divisible-by": Leaf("model.vocabulary_multiple", integer_text),
    "--max-position-embeddings": Leaf("model.maximum_positions", integer_text),
    "--swiglu": Leaf("model.gated_feed_forward", text, present=True),
    "--untie-embeddings-and-output-weights": Leaf(
        "model.tied_embeddings", text, present=False
    ),
    "--num-experts": Leaf("model.experts", integer_text),
    "--moe-router-topk": Leaf("model.experts_per_token", integer_text),
    "--moe-ffn-hidden-size": Leaf("model.expert_feed_forward_size", integer_text),
    "--train-iters": Leaf("run.steps", integer_text),
    "--seed": Leaf("run.seed", integer_text),
    "--deterministic-mode": Leaf("run.deterministic", text, present=True),
}


# Defaults that the key table settles for every tabulated version.
TABULATED = (
    TabulatedDefault(
        "--tensor-model-parallel-size",
        "parallelism.tensor_parallel_size",
        integer_text,
    ),
    TabulatedDefault(
        "--pipeline-model-parallel-size",
        "parallelism.pipeline_parallel_size",
        integer_text,
    ),
    TabulatedDefault(
        "--context-parallel-size", "parallelism.context_parallel_size", integer_text
    ),
    TabulatedDefault(
        "--expert-model-parallel-size", "parallelism.expert_parallel_size", integer_text
    ),
    TabulatedDefault("--log-interval", "telemetry.log_interval_steps", integer_text),
    TabulatedDefault("--num-workers", "data.workers", integer_text),
    TabulatedDefault(
        "--make-vocab-size-divisible-by", "model.vocabulary_multiple", integer_text
    ),
)
# Those that DeepSpeed's engine decides instead in the Megatron-DeepSpeed fork.
TABULATED_ENGINE = (
    TabulatedDefault("--clip-grad", "optimizer.clip_norm", number),
    TabulatedDefault("--optimizer", "optimizer.name_of_optimizer", lower_text),
    TabulatedDefault(TIMEOUT, "communication.timeout_seconds", minutes),
    TabulatedDefault(TIMEOUT, "communication.initialization_timeout_seconds", minutes),
)
# A switch that is absent is off, in every version.
SWITCHES: Mapping[str, str] = {
    "--sequence-parallel": "parallelism.sequence_parallel",
    "--bf16": "precision.bf16",
    "--fp16": "precision.fp16",
    "--fp8-format": "precision.fp8",
    "--async-save": "checkpoint.asynchronous",
    "--swiglu": "model.gated_feed_forward",
    "--log-throughput": "telemetry.throughput",
    "--load": "checkpoint.resume",
}
SWITCHES_ENGINE: Mapping[str, str] = {
    "--overlap-grad-reduce": "communication.overlap_gradient_reduce",
    "--overlap-param-gather": "communication.overlap_parameter_gather",
    "--use-distributed-optimizer": "optimizer.is_distributed",
}
# What an absent flag means where that is no number of the table.
ABSENT: tuple[tuple[str, object, str], ...] = (
    ("checkpoint.save_optimizer", True, "--no-save-optim is not given"),
    ("checkpoint.save_random_state", True, "--no-save-rng is not given"),
    ("model.tied_embeddings", True, "--untie-embeddings-and-output-weights is absent"),
    ("memory.recompute_mode", "none", "no flag asks for recomputation"),
)
ABSENT_ENGINE: tuple[tuple[str, object, str], ...] = (
    ("memory.optimizer_offload_device", "none", "--optimizer-cpu-offload is not given"),
)
# DeepSpeed's file says these, whatever the flag: the optimizer of Megatron, which
# would scale the loss, is never made (megatron/optimizer/__init__.py).
OF_DEEPSPEED = frozenset(
    {"--loss-scale", "--loss-scale-window", "--min-loss-scale", "--hysteresis"}
)
