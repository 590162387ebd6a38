"""Which key of verl's trainer states which leaf, and what holds without any.

Sources: verl 0.2 to 0.7, verl/trainer/config/*.yaml, verl/workers/fsdp_workers.py,
megatron_workers.py.
"""

from speccheck.validator.sources.formats._huggingface import DTYPES, attention
from speccheck.validator.sources.mapping import (
    Convert,
    Fields,
    TabulatedDefault,
    Unusable,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    number,
    one_of,
    text,
    texts,
)

FSDP, MEGATRON = "fsdp", "megatron"
_dtype = one_of(DTYPES)


def count(value: object) -> object:
    """A number of nodes or GPUs; 0 and below stand for none."""
    found = integer_text(value)
    if isinstance(found, int) and found < 1:
        return Unusable(f"{found} asks for nothing")
    return found


FIELDS: Fields = {
    "actor_rollout_ref": {
        "nccl_timeout": ("communication.timeout_seconds", number),
        "model": {
            "path": ("model.name_of_model", text),
            "enable_activation_offload": ("memory.activation_offload", boolean),
            "use_fused_kernels": ("kernels.fused_cross_entropy", boolean),
            "use_liger": ("kernels.fused_normalization", boolean),
            "trust_remote_code": ("security.trusts_remote_code", boolean),
        },
        "actor": {
            "optim": {
                "lr": ("optimizer.learning_rate", number),
                "weight_decay": ("optimizer.weight_decay", number),
                "min_lr": ("optimizer.minimum_learning_rate", number),
                "optimizer": ("optimizer.name_of_optimizer", lower_text),
                "lr_scheduler_type": ("optimizer.schedule", lower_text),
                "warmup_style": ("optimizer.schedule", lower_text),
                "lr_decay_style": ("optimizer.schedule", lower_text),
            },
            "checkpoint": {"async_save": ("checkpoint.asynchronous", boolean)},
        },
        "rollout": {"n": ("run.generations_per_prompt", integer_text)},
    },
    "data": {
        "train_files": ("data.paths", texts),
        "dataloader_num_workers": ("data.workers", integer_text),
        "seed": ("data.seed", integer_text),
    },
    "trainer": {
        "total_epochs": ("run.epochs", number),
        "total_training_steps": ("run.steps", integer_text),
        "default_local_dir": ("checkpoint.directory", text),
    },
}
SHARDED: Fields = {
    "actor_rollout_ref": {
        "model": {
            "override_config": {
                "attn_implementation": ("kernels.attention_backend", attention)
            }
        },
        "actor": {
            "grad_clip": ("optimizer.clip_norm", number),
            "ulysses_sequence_parallel_size": ("parallelism.ulysses_size", count),
            "fsdp_config": {
                "model_dtype": ("precision.parameter_dtype", _dtype),
                "dtype": ("precision.compute_dtype", _dtype),
                "seed": ("run.seed", integer_text),
                "full_determinism": ("run.deterministic", boolean),
                "mixed_precision": {
                    "param_dtype": ("precision.compute_dtype", _dtype),
                    "reduce_dtype": ("precision.gradient_reduce_dtype", _dtype),
                },
            },
        },
    },
}
_TRANSFORMER: Fields = {
    "attention_backend": ("kernels.attention_backend", attention),
    "recompute_granularity": ("memory.recompute_mode", lower_text),
    "recompute_method": ("memory.recompute_method", lower_text),
    "recompute_num_layers": ("memory.recompute_layers", integer_text),
}
MEGATRON_FIELDS: Fields = {
    "actor_rollout_ref": {
        "actor": {
            "megatron": {
                "tensor_model_parallel_size": (
                    "parallelism.tensor_parallel_size",
                    count,
                ),
                "pipeline_model_parallel_size": (
                    "parallelism.pipeline_parallel_size",
                    count,
                ),
                "virtual_pipeline_model_parallel_size": (
                    "parallelism.virtual_stages",
                    count,
                ),
                "context_parallel_size": ("parallelism.context_parallel_size", count),
                "expert_model_parallel_size": (
                    "parallelism.expert_parallel_size",
                    count,
                ),
                "expert_tensor_parallel_size": (
                    "parallelism.expert_tensor_parallel_size",
                    count,
                ),
                "use_distributed_optimizer": ("optimizer.is_distributed", boolean),
                "dtype": ("precision.compute_dtype", _dtype),
                "seed": ("run.seed", integer_text),
                "full_determinism": ("run.deterministic", boolean),
                "override_transformer_config": _TRANSFORMER,
            },
            "optim": {"clip_grad": ("optimizer.clip_norm", number)},
        }
    }
}
_KEPT = "trainer.max_actor_ckpt_to_keep"


