"""NeMo 1: Megatron's model, Lightning's trainer, and NeMo's `exp_manager`.

Sources, releases 1.17 to 2.0: NVIDIA/NeMo nemo/collections/nlp/models/
language_modeling/megatron_base_model.py and megatron_gpt_model.py,
nemo/collections/nlp/parts/megatron_trainer_builder.py, nemo/utils/exp_manager.py
(ExpManagerConfig, CallbackParams); Lightning 2.0,
trainer/connectors/accelerator_connector.py and callbacks/model_checkpoint.py.
"""

import math
from collections.abc import Mapping

from speccheck.validator.sources.formats._config import Config
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    mebibytes,
    negation,
    number,
    one_of,
    placeholder,
    put,
    section,
    text,
)

Settings = Mapping[str, object]
MEGATRON_KEYS = frozenset(
    {
        "tensor_model_parallel_size",
        "pipeline_model_parallel_size",
        "micro_batch_size",
        "global_batch_size",
        "encoder_seq_length",
        "megatron_amp_O2",
        "mcore_gpt",
    }
)
DISTRIBUTED = frozenset({"distributed_fused_adam", "mcore_distributed_optim"})
_FUSED = DISTRIBUTED | {"fused_adam", "megatron_fused_adam"}
_ENCODER_DECODER = frozenset(
    {"encoder", "decoder", "decoder_seq_length", "pipeline_model_parallel_split_rank"}
)
_HYBRID = frozenset({"mamba_state_dim", "mamba_num_groups", "hybrid_override_pattern"})
# nemo/collections/nlp/parts/utils_funcs.py: these have a second, gating projection.
_GATED = frozenset(
    {"swiglu", "geglu", "reglu", "fast-swiglu", "fast-geglu", "fast-reglu"}
)
_FSDP_STAGES = {"full": 3, "hybrid": 3, "grad": 2}
_DTYPES: Mapping[str, object] = {
    "16": "fp16",
    "fp16": "fp16",
    "bf16": "bf16",
    "32": "fp32",
    "fp32": "fp32",
    "float32": "fp32",
    "bfloat16": "bf16",
}
_DTYPE = one_of(_DTYPES)


def _whole_steps(value: object) -> object:
    """Return the whole steps of a number: the schedule compares steps with it.

    A fraction, as an optimizer of samples makes it, is no fault
    (NVIDIA-NeMo/NeMo nemo/core/optim/lr_scheduler.py, WarmupPolicy).
    """
    count = number(value)
    return int(count) if isinstance(count, float) else count


