"""What a DeepSpeed configuration says, as its own file or inside another one.

Keys, types and defaults: schemas/catalogues/frameworks/deepspeed.yaml. Source of what
they do: deepspeed/runtime/{config,engine}.py and deepspeed/runtime/zero/ at 0.19.6.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer,
    lower_text,
    number,
    one_of,
    put,
    put_numbers,
    section,
    tabulated_defaults,
    text,
    weak_default,
    without_place,
)
from speccheck.validator.sources.reader import FactSheet

DTYPES: dict[str, object] = {
    "fp32": "fp32",
    "float32": "fp32",
    "float": "fp32",
    "torch.float32": "fp32",
    "fp16": "fp16",
    "float16": "fp16",
    "half": "fp16",
    "torch.float16": "fp16",
    "bf16": "bf16",
    "bfloat16": "bf16",
    "torch.bfloat16": "bf16",
}
# Buffers of gradients and of gathered parameters have the dtype of the model
# (zero/stage_1_and_2.py, ipg_buffer; zero/partitioned_param_coordinator.py).
_BUCKETS = (
    ("reduce_bucket_size", "communication.gradient_bucket_bytes", (1, 2, 3)),
    ("allgather_bucket_size", "communication.parameter_bucket_bytes", (1, 2)),
    ("stage3_prefetch_bucket_size", "communication.parameter_bucket_bytes", (3,)),
)
_LOSSY_OPTIMIZERS = frozenset({"onebitadam", "onebitlamb", "zerooneadam"})
# Built with fused kernels unless `torch_adam` asks for torch's own (engine.py,
# _configure_basic_optimizer).
_FUSED_OPTIMIZERS = frozenset({"adam", "adamw", "lamb", "lion"})
_OLD_OFFLOAD = {
    "cpu_offload": "memory.optimizer_offload_device",
    "cpu_offload_param": "memory.parameter_offload_device",
    "cpu_offload_params": "memory.parameter_offload_device",
}
_PINS = (
    ("offload_optimizer", "pin_memory"),
    ("offload_param", "pin_memory"),
    ("cpu_offload_use_pin_memory",),
)
_SINKS = ("tensorboard", "wandb", "csv_monitor", "comet")
_MAXIMUM_STAGE = 3


def _stage(value: object) -> object:
    """The ZeRO stage; one outside 0 to 3 is of no use."""
    stage = integer(value)
    if isinstance(stage, int) and not 0 <= stage <= _MAXIMUM_STAGE:
        return Unusable(f"{stage} is no ZeRO stage")
    return stage


def _tensor_parallel(value: object) -> object:
    """The degree of automatic tensor parallelism; 0 turns it off."""
    size = integer(value)
    return 1 if size == 0 and size is not False else size


_DTYPE = one_of(DTYPES)
_FIELDS: Fields = {
    "train_batch_size": ("batch.global_batch_size", integer),
    "train_micro_batch_size_per_gpu": ("batch.micro_batch_size", integer),
    "gradient_accumulation_steps": ("batch.gradient_accumulation_steps", integer),
    "gradient_clipping": ("optimizer.clip_norm", number),
    "wall_clock_breakdown": ("telemetry.time_breakdown", boolean),
    "communication_data_type": ("precision.gradient_reduce_dtype", _DTYPE),
    "sequence_parallel_size": ("parallelism.ulysses_size", integer),
    "bf16": {"enabled": ("precision.bf16", boolean)},
    "fp16": {
        "enabled": ("precision.fp16", boolean),
        "loss_scale": ("precision.loss_scale", number),
        "loss_scale_window": ("precision.loss_scale_window", integer),
        "initial_scale_power": ("precision.initial_scale_power", integer),
        "min_loss_scale": ("precision.minimum_loss_scale", number),
        "hysteresis": ("precision.hysteresis", integer),
    },
    "data_types": {
        "grad_accum_dtype": ("precision.gradient_accumulate_dtype", _DTYPE),
        "param_dtype": ("precision.parameter_dtype", _DTYPE),
    },
    "zero_optimization": {
        "stage": ("parallelism.sharding_stage", _stage),
        "overlap_comm": ("communication.overlap_gradient_reduce", boolean),
        "offload_optimizer": {
            "device": ("memory.optimizer_offload_device", lower_text),
            "nvme_path": ("memory.optimizer_offload_path", text),
        },
        "offload_param": {
            "device": ("memory.parameter_offload_device", lower_text),
            "nvme_path": ("memory.parameter_offload_path", text),
        },
    },
    "activation_checkpointing": {
        "cpu_checkpointing": ("memory.activation_offload", boolean),
    },
    "optimizer": {
        "params": {
            "lr": ("optimizer.learning_rate", number),
            "weight_decay": ("optimizer.weight_decay", number),
            "freeze_step": ("communication.compression_warmup_steps", integer),
        },
    },
    "scheduler": {
        "params": {
            "warmup_num_steps": ("optimizer.warmup_steps", integer),
            "total_num_steps": ("optimizer.decay_steps", integer),
        },
    },
    "tensor_parallel": {
        "autotp_size": ("parallelism.tensor_parallel_size", _tensor_parallel),
        "tp_overlap_comm": ("communication.overlap_tensor_parallel", boolean),
    },
    "expert_parallel": {
        "autoep_size": ("parallelism.expert_parallel_size", integer),
        "expert_tensor_parallel_size": (
            "parallelism.expert_tensor_parallel_size",
            integer,
        ),
    },
    "compile": {"deepcompile": ("kernels.compiled", boolean)},
    "flops_profiler": {"enabled": ("telemetry.profiler", boolean)},
    "checkpoint": {"writer": {"decoupled": ("checkpoint.asynchronous", boolean)}},
}
# Names, log lines and a loader of its own: no conflict with those of a trainer.
_WEAK_FIELDS: Fields = {
    "steps_per_print": ("telemetry.log_interval_steps", integer),
    "dataloader_drop_last": ("data.drop_last", boolean),
    "optimizer": {"type": ("optimizer.name_of_optimizer", lower_text)},
    "scheduler": {"type": ("optimizer.schedule", lower_text)},
}
_DEFAULTS = (
    TabulatedDefault("zero_optimization.stage", "parallelism.sharding_stage", integer),
    TabulatedDefault("bf16.enabled", "precision.bf16", boolean),
    TabulatedDefault("fp16.enabled", "precision.fp16", boolean),
    TabulatedDefault("wall_clock_breakdown", "telemetry.time_breakdown", boolean),
    TabulatedDefault(
        "zero_optimization.offload_optimizer.device",
        "memory.optimizer_offload_device",
        text,
    ),
    TabulatedDefault(
        "zero_optimization.offload_param.device",
        "memory.parameter_offload_device",
        text,
    ),
)
_SCALING_DEFAULTS = (
    TabulatedDefault("fp16.loss_scale", "precision.loss_scale", number),
    TabulatedDefault("fp16.loss_scale_window", "precision.loss_scale_window", integer),
    TabulatedDefault(
        "fp16.initial_scale_power", "precision.initial_scale_power", integer
    ),
    TabulatedDefault("fp16.min_loss_scale", "precision.minimum_loss_scale", number),
    TabulatedDefault("fp16.hysteresis", "precision.hysteresis", integer),
)
_NO_MODEL_PARALLELISM = fixed_defaults(
    "not set; DeepSpeed alone runs without it",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
    },
)
_FIXED_BATCH = fixed_defaults(
    "elasticity is not enabled: DeepSpeed keeps one batch size", {"batch.mode": "fixed"}
)


def state_deepspeed(sheet: FactSheet, data: object, at: KeyPath = ()) -> None:
    """State what a DeepSpeed configuration below the path `at` says."""
    config = section(data)
    apply(sheet, config, _FIELDS, at)
    apply(sheet, config, _WEAK_FIELDS, at, weakly=True)
    _zero(sheet, config, at)
    _elasticity(sheet, config, at)
    _optimizer(sheet, config, at)
    _parallelism(sheet, config, at)
    _telemetry(sheet, config, at)
    add_defaults(sheet, tabulated_defaults("deepspeed", _DEFAULTS))
    if section(config, "fp16").get("enabled") in (True, "auto"):
        add_defaults(sheet, tabulated_defaults("deepspeed", _SCALING_DEFAULTS))
    stage = _value(sheet, "parallelism.sharding_stage")
    if isinstance(stage, int):
        _overlap_default(sheet, stage)
        _bucket_bytes(sheet, config, stage, (*at, "zero_optimization"))


def _value(sheet: FactSheet, leaf: str) -> object:
    return next((fact.value for fact in sheet.facts if fact.name == leaf), None)


def _zero(sheet: FactSheet, config: Mapping[str, object], at: KeyPath) -> None:
    at = (*at, "zero_optimization")
    whole = config.get("zero_optimization")
    if isinstance(whole, bool):  # before 0.5: a bare switch
        note = f"zero_optimization: {str(whole).lower()} means stage {int(whole)}"
        sheet.derive("parallelism.sharding_stage", int(whole), note, at)
    zero = section(whole)
    for key, leaf in _OLD_OFFLOAD.items():
        if isinstance(switch := zero.get(key), bool):
            device = "cpu" if switch else "none"
            sheet.derive(leaf, device, f"{key}: {str(switch).lower()}", (*at, key))
    size = zero.get("mics_shard_size")
    if isinstance(size, int) and size > 0:
        sheet.state("parallelism.shard_size", size, (*at, "mics_shard_size"))
    if zero.get("zero_quantized_gradients") is True:
        place = (*at, "zero_quantized_gradients")
        note = "ZeRO++ sends gradients quantized"
        sheet.derive("communication.compression", "quantized gradients", note, place)
    _pinned(sheet, zero, at)


def _pinned(sheet: FactSheet, zero: Mapping[str, object], at: KeyPath) -> None:
    """One leaf for several switches: a single unpinned buffer slows the step."""
    found: list[tuple[bool, KeyPath]] = []
    for names in _PINS:
        *blocks, key = names
        pin = section(zero, *blocks).get(key)
        if isinstance(pin, bool):
            found.append((pin, (*at, *names)))
    if found:
        pinned, place = min(found, key=lambda one: one[0])
        sheet.state("memory.offload_pin_memory", pinned, place)


def _elasticity(sheet: FactSheet, config: Mapping[str, object], at: KeyPath) -> None:
    if section(config, "elasticity").get("enabled") is True:
        sheet.state("batch.mode", "elastic", (*at, "elasticity", "enabled"))
    else:
        add_defaults(sheet, _FIXED_BATCH)


def _optimizer(sheet: FactSheet, config: Mapping[str, object], at: KeyPath) -> None:
    optimizer = section(config, "optimizer")
    parameters = section(optimizer, "params")
    at = (*at, "optimizer")
    betas = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, betas, parameters.get("betas"), (*at, "params", "betas"))
    name = str(optimizer.get("type", "")).lower()
    if name in _LOSSY_OPTIMIZERS:
        note = f"{name} compresses gradients after its warm-up"
        sheet.derive("communication.compression", name, note, (*at, "type"))
    if name in _FUSED_OPTIMIZERS:
        note = "DeepSpeed's own kernel"
        if parameters.get("torch_adam") is True:
            note = "torch_adam: foreach, the default of torch's Adam"
        leaf = "kernels.fused_optimizer"
        weak_default(sheet, leaf, True, note, (*at, "type"))  # noqa: FBT003
    if config.get("gradient_clipping") is None:
        _clipping_elsewhere(sheet, config, (*at, "params", "max_grad_norm"))


def _clipping_elsewhere(
    sheet: FactSheet, config: Mapping[str, object], at: KeyPath
) -> None:
    """Without `gradient_clipping` fp16 takes the optimizer's norm, if it has one."""
    norm = section(config, "optimizer", "params").get("max_grad_norm")
    if norm is not None and section(config, "fp16").get("enabled") is True:
        put(sheet, "optimizer.clip_norm", number(norm), at)
        return
    reason = "gradient_clipping is not set: off before DeepSpeed 0.19.6, 1.0 from there"
    without_place(sheet, "optimizer.clip_norm", reason)


