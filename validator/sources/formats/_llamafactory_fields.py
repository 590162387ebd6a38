"""Which key of LLaMA-Factory states which leaf, in both of its schemas.

Sources: LLaMA-Factory 0.7.1 to 0.9.5, src/llamafactory/hparams/*.py; version 1:
src/llamafactory/v1/config/*.py.
"""

from speccheck.validator.sources.formats._huggingface import sinks
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    mebibytes,
    negation,
    number,
    one_of,
    text,
    texts,
)

_ATTENTION = one_of(
    {"disabled": "eager", "sdpa": "sdpa", "fa2": "flash", "fa3": "flash"}
)

# What a file for merging, export or chat says of the model, and of nothing else.
MODEL_FIELDS: Fields = {
    "model_name_or_path": ("model.name_of_model", text),
    "trust_remote_code": ("security.trusts_remote_code", boolean),
}
TRAINING_FIELDS: Fields = {
    **MODEL_FIELDS,
    # TrainingArguments, as the Trainer has them
    "per_device_train_batch_size": ("batch.micro_batch_size", integer_text),
    "gradient_accumulation_steps": (
        "batch.gradient_accumulation_steps",
        integer_text,
    ),
    "bf16": ("precision.bf16", boolean),
    "fp16": ("precision.fp16", boolean),
    "tf32": ("precision.tf32", boolean),
    "torch_compile": ("kernels.compiled", boolean),
    "optim": ("optimizer.name_of_optimizer", lower_text),
    "learning_rate": ("optimizer.learning_rate", number),
    "adam_beta1": ("optimizer.beta1", number),
    "adam_beta2": ("optimizer.beta2", number),
    "weight_decay": ("optimizer.weight_decay", number),
    "max_grad_norm": ("optimizer.clip_norm", number),
    "lr_scheduler_type": ("optimizer.schedule", lower_text),
    "warmup_ratio": ("optimizer.warmup_ratio", number),
    "ddp_timeout": ("communication.timeout_seconds", number),
    "ddp_bucket_cap_mb": ("communication.gradient_bucket_bytes", mebibytes),
    "output_dir": ("checkpoint.directory", text),
    "save_total_limit": ("checkpoint.keep_last", integer_text),
    "save_only_model": ("checkpoint.save_optimizer", negation),
    "load_best_model_at_end": ("checkpoint.saves_best_model", boolean),
    "dataset_dir": ("data.paths", texts),
    "dataloader_num_workers": ("data.workers", integer_text),
    "dataloader_pin_memory": ("data.pin_memory", boolean),
    "dataloader_prefetch_factor": ("data.prefetch_factor", integer_text),
    "dataloader_persistent_workers": ("data.persistent_workers", boolean),
    "dataloader_drop_last": ("data.drop_last", boolean),
    "group_by_length": ("data.group_by_length", boolean),
    "ignore_data_skip": ("data.resumable", negation),
    "data_seed": ("data.seed", integer_text),
    "report_to": ("telemetry.sinks", sinks),
    "include_tokens_per_second": ("telemetry.throughput", boolean),
    "num_train_epochs": ("run.epochs", number),
    "seed": ("run.seed", integer_text),
    "full_determinism": ("run.deterministic", boolean),
    # LLaMA-Factory's own
    "cutoff_len": ("batch.sequence_length", integer_text),
    "streaming": ("data.streaming", boolean),
    "fp8": ("precision.fp8", boolean),
    "flash_attn": ("kernels.attention_backend", _ATTENTION),
    "enable_torch_profiler": ("telemetry.profiler", boolean),
}
# Of the back ends on Megatron (hparams/megatron_bridge_args.py, MCoreAdapter).
MEGATRON_FIELDS: Fields = {
    "tensor_model_parallel_size": ("parallelism.tensor_parallel_size", integer_text),
    "pipeline_model_parallel_size": (
        "parallelism.pipeline_parallel_size",
        integer_text,
    ),
    "virtual_pipeline_model_parallel_size": (
        "parallelism.virtual_stages",
        integer_text,
    ),
    "context_parallel_size": ("parallelism.context_parallel_size", integer_text),
    "expert_model_parallel_size": ("parallelism.expert_parallel_size", integer_text),
    "sequence_parallel": ("parallelism.sequence_parallel", boolean),
    "use_distributed_optimizer": ("optimizer.is_distributed", boolean),
    "overlap_param_gather": ("communication.overlap_parameter_gather", boolean),
    "overlap_grad_reduce": ("communication.overlap_gradient_reduce", boolean),
    "recompute_granularity": ("memory.recompute_mode", lower_text),
    "recompute_method": ("memory.recompute_method", lower_text),
    "recompute_num_layers": ("memory.recompute_layers", integer_text),
    "use_packed_sequences": ("batch.packing", boolean),
}
# Any of these, and one of the back ends on Megatron trains.
MEGATRON_SIGNS = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "use_distributed_optimizer",
    "use_mca",
    "use_megatron_bridge",
)
DEFAULTS = (
    TabulatedDefault("cutoff_len", "batch.sequence_length", integer_text),
    TabulatedDefault("logging_steps", "telemetry.log_interval_steps", integer_text),
    TabulatedDefault("streaming", "data.streaming", boolean),
)
MEGATRON_ONLY = fixed_defaults(
    "not set; 1 in Megatron",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.ulysses_size": 1,
    },
)

VERSION_1_FIELDS: Fields = {
    "model": ("model.name_of_model", text),
    "trust_remote_code": ("security.trusts_remote_code", boolean),
    "output_dir": ("checkpoint.directory", text),
    "micro_batch_size": ("batch.micro_batch_size", integer_text),
    "global_batch_size": ("batch.global_batch_size", integer_text),
    "cutoff_len": ("batch.sequence_length", integer_text),
    "learning_rate": ("optimizer.learning_rate", number),
    "max_grad_norm": ("optimizer.clip_norm", number),
    "bf16": ("precision.bf16", boolean),
    "num_train_epochs": ("run.epochs", number),
    "seed": ("run.seed", integer_text),
    "full_determinism": ("run.deterministic", boolean),
    "dist_timeout": ("communication.timeout_seconds", number),
    "save_total_limit": ("checkpoint.keep_last", integer_text),
    "logging_steps": ("telemetry.log_interval_steps", integer_text),
    "flash_attn": ("kernels.attention_backend", _ATTENTION),
}
VERSION_1_ONLY = fixed_defaults(
    "version 1 of LLaMA-Factory has no such parallelism",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "run.uses_torch": True,
        "batch.mode": "fixed",
    },
)