_DEGREES: Fields = {
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
}
_TRAINING: Fields = {
    "activations_checkpoint_method": ("memory.recompute_method", lower_text),
    "activations_checkpoint_num_layers": ("memory.recompute_layers", integer_text),
    "cpu_offloading": ("memory.activation_offload", boolean),
    "ub_tp_comm_overlap": ("communication.overlap_tensor_parallel", boolean),
    "cross_entropy_loss_fusion": ("kernels.fused_cross_entropy", boolean),
    "enable_cuda_graph": ("kernels.cuda_graphs", boolean),
    "seed": ("run.seed", integer_text),
    "nsys_profile": {"enabled": ("telemetry.profiler", boolean)},
    "dist_ckpt_format": (
        "checkpoint.format",
        one_of({"torch_dist": "sharded", "zarr": "sharded"}),
    ),
    "optim": {
        "name": ("optimizer.name_of_optimizer", lower_text),
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "overlap_grad_sync": ("communication.overlap_gradient_reduce", boolean),
        "overlap_param_sync": ("communication.overlap_parameter_gather", boolean),
        "bucket_cap_mb": ("communication.gradient_bucket_bytes", mebibytes),
        "check_for_nan_in_grad": ("recovery.non_finite_guard", boolean),
        "sched": {
            "name": ("optimizer.schedule", lower_text),
            "warmup_steps": ("optimizer.warmup_steps", _whole_steps),
            "warmup_ratio": ("optimizer.warmup_ratio", number),
            "min_lr": ("optimizer.minimum_learning_rate", number),
        },
    },
}
_DIMENSIONS: Fields = {
    "hidden_size": ("model.hidden_size", integer_text),
    "num_attention_heads": ("model.attention_heads", integer_text),
    "num_query_groups": ("model.key_value_heads", integer_text),
    "kv_channels": ("model.head_dimension", integer_text),
    "max_position_embeddings": ("model.maximum_positions", integer_text),
    "make_vocab_size_divisible_by": ("model.vocabulary_multiple", integer_text),
    "override_vocab_size": ("model.vocabulary_size", integer_text),
    "share_embeddings_and_output_weights": ("model.tied_embeddings", boolean),
    "num_moe_experts": ("model.experts", integer_text),
    "moe_router_topk": ("model.experts_per_token", integer_text),
    "moe_ffn_hidden_size": ("model.expert_feed_forward_size", integer_text),
}
# Of a model with an encoder and a decoder these speak of one of the two.
_DEPTH: Fields = {
    "num_layers": ("model.layers", integer_text),
    "ffn_hidden_size": ("model.feed_forward_size", integer_text),
}
_LOADER: Fields = {
    "num_workers": ("data.workers", integer_text),
    "pin_memory": ("data.pin_memory", boolean),
    "drop_last": ("data.drop_last", boolean),
}
_NO_PARALLELISM = fixed_defaults(
    "not set: 1",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.virtual_stages": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.sequence_parallel": False,
    },
)
# A model restored from a checkpoint takes what is not set from there.
_NEW_MODEL = fixed_defaults(
    "not set: 1",
    {"parallelism.context_parallel_size": 1, "parallelism.expert_parallel_size": 1},
)
_CALLBACK = "checkpoint_callback_params"
_SINKS = {
    "create_tensorboard_logger": "tensorboard",
    "create_wandb_logger": "wandb",
    "create_mlflow_logger": "mlflow",
    "create_dllogger_logger": "dllogger",
    "create_clearml_logger": "clearml",
    "create_neptune_logger": "neptune",
}
_TRAINER: Fields = {
    "gradient_clip_val": ("optimizer.clip_norm", number),
    "log_every_n_steps": ("telemetry.log_interval_steps", integer_text),
    "deterministic": ("run.deterministic", boolean),
}
_EXPERIMENT: Fields = {
    "create_checkpoint_callback": ("checkpoint.enabled", boolean),
    "resume_if_exists": ("checkpoint.resume", boolean),
    _CALLBACK: {
        "async_save": ("checkpoint.asynchronous", boolean),
        "save_weights_only": ("checkpoint.save_optimizer", negation),
    },
}
_EXPERIMENT_DEFAULTS = fixed_defaults(
    "not set in exp_manager: decided by NeMo's ExpManagerConfig",
    {
        "checkpoint.enabled": True,
        "checkpoint.resume": False,
        "checkpoint.asynchronous": False,
        "checkpoint.save_optimizer": True,
    },
)
_TORCH = fixed_defaults("NeMo runs on torch", {"run.uses_torch": True})
_CLOCK_PARTS = 3  # hours, minutes, seconds; days may stand before them
_DAYS_TO_SECONDS = (86_400, 3_600, 60, 1)


def is_recipe(data: Settings) -> bool:
    """Return whether a mapping is a recipe with the settings of another library."""
    own = data.get("training_config")
    return isinstance(own, dict) and isinstance(data.get("trainer"), dict)


def is_megatron(data: Settings) -> bool:
    """Return whether the model is one of NeMo's Megatron models, not a speech model."""
    model = section(data, "model")
    return not (MEGATRON_KEYS.isdisjoint(model) and MEGATRON_KEYS.isdisjoint(data))


def is_evaluation(data: Settings) -> bool:
    """Return whether the file only runs a model that another one trained."""
    model = section(data, "model")
    if "optim" in model:
        return False
    sets = section(model, "data")
    is_tested = "test_ds" in sets or "validation_ds" in sets
    has_flat_degrees = not MEGATRON_KEYS.isdisjoint(data)
    return (
        "inference" in data
        or has_flat_degrees
        or (is_tested and "train_ds" not in sets)
    )