def _parallelism(sheet: FactSheet, config: Mapping[str, object], at: KeyPath) -> None:
    sheet.derive("parallelism.engine", "deepspeed", "a DeepSpeed configuration", at)
    sheet.default("run.framework", "deepspeed", "a DeepSpeed configuration")
    sheet.default("run.uses_torch", value=True, note="DeepSpeed runs on PyTorch")
    pipeline = section(config, "pipeline")
    if pipeline:
        note = "the pipeline block is for DeepSpeed's pipeline engine"
        name = "parallelism.pipeline_engine"
        sheet.derive(name, "deepspeed", note, (*at, "pipeline"))
        stages = pipeline.get("stages")
        if isinstance(stages, int):
            name = "parallelism.pipeline_parallel_size"
            put(sheet, name, integer(stages), (*at, "pipeline", "stages"))
    size = section(config, "tensor_parallel", "tp").get("tp_size")
    if size is not None:
        place = (*at, "tensor_parallel", "tp", "tp_size")
        put(sheet, "parallelism.tensor_parallel_size", integer(size), place)
    # Megatron-DeepSpeed, which has all kinds of parallelism, builds its optimizer in
    # code and knows no "auto": such a file speaks for DeepSpeed alone.
    is_alone = "optimizer" in config or "auto" in map(_word, config.values())
    if is_alone and not pipeline:
        add_defaults(sheet, _NO_MODEL_PARALLELISM)


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _telemetry(sheet: FactSheet, config: Mapping[str, object], at: KeyPath) -> None:
    sinks = [name for name in _SINKS if section(config, name).get("enabled") is True]
    if sinks:
        note = "monitors that are enabled"
        place = (*at, sinks[0], "enabled")
        weak_default(sheet, "telemetry.sinks", tuple(sinks), note, place)
    if isinstance(config.get("steps_per_print"), int):
        note = "samples per second are printed every steps_per_print"
        derive_switch(sheet, "telemetry.throughput", note, (*at, "steps_per_print"))