def kept(value: object) -> object:
    """How many checkpoints are kept; null keeps all, which the plan writes as 0."""
    return 0 if value is None else integer_text(value)


def _saves(value: object) -> object:
    frequency = integer_text(value)
    return frequency > 0 if isinstance(frequency, int) else frequency


def _rows(*rows: tuple[str, str, Convert]) -> tuple[TabulatedDefault, ...]:
    return tuple(TabulatedDefault(*row) for row in rows)


# What holds under `defaults: [ppo_trainer]`; keys that hold for all back ends.
DEFAULTS = _rows(
    ("trainer.nnodes", "cluster.nodes", count),
    ("trainer.n_gpus_per_node", "cluster.gpus_per_node", count),
    ("trainer.save_freq", "checkpoint.enabled", _saves),
    (_KEPT, "checkpoint.keep_last", kept),
    ("actor_rollout_ref.rollout.n", "run.generations_per_prompt", integer_text),
    ("actor_rollout_ref.nccl_timeout", "communication.timeout_seconds", number),
    ("data.dataloader_num_workers", "data.workers", integer_text),
)
DEFAULTS_OF = {
    FSDP: _rows(
        ("actor_rollout_ref.actor.grad_clip", "optimizer.clip_norm", number),
        (
            "actor_rollout_ref.actor.ulysses_sequence_parallel_size",
            "parallelism.ulysses_size",
            count,
        ),
    ),
    MEGATRON: _rows(
        ("actor_rollout_ref.actor.optim.clip_grad", "optimizer.clip_norm", number),
        (
            "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size",
            "parallelism.pipeline_parallel_size",
            count,
        ),
        (
            "actor_rollout_ref.actor.megatron.context_parallel_size",
            "parallelism.context_parallel_size",
            count,
        ),
        (
            "actor_rollout_ref.actor.megatron.expert_model_parallel_size",
            "parallelism.expert_parallel_size",
            count,
        ),
        (
            "actor_rollout_ref.actor.megatron.use_distributed_optimizer",
            "optimizer.is_distributed",
            boolean,
        ),
    ),
}
ALWAYS = fixed_defaults(
    "verl does so whatever its configuration says",
    {
        "run.uses_torch": True,
        "batch.mode": "fixed",
        "telemetry.log_interval_steps": 1,
        "telemetry.throughput": True,
        "data.drop_last": True,
        "checkpoint.format": "sharded",
    },
)
FSDP_ONLY = fixed_defaults(
    "verl's FSDP back end has no other parallelism than data and Ulysses",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
    },
)
FSDP_WORKERS = fixed_defaults(
    "not set: decided by verl's FSDP workers",
    {
        "precision.compute_dtype": "bf16",
        "precision.gradient_reduce_dtype": "fp32",
        "kernels.attention_backend": "flash",
        # `param_offload` moves states out of the way between the phases of a step;
        # while the actor trains they are on the GPU.
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
    },
)
MEGATRON_WORKERS = fixed_defaults(
    "not set: decided by verl's Megatron workers",
    {"parallelism.ulysses_size": 1, "precision.compute_dtype": "bf16"},
)
