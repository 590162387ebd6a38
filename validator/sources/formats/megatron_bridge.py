"""Megatron-Bridge: overrides of a recipe, or the configuration that a run dumps.

Sections are the fields of ConfigContainer (NVIDIA-NeMo/Megatron-Bridge
src/megatron/bridge/training/config.py). A file of overrides leaves the rest to a recipe
in Python, so that the lack of a key means nothing.
"""

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import Config
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    boolean,
    integer,
    lower_text,
    minutes,
    number,
    one_of,
    section,
    text,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "megatron-bridge"
_TRAIN = frozenset({"train_iters", "micro_batch_size", "global_batch_size"})
# (section, key): each is a sign of Megatron-Bridge beside its train section.
_SIGNS = (
    ("checkpoint", "save"),
    ("checkpoint", "save_interval"),
    ("dataset", "seq_length"),
    ("dataset", "sequence_length"),
    ("ddp", "grad_reduce_in_fp32"),
    ("ddp", "overlap_grad_reduce"),
    ("ddp", "use_distributed_optimizer"),
    ("dist", "distributed_timeout_minutes"),
    ("dist", "use_megatron_fsdp"),
    ("dist", "use_torch_fsdp2"),
    ("logger", "log_interval"),
    ("model", "seq_length"),
    ("model", "tensor_model_parallel_size"),
    ("optimizer", "use_distributed_optimizer"),
    ("rng", "seed"),
    ("scheduler", "lr_decay_style"),
    ("scheduler", "lr_warmup_iters"),
)
_FEW, _ENOUGH = 2, 3

_DTYPE = one_of(
    {
        "fp32": "fp32",
        "float32": "fp32",
        "torch.float32": "fp32",
        "bf16": "bf16",
        "bfloat16": "bf16",
        "torch.bfloat16": "bf16",
        "fp16": "fp16",
        "torch.float16": "fp16",
    }
)
_CHECKPOINTS = one_of(
    {
        "torch": "full",
        "torch_dist": "sharded",
        "torch_dcp": "sharded",
        "fsdp_dtensor": "sharded",
        "zarr": "sharded",
    }
)
_RECOMPUTE = one_of({"full": "full", "selective": "selective"})


def _graphs(value: object) -> object:
    return lower_text(value) != "none"


def _reduce_dtype(value: object) -> object:
    """Return the dtype of reduction; without the switch it is the gradients' own."""
    in_fp32 = boolean(value)
    if in_fp32 is False:
        return Unusable("grad_reduce_in_fp32 is off: the dtype of the model")
    return "fp32" if in_fp32 is True else in_fp32


def _is_given(value: object) -> object:
    return value is not None