def _overlap_default(sheet: FactSheet, stage: int) -> None:
    """Null and absence mean the same (zero/config.py, overlap_comm_valid)."""
    is_on = stage == _MAXIMUM_STAGE
    note = f"overlap_comm is not set: {'on' if is_on else 'off'} for stage {stage}"
    leaf = "communication.overlap_gradient_reduce"
    add_defaults(sheet, fixed_defaults(note, {leaf: is_on}))


def _bucket_bytes(
    sheet: FactSheet, config: Mapping[str, object], stage: int, at: KeyPath
) -> None:
    zero = section(config, "zero_optimization")
    size = _bytes_per_element(config)
    for key, leaf, stages in _BUCKETS:
        if stage not in stages or (stated := zero.get(key)) is None:
            continue
        elements = integer(stated)
        if not isinstance(elements, int):
            put(sheet, leaf, elements, (*at, key))
        elif size is None:
            reason = f"{elements:,} elements of a dtype that is not known"
            sheet.unusable(leaf, reason, (*at, key))
        else:
            note = f"{elements:,} elements x {size} B"
            sheet.derive(leaf, elements * size, note, (*at, key))


def _bytes_per_element(config: Mapping[str, object]) -> int | None:
    """Bytes of one element of the model: 2 with bf16 or fp16, 4 without."""
    half = [section(config, name).get("enabled", False) for name in ("bf16", "fp16")]
    if True in half:
        return 2
    return 4 if half == [False, False] else None