def state_model(config: Config, *, is_training: bool) -> None:
    """State what `model` says; evaluations keep their degrees at the top."""
    model = config.section("model")
    keys = ("restore_from_path", "language_model_path", "pretrained_checkpoint")
    is_restored = any(
        block.get(key) is not None for block in (config, model) for key in keys
    )
    config.apply(_DEGREES)
    model.apply(_DEGREES)
    add_defaults(config.sheet, _NO_PARALLELISM)
    if not is_restored:
        add_defaults(config.sheet, _NEW_MODEL)
    _dimensions(model, is_restored=is_restored)
    key = "use_flash_attention"
    if model.switch(key) is True:
        model.derive("kernels.attention_backend", "flash", key, key)
    _fp8(model)
    if is_training:
        _batch(model)
        model.apply(_TRAINING)
        _recompute(model)
        model.put_betas("optim.betas")
        name = model.word("optim.name")
        if name in _FUSED:
            note = f"optimizer {model.get('optim.name')}"
            model.turn("kernels.fused_optimizer", note, "optim.name")
        _sharding(model, name)
        _gradients(model, name)
        train = model.section("data.train_ds")
        (train if train.data else model.section("data")).apply(_LOADER)
        _role(config, model)


def _batch(model: Config) -> None:
    """State the batch; fine-tuning takes `data.train_ds`'s before the model's."""
    train = "data.train_ds"
    for key in ("micro_batch_size", "global_batch_size"):
        model.put_first(f"batch.{key}", integer_text, f"{train}.{key}", key)
    lengths = (f"{train}.max_seq_length", "encoder_seq_length", "data.seq_length")
    model.put_first("batch.sequence_length", integer_text, *lengths)
    model.put("batch.packing", f"{train}.packed_sequence", boolean)
    leaf, key = "batch.mode", "rampup_batch_size"
    if model.get(key) is not None:
        model.derive(leaf, "rampup", f"{key} is set", key)
    else:
        model.default(leaf, "fixed", f"{key} is not set")


def _recompute(model: Config) -> None:
    key, leaf = "activations_checkpoint_granularity", "memory.recompute_mode"
    if model.get(key) is not None:
        model.put(leaf, key, one_of({"full": "full", "selective": "selective"}))
    elif key in model:
        model.derive(leaf, "none", f"{key}: null", key)
    else:
        model.default(leaf, "none", f"{key} is not set: null")


def _sharding(model: Config, optimizer: str | None) -> None:
    """State FSDP of torch, or Megatron with or without its distributed optimizer."""
    stage, engine = "parallelism.sharding_stage", "parallelism.engine"
    if model.switch("fsdp") is True:
        model.derive(engine, "fsdp1", "model.fsdp", "fsdp")
        key = "fsdp_sharding_strategy"
        word = lower_text(model.get(key) or "full")
        if isinstance(word, str) and word in _FSDP_STAGES:
            at = key if key in model else "fsdp"
            model.derive(stage, _FSDP_STAGES[word], f"{key}: {word}", at)
        return
    model.default(engine, "megatron", "NeMo's Megatron models")
    if optimizer is not None:
        is_on, note = optimizer in DISTRIBUTED, f"optimizer {optimizer}"
        model.turn("optimizer.is_distributed", note, "optim.name", is_on=is_on)
        model.derive(stage, int(is_on), note, "optim.name")


def _gradients(model: Config, optimizer: str | None) -> None:
    """State the dtype of gradient sums: fp32 with a distributed optimizer unless set.

    That of Megatron Core adds them up in the buffer that it reduces
    (DistributedDataParallelConfig.grad_reduce_in_fp32).
    """
    key = "optim.grad_sync_dtype"
    reduced = "precision.gradient_reduce_dtype"
    accumulated = "precision.gradient_accumulate_dtype"
    if model.switch("fsdp") is True:
        model.put(reduced, "fsdp_grad_reduce_dtype", _DTYPE)
    elif optimizer in DISTRIBUTED and model.get(key) is None:
        model.default(reduced, "fp32", "grad_sync_dtype is not set: fp32")
        model.default(accumulated, "fp32", "grad_sync_dtype is not set: fp32")
    elif optimizer in DISTRIBUTED:
        model.put(reduced, key, _DTYPE)
        dtype = _DTYPE(model.get(key))
        if optimizer == "mcore_distributed_optim" and isinstance(dtype, str):
            note = "added up in the buffer that is reduced"
            model.derive(accumulated, dtype, note, key)