_MODEL: Fields = {
    "tensor_model_parallel_size": ("parallelism.tensor_parallel_size", integer),
    "pipeline_model_parallel_size": ("parallelism.pipeline_parallel_size", integer),
    "virtual_pipeline_model_parallel_size": ("parallelism.virtual_stages", integer),
    "context_parallel_size": ("parallelism.context_parallel_size", integer),
    "expert_model_parallel_size": ("parallelism.expert_parallel_size", integer),
    "expert_tensor_parallel_size": ("parallelism.expert_tensor_parallel_size", integer),
    "sequence_parallel": ("parallelism.sequence_parallel", boolean),
    "seq_length": ("batch.sequence_length", integer),
    "num_layers": ("model.layers", integer),
    "hidden_size": ("model.hidden_size", integer),
    "ffn_hidden_size": ("model.feed_forward_size", integer),
    "num_attention_heads": ("model.attention_heads", integer),
    "num_query_groups": ("model.key_value_heads", integer),
    "kv_channels": ("model.head_dimension", integer),
    "vocab_size": ("model.vocabulary_size", integer),
    "make_vocab_size_divisible_by": ("model.vocabulary_multiple", integer),
    "share_embeddings_and_output_weights": ("model.tied_embeddings", boolean),
    "gated_linear_unit": ("model.gated_feed_forward", boolean),
    "num_moe_experts": ("model.experts", integer),
    "moe_router_topk": ("model.experts_per_token", integer),
    "moe_ffn_hidden_size": ("model.expert_feed_forward_size", integer),
    "recompute_granularity": ("memory.recompute_mode", _RECOMPUTE),
    "recompute_method": ("memory.recompute_method", lower_text),
    "recompute_num_layers": ("memory.recompute_layers", integer),
    "cpu_offloading": ("memory.activation_offload", boolean),
    "cross_entropy_loss_fusion": ("kernels.fused_cross_entropy", boolean),
    "cuda_graph_impl": ("kernels.cuda_graphs", _graphs),
    "enable_cuda_graph": ("kernels.cuda_graphs", boolean),
    "tp_comm_overlap": ("communication.overlap_tensor_parallel", boolean),
}
_FIELDS: Fields = {
    "model": _MODEL,
    "train": {
        "train_iters": ("run.steps", integer),
        "micro_batch_size": ("batch.micro_batch_size", integer),
        "global_batch_size": ("batch.global_batch_size", integer),
        "exit_signal_handler": ("recovery.exit_before_walltime", boolean),
        "exit_duration_in_mins": ("recovery.exit_before_walltime", _is_given),
    },
    "optimizer": {
        "optimizer": ("optimizer.name_of_optimizer", lower_text),
        "lr": ("optimizer.learning_rate", number),
        "min_lr": ("optimizer.minimum_learning_rate", number),
        "adam_beta1": ("optimizer.beta1", number),
        "adam_beta2": ("optimizer.beta2", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "clip_grad": ("optimizer.clip_norm", number),
        "use_distributed_optimizer": ("optimizer.is_distributed", boolean),
        "main_grads_dtype": ("precision.gradient_accumulate_dtype", _DTYPE),
        "exp_avg_dtype": ("precision.optimizer_state_dtype", _DTYPE),
    },
    "scheduler": {
        "lr_decay_style": ("optimizer.schedule", lower_text),
        "lr_decay_iters": ("optimizer.decay_steps", integer),
        "lr_warmup_iters": ("optimizer.warmup_steps", integer),
        "lr_warmup_fraction": ("optimizer.warmup_ratio", number),
    },
    "ddp": {
        "grad_reduce_in_fp32": ("precision.gradient_reduce_dtype", _reduce_dtype),
        "overlap_grad_reduce": ("communication.overlap_gradient_reduce", boolean),
        "overlap_param_gather": ("communication.overlap_parameter_gather", boolean),
    },
    "checkpoint": {
        "save": ("checkpoint.directory", text),
        "save_interval": ("checkpoint.interval_steps", integer),
        "async_save": ("checkpoint.asynchronous", boolean),
        "ckpt_format": ("checkpoint.format", _CHECKPOINTS),
        "save_optim": ("checkpoint.save_optimizer", boolean),
        "save_rng": ("checkpoint.save_random_state", boolean),
        "non_persistent_save_interval": ("checkpoint.local_interval_steps", integer),
        "non_persistent_local_ckpt_dir": ("checkpoint.local_directory", text),
    },
    "dist": {
        "distributed_timeout_minutes": (
            "communication.initialization_timeout_seconds",
            minutes,
        ),
        "distributed_timeout_seconds_after_init": (
            "communication.timeout_seconds",
            number,
        ),
    },
    "logger": {
        "log_interval": ("telemetry.log_interval_steps", integer),
        "log_throughput": ("telemetry.throughput", boolean),
    },
    "dataset": {
        "num_workers": ("data.workers", integer),
        "pin_memory": ("data.pin_memory", boolean),
        "persistent_workers": ("data.persistent_workers", boolean),
    },
    "rng": {"seed": ("run.seed", integer)},
    "inprocess_restart": {"enabled": ("recovery.in_process_restart", boolean)},
}
_MIXED: Fields = {
    "bf16": ("precision.bf16", boolean),
    "fp16": ("precision.fp16", boolean),
    "fp8_recipe": ("precision.fp8_recipe", lower_text),
}
_ENGINES = {
    "dist.use_torch_fsdp2": "fsdp2",
    "dist.use_megatron_fsdp": "megatron-fsdp",
    "ddp.use_megatron_fsdp": "megatron-fsdp",
}
_FSDP = ("use_megatron_fsdp", "use_torch_fsdp2")
_SINKS = {"tensorboard_dir": "tensorboard", "wandb_project": "wandb"}


def detect(document: Document) -> float:
    """Recognise it by two keys of its train section and signs in those beside it."""
    data = section(document.data)
    train = section(data, "train")
    if len(_TRAIN.intersection(train)) < _FEW:
        return 0.0
    signs = sum(1 for part, key in _SIGNS if key in section(data, part))
    return min(0.95, 0.5 + 0.08 * signs) if signs >= _ENOUGH else 0.0


def read(document: Document) -> Reading:
    """Return what the file states; the rest is the recipe's."""
    sheet = FactSheet.of(document)
    config = Config(sheet, document.data)
    config.apply(_FIELDS)
    _state_precision(config)
    _state_engine(config)
    _state_checkpoints(config.section("checkpoint"))
    logger = config.section("logger")
    sinks = [key for key in _SINKS if logger.get(key)]
    if sinks:
        names = tuple(_SINKS[key] for key in sinks)
        logger.state("telemetry.sinks", names, sinks[0])
    if config.section("peft").data:
        config.derive("model.adapter", "lora", "peft is set", "peft")
        config.derive("run.role", "lora", "peft is set", "peft")
    key = "train.rampup_batch_size"
    if config.get(key) is not None:
        config.state("batch.mode", "rampup", key)
    sheet.derive("run.framework", "megatron-bridge", "Megatron-Bridge's sections", ())
    # no key sets these: they hold whatever a recipe that is not seen says
    note = "Megatron-LM has no Ulysses groups"
    sheet.derive("parallelism.ulysses_size", 1, note, ())
    sheet.derive("run.uses_torch", True, "Megatron-LM runs on PyTorch", ())  # noqa: FBT003
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _state_precision(config: Config) -> None:
    """State a recipe by name, or its fields."""
    key = "mixed_precision"
    config.section(key).apply(_MIXED)
    mixed = config.get(key)
    if isinstance(mixed, str):
        note = f"{key}: {mixed:.60}"
        # Names of recipes: bf16_mixed, bf16_with_fp8_current_scaling_mixed, fp16_mixed.
        config.turn_halves(mixed.partition("_")[0] if "_" in mixed else "", note, key)
        config.turn("precision.fp8", note, key, is_on="fp8" in mixed)


def _state_engine(config: Config) -> None:
    leaf = "parallelism.engine"
    for key, engine in _ENGINES.items():
        if config.get(key) is True:
            config.state(leaf, engine, key)
            return
    if all(config.get(f"dist.{key}") is False for key in _FSDP):
        keys = [f"dist.{key}" for key in _FSDP]
        config.derive(leaf, "megatron", f"neither {' nor '.join(_FSDP)}", *keys)


def _state_checkpoints(saving: Config) -> None:
    """State that it saves with a folder and an interval, and resumes from there."""
    save, load = saving.get("save"), saving.get("load")
    if isinstance(save, str) and saving.get("save_interval") is not None:
        saving.turn("checkpoint.enabled", "save and save_interval", "save")
        saving.default("checkpoint.interval_unit", "steps", "save_interval")
    if isinstance(save, str) and isinstance(load, str):
        same = save.rstrip("/") == load.rstrip("/")
        which = "the folder" if same else "another folder than that"
        note = f"load names {which} of save"
        saving.derive("checkpoint.resume", same, note, "load", "save")


READER = Reader(_FORMAT, "config", detect, read, keys=("train",), interpolates=True)