def _role(config: Config, model: Config) -> None:
    """State what is trained: an adapter, all of a restored model, or a new one."""
    role, adapter, key = "run.role", "model.adapter", "peft.peft_scheme"
    if "virtual_prompt_style" in model:
        style = "virtual_prompt_style"
        model.derive(adapter, "ptuning", style, style)
        model.derive(role, "lora", "only a prompt encoder is trained", style)
    elif key in model:
        scheme = model.get(key)
        name = "none" if scheme is None else lower_text(scheme)
        put(model.sheet, adapter, name, model.at(key))
        if isinstance(name, str):
            kind = "sft" if name == "none" else "lora"
            model.derive(role, kind, f"peft_scheme: {name}", key)
    elif isinstance(config.get("restore_from_path"), str):
        config.derive(role, "continued", "restore_from_path", "restore_from_path")


def _dimensions(model: Config, *, is_restored: bool) -> None:
    """State the sizes of the model, where one block of layers makes it."""
    model.apply(_DIMENSIONS)
    family = "transformer"
    if not _ENCODER_DECODER.isdisjoint(model.data):
        family = "encoder-decoder"
    elif "mm_cfg" in model:
        family = "multimodal"
    elif not _HYBRID.isdisjoint(model.data):
        family = "hybrid"
    if family != "encoder-decoder":
        model.apply(_DEPTH)
    model.default("model.family", family, f"a NeMo {family} model")
    if family == "encoder-decoder":
        return
    heads = model.whole("num_attention_heads")
    if model.get("num_query_groups") is None and heads is not None:
        leaf = "model.key_value_heads"
        note = "num_query_groups is not set: one for each"
        model.derive(leaf, heads, f"{note} head", "num_attention_heads")
    key = "share_embeddings_and_output_weights"
    if key not in model and not is_restored:
        model.default(
            "model.tied_embeddings", value=True, note=f"{key} is not set: true"
        )
    if isinstance(activation := model.get("activation"), str):
        leaf, note = "model.gated_feed_forward", f"activation {activation}"
        model.turn(leaf, note, "activation", is_on=activation in _GATED)


def _fp8(model: Config) -> None:
    """State Transformer Engine's fp8, with delayed scaling unless another is named."""
    if model.get("fp8") is None:
        return
    model.put("precision.fp8", "fp8", boolean)
    leaf, recipe = "precision.fp8_recipe", model.get("fp8_recipe")
    if isinstance(recipe, str):
        model.state(leaf, recipe.lower(), "fp8_recipe")
    elif model.switch("fp8") is True:
        model.default(leaf, "delayed", "NeMo 1 scales with delay")


def state_cluster(config: Config) -> None:
    """State nodes and GPUs, and the time that the Launcher asks for."""
    trainer = config.section("trainer")
    trainer.put("cluster.nodes", "num_nodes", integer_text)
    key = "devices" if "devices" in trainer else "gpus"  # before Lightning 1.6
    if trainer.get("accelerator") != "cpu":
        trainer.put("cluster.gpus_per_node", key, _devices)
    limit = _clock_seconds(config.get("run.time_limit"))
    if limit is not None:
        config.state("recovery.walltime_seconds", limit, "run.time_limit")
    # `max_time` ends the run and saves, in time if the job lasts longer.
    # `max_time_per_run` takes its place, with a clock that a resumed run sets back
    # (StatelessTimer in nemo/utils/exp_manager.py).
    for key in ("exp_manager.max_time_per_run", "trainer.max_time"):
        most = _clock_seconds(config.get(key))
        if most is not None and limit is not None:
            where = "within" if most < limit else "beyond"
            leaf = "recovery.exit_before_walltime"
            note = f"{key.partition('.')[2]} {where} run.time_limit"
            config.turn(leaf, note, key, is_on=most < limit)
            break
    add_defaults(config.sheet, _TORCH)


def _devices(value: object) -> object:
    """Return a count, a list of GPUs, or all of the node (-1 and auto)."""
    if isinstance(value, list):
        return len(value) or Unusable("no device")
    if isinstance(value, str) and value.count(",") and placeholder(value) is None:
        return len([part for part in value.split(",") if part.strip()])
    count = -1 if value == "auto" else integer_text(value)
    return Unusable(f"{value}: all GPUs of the node") if count == -1 else count


def _clock_seconds(value: object) -> float | None:
    """Return the seconds of `h:m:s`, `d:h:m:s` (Lightning) or `d-h:m:s` (Slurm)."""
    if not isinstance(value, str):
        return None
    parts = value.strip().replace("-", ":", 1).split(":")
    if len(parts) not in {_CLOCK_PARTS, _CLOCK_PARTS + 1}:
        return None
    if not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    factors = _DAYS_TO_SECONDS[-len(parts) :]
    return float(
        sum(int(part) * factor for part, factor in zip(parts, factors, strict=True))
    )


def state_precision(config: Config) -> None:
    """State the number format of the trainer: `bf16`, `16-mixed`, 32."""
    key, leaf = "trainer.precision", "precision.compute_dtype"
    value = config.get(key)
    if value is None:
        return
    word = lower_text(value)
    base = word.partition("-")[0] if isinstance(word, str) else ""
    note = f"precision: {word}"
    if base in {"bf16", "16"}:
        on, off = ("bf16", "fp16") if base == "bf16" else ("fp16", "bf16")
        config.turn(f"precision.{on}", note, key)
        config.default(f"precision.{off}", value=False, note=note)
    elif base == "32":
        config.derive(leaf, "fp32", note, key)
    else:
        reason = word.reason if isinstance(word, Unusable) else f"precision {word}"
        config.unusable(leaf, reason, key)
    if base == "16" and is_megatron(config.data):
        _loss_scale(config.section("model"))


def _loss_scale(model: Config) -> None:
    """State the gradient scaler of Megatron models, which only fp16 has."""
    model.default("precision.loss_scale", 0.0, "NeMo scales the loss dynamically")
    model.apply(
        {
            "native_amp_growth_interval": ("precision.loss_scale_window", integer_text),
            "hysteresis": ("precision.hysteresis", integer_text),
        }
    )
    key = "native_amp_init_scale"
    scale = model.number(key)
    if scale is not None and scale >= 1 and math.log2(scale).is_integer():
        power = int(math.log2(scale))
        model.derive("precision.initial_scale_power", power, f"2^{power}", key)


def state_training(config: Config) -> None:
    """State what the trainer says of the run; -1 and null mean no limit."""
    trainer = config.section("trainer")
    trainer.apply(_TRAINER)
    for key, leaf in (("max_steps", "run.steps"), ("max_epochs", "run.epochs")):
        count = number(trainer.get(key))
        if isinstance(count, float) and count > 0:
            trainer.state(leaf, int(count) if key == "max_steps" else count, key)
        elif isinstance(trainer.get(key), str) and isinstance(count, Unusable):
            trainer.unusable(leaf, count.reason, key)
    if is_megatron(config.data):
        return
    leaf, key = "batch.gradient_accumulation_steps", "accumulate_grad_batches"
    trainer.put(leaf, key, integer_text)
    strategy = trainer.get("strategy")
    target = section(strategy).get("_target_", strategy)
    if isinstance(target, str) and (
        target.startswith("ddp") or target.endswith("DDPStrategy")
    ):
        trainer.derive(
            "parallelism.engine", "ddp", f"strategy {target:.60}", "strategy"
        )
        stage, note = "parallelism.sharding_stage", "ddp shards nothing"
        trainer.derive(stage, 0, note, "strategy")


def state_experiment(config: Config) -> None:
    """State checkpoints, logs and fault tolerance of `exp_manager`."""
    block = config.section("exp_manager")
    if not isinstance(config.get("exp_manager"), dict):
        return
    block.apply(_EXPERIMENT)
    add_defaults(config.sheet, _EXPERIMENT_DEFAULTS)
    if boolean(block.get("create_checkpoint_callback", True)) is True:
        _directory(block)
        _interval(config, block.section(_CALLBACK))
        _kept(block.section(_CALLBACK))
    _logs(block)
    if block.switch("create_fault_tolerance_callback") is True:
        block.section("fault_tolerance").apply(
            {
                "rank_heartbeat_timeout": ("recovery.heartbeat_seconds", number),
                "max_rank_restarts": ("recovery.max_restarts", integer_text),
            }
        )


def _directory(block: Config) -> None:
    leaf, key = "checkpoint.directory", "explicit_log_dir"
    if block.put_first(leaf, text, f"{_CALLBACK}.dirpath"):
        return
    if not block.get(key):
        if block.get("exp_dir"):
            block.put(leaf, "exp_dir", text)
        return
    folder = text(block.get(key))
    if isinstance(folder, Unusable):
        block.unusable(leaf, folder.reason, key)
    else:
        path = f"{str(folder).rstrip('/')}/checkpoints"
        block.derive(leaf, path, f"{key}/checkpoints", key)


def _interval(config: Config, saving: Config) -> None:
    """State an interval: every so many steps, some time, or after each validation.

    ModelCheckpoint saves at the end of validation unless a step or a time triggers it.
    """
    unit, steps = "checkpoint.interval_unit", "checkpoint.interval_steps"
    key = "every_n_train_steps"
    if saving.get(key):
        saving.put(steps, key, integer_text)
        saving.derive(unit, "steps", key, key)
        return
    key = "train_time_interval"
    if saving.get(key):
        saving.derive(unit, "seconds", key, key)
        saving.put("checkpoint.interval_seconds", key, _interval_seconds)
        return
    key = "trainer.val_check_interval"
    between = config.get(key)
    batches = number(config.get("trainer.limit_val_batches", 1.0))
    is_validated = not isinstance(batches, float) or batches > 0
    if isinstance(between, bool) or between is None or not is_validated:
        return
    if isinstance(between, int) and between > 0:
        note = "a checkpoint follows each validation"
        config.derive(steps, between, note, key)
        config.derive(unit, "steps", note, key)
    elif isinstance(between, float):
        reason = f"{between:g} of an epoch, whose steps are not known"
        config.unusable(steps, reason, key)
        note = "val_check_interval is part of an epoch"
        config.derive(unit, "epoch", note, key)
    elif isinstance(between, str):
        why = placeholder(between) or Unusable(f"{between!r:.60} is no count")
        config.unusable(steps, why.reason, key)


def _interval_seconds(value: object) -> object:
    """Return a clock text, seconds, or the parts of a timedelta."""
    if isinstance(value, dict):
        units = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
        total = 0.0
        for name, part in value.items():
            amount = number(part)
            if name not in units or not isinstance(amount, float):
                return Unusable(f"{value!r:.60} is no duration")
            total += amount * units[name]
        return total
    clock = _clock_seconds(value)
    return clock if clock is not None else number(value)


def _kept(saving: Config) -> None:
    """State `save_top_k`: -1 keeps all; `save_last` keeps the newest as well."""
    key, leaf = "save_top_k", "checkpoint.keep_last"
    if saving.get(key) is None:
        return
    count = integer_text(saving.get(key))
    last = boolean(saving.get("save_last", True)) is True
    if count == -1:
        saving.derive(leaf, 0, "save_top_k: -1 keeps all", key)
    elif isinstance(count, int):
        note = f"{key} {count}" + (" and the newest" if last else "")
        if count + last > 0:
            saving.derive(leaf, count + last, note, key)
    elif isinstance(count, Unusable):
        saving.unusable(leaf, count.reason, key)


def _logs(block: Config) -> None:
    """State the loggers; tensorboard is on unless switched off."""
    usual, leaf = "create_tensorboard_logger", "telemetry.sinks"
    names = tuple(
        name
        for key, name in _SINKS.items()
        if boolean(block.get(key, key == usual)) is True
    )
    stated = [key for key in _SINKS if key in block]
    if stated:
        block.derive(leaf, names, "loggers of exp_manager", *stated)
    else:
        block.default(leaf, names, f"{usual} is not set: true")
    keys = ("log_tflops_per_sec_per_gpu", "log_step_timing")
    cases = [(block.switch(key) is True, True, key, key) for key in keys]
    block.first("telemetry.throughput", *cases)
