"""DeepSpeed's configuration, JSON or HJSON: as its own file or inside another one.

Keys, types and defaults: schemas/catalogues/frameworks/deepspeed.yaml. Source of what
they do: deepspeed/runtime/{config,engine}.py and deepspeed/runtime/zero/ at 0.19.6.
"""

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.documents.reading import load_documents
from speccheck.validator.sources.formats._config import Config, defaults_of
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer,
    lower_text,
    number,
    one_of,
    parse_number,
    section,
    tabulated_defaults,
    text,
    texts_for_values,
    weak_default,
    without_place,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_DTYPES: dict[str, object] = {
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
    "offload_optimizer.pin_memory",
    "offload_param.pin_memory",
    "cpu_offload_use_pin_memory",
)
_SINKS = ("tensorboard", "wandb", "csv_monitor", "comet")
_MAXIMUM_STAGE = 3
_FORMAT = "deepspeed"
# Each of these alone may be another framework's key; two together are DeepSpeed's.
_OWN_KEYS = frozenset(
    {
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "steps_per_print",
        "gradient_clipping",
        "zero_allow_untested_optimizer",
        "wall_clock_breakdown",
        "prescale_gradients",
        "activation_checkpointing",
        "communication_data_type",
        "flops_profiler",
        "comms_logger",
        "elasticity",
    }
)
# gpt-neox and other trainers take DeepSpeed's keys into a file of their own.
_FOREIGN_KEYS = frozenset(
    {
        "pipe_parallel_size",
        "pipe-parallel-size",
        "model_parallel_size",
        "model-parallel-size",
        "num_layers",
        "num-layers",
        "hidden_size",
        "hidden-size",
        "seq_length",
        "seq-length",
        "train_iters",
        "train-iters",
        "pos_emb",
        "pos-emb",
        "attention_config",
        "data_path",
        "data-path",
        "distributed_type",
        "per_device_train_batch_size",
        "base_model",
        "model_name_or_path",
        "model",
        "trainer",
    }
)
# Read key by key from the dictionary, without conversion (runtime/config.py), or handed
# to a constructor as they are.
_AS_WRITTEN = frozenset({"optimizer", "scheduler"})
# Dictionaries up to 0.16, models that convert texts from 0.17 on.
_CONVERTED_SINCE_0_17 = frozenset({"fp16", "bf16", "bfloat16"})


def detect(document: Document) -> float:
    """Recognise it by a ZeRO block, or two keys that only DeepSpeed has at the top."""
    data = section(document.data)
    if not data or not _FOREIGN_KEYS.isdisjoint(data):
        return 0.0
    own = len(_OWN_KEYS.intersection(data))
    own += sum(1 for name in ("fp16", "bf16") if "enabled" in section(data, name))
    if isinstance(data.get("zero_optimization"), dict):
        return 0.95 if own else 0.8
    if isinstance(data.get("zero_optimization"), bool):
        own += 1
    return min(0.9, 0.4 + 0.15 * own) if own > 1 else 0.0


def read(document: Document) -> Reading:
    """Return what the file states, and what DeepSpeed does where it states nothing."""
    document = _as_json(document)
    sheet = FactSheet.of(document)
    state_deepspeed(sheet, document.data)
    catalogue = keys_of_format(_FORMAT)
    keyed = keyed_file(document, _FORMAT, catalogue, refuses_duplicates=True)
    loaded_as = tuple(
        text
        for text in texts_for_values(keyed.keys, catalogue, _is_fatal)
        if text.fatal or text.written.lower() != "true"  # true by any release
    )
    if document.language == "yaml":
        # No JSON: a program loads it for DeepSpeed, and may read 1e-4 as a number.
        keys = tuple(
            key._replace(is_sure=key.is_sure and not _may_be_number(key.value))
            for key in keyed.keys
        )
        return Reading(sheet, keyed._replace(keys=keys))
    return Reading(sheet, keyed._replace(loaded_as=loaded_as))


def _as_json(document: Document) -> Document:
    """Return JSON by another suffix as DeepSpeed loads it: 5e8 is a number."""
    if document.language != "yaml" or not document.text.lstrip().startswith("{"):
        return document
    try:
        (loaded,) = load_documents(document.name, document.text, "json")
    except ReadError:
        return document
    return loaded


def _may_be_number(value: object) -> bool:
    return isinstance(value, str) and parse_number(value) is not None


def _is_fatal(path: KeyPath) -> bool | None:
    if len(path) == 1 or path[0] in _AS_WRITTEN:
        return True
    return False if path[0] in _CONVERTED_SINCE_0_17 else None


def _stage(value: object) -> object:
    """Return the ZeRO stage; one outside 0 to 3 is of no use."""
    stage = integer(value)
    if isinstance(stage, int) and not 0 <= stage <= _MAXIMUM_STAGE:
        return Unusable(f"{stage} is no ZeRO stage")
    return stage


def _tensor_parallel(value: object) -> object:
    """Return the degree of automatic tensor parallelism; 0 turns it off."""
    size = integer(value)
    return 1 if size == 0 and size is not False else size


_DTYPE = one_of(_DTYPES)
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
        "cpu_checkpointing": ("memory.activation_offload", boolean)
    },
    "optimizer": {
        "params": {
            "lr": ("optimizer.learning_rate", number),
            "weight_decay": ("optimizer.weight_decay", number),
            "freeze_step": ("communication.compression_warmup_steps", integer),
        }
    },
    "scheduler": {
        "params": {
            "warmup_num_steps": ("optimizer.warmup_steps", integer),
            "total_num_steps": ("optimizer.decay_steps", integer),
        }
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
_SCALING_DEFAULTS = defaults_of(
    _FIELDS,
    "fp16.loss_scale",
    "fp16.loss_scale_window",
    "fp16.initial_scale_power",
    "fp16.min_loss_scale",
    "fp16.hysteresis",
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
    config = Config(sheet, data, at)
    config.apply(_FIELDS)
    apply(sheet, config.data, _WEAK_FIELDS, at, weakly=True)
    _zero(config)
    key = "elasticity.enabled"
    if config.get(key) is True:
        config.state("batch.mode", "elastic", key)
    else:
        add_defaults(sheet, _FIXED_BATCH)
    _optimizer(config)
    _parallelism(config)
    _telemetry(config)
    add_defaults(sheet, tabulated_defaults("deepspeed", _DEFAULTS))
    if config.get("fp16.enabled") in (True, "auto"):
        add_defaults(sheet, tabulated_defaults("deepspeed", _SCALING_DEFAULTS))
    leaf = "parallelism.sharding_stage"
    stage = next((fact.value for fact in sheet.facts if fact.name == leaf), None)
    if isinstance(stage, int):
        # Null and absence mean the same (zero/config.py, overlap_comm_valid).
        is_on = stage == _MAXIMUM_STAGE
        note = f"overlap_comm is not set: {'on' if is_on else 'off'} for stage {stage}"
        leaf = "communication.overlap_gradient_reduce"
        add_defaults(sheet, fixed_defaults(note, {leaf: is_on}))
        _bucket_bytes(config, stage)


def _zero(config: Config) -> None:
    whole = config.get("zero_optimization")
    if isinstance(whole, bool):  # before 0.5: a bare switch
        note = f"zero_optimization: {str(whole).lower()} means stage {int(whole)}"
        leaf = "parallelism.sharding_stage"
        config.derive(leaf, int(whole), note, "zero_optimization")
    zero = config.section("zero_optimization")
    for key, leaf in _OLD_OFFLOAD.items():
        if isinstance(switch := zero.get(key), bool):
            device = "cpu" if switch else "none"
            zero.derive(leaf, device, f"{key}: {str(switch).lower()}", key)
    size, key = zero.get("mics_shard_size"), "mics_shard_size"
    if isinstance(size, int) and size > 0:
        zero.state("parallelism.shard_size", size, key)
    key = "zero_quantized_gradients"
    if zero.get(key) is True:
        leaf, note = "communication.compression", "ZeRO++ sends gradients quantized"
        zero.derive(leaf, "quantized gradients", note, key)
    # One leaf for several switches: a single unpinned buffer slows the step.
    pins = [(pin, key) for key in _PINS if isinstance(pin := zero.get(key), bool)]
    if pins:
        pinned, key = min(pins, key=lambda pin: pin[0])
        zero.state("memory.offload_pin_memory", pinned, key)


def _optimizer(config: Config) -> None:
    config.put_betas("optimizer.params.betas")
    name, key = str(config.get("optimizer.type", "")).lower(), "optimizer.type"
    if name in _LOSSY_OPTIMIZERS:
        note = f"{name} compresses gradients after its warm-up"
        config.derive("communication.compression", name, note, key)
    if name in _FUSED_OPTIMIZERS:
        note = "DeepSpeed's own kernel"
        if config.get("optimizer.params.torch_adam") is True:
            note = "torch_adam: foreach, the default of torch's Adam"
        leaf, is_on = "kernels.fused_optimizer", True
        weak_default(config.sheet, leaf, is_on, note, config.at(key))
    # Without `gradient_clipping` fp16 takes the optimizer's norm, if it has one.
    leaf, key = "optimizer.clip_norm", "optimizer.params.max_grad_norm"
    if config.get("gradient_clipping") is not None:
        return
    if config.get("fp16.enabled") is not True or not config.put_first(
        leaf, number, key
    ):
        reason = "gradient_clipping is not set: off before DeepSpeed 0.19.6, 1.0 from"
        without_place(config.sheet, leaf, f"{reason} there")


def _parallelism(config: Config) -> None:
    sheet, note = config.sheet, "a DeepSpeed configuration"
    sheet.derive("parallelism.engine", "deepspeed", note, config.prefix)
    config.default("run.framework", "deepspeed", note)
    config.default("run.uses_torch", value=True, note="DeepSpeed runs on PyTorch")
    pipeline, stages = config.section("pipeline"), config.get("pipeline.stages")
    if pipeline.data:
        note = "the pipeline block is for DeepSpeed's pipeline engine"
        config.derive("parallelism.pipeline_engine", "deepspeed", note, "pipeline")
        if isinstance(stages, int):
            pipeline.put("parallelism.pipeline_parallel_size", "stages", integer)
    leaf = "parallelism.tensor_parallel_size"
    config.put(leaf, "tensor_parallel.tp.tp_size", integer)
    # Megatron-DeepSpeed, which has all kinds of parallelism, builds its optimizer in
    # code and knows no "auto": such a file speaks for DeepSpeed alone.
    words = (value for value in config.data.values() if isinstance(value, str))
    is_alone = "optimizer" in config or "auto" in words
    if is_alone and not pipeline.data:
        add_defaults(sheet, _NO_MODEL_PARALLELISM)


def _telemetry(config: Config) -> None:
    sinks = [name for name in _SINKS if config.get(f"{name}.enabled") is True]
    if sinks:
        leaf, note = "telemetry.sinks", "monitors that are enabled"
        at = config.at(f"{sinks[0]}.enabled")
        weak_default(config.sheet, leaf, tuple(sinks), note, at)
    key = "steps_per_print"
    if isinstance(config.get(key), int):
        note = f"samples per second are printed every {key}"
        config.turn("telemetry.throughput", note, key)


def _bucket_bytes(config: Config, stage: int) -> None:
    # An element of the model has 2 bytes with bf16 or fp16, 4 without.
    half = [config.get(f"{name}.enabled", False) for name in ("bf16", "fp16")]
    size = 2 if True in half else 4 if half == [False, False] else None
    for name, leaf, stages in _BUCKETS:
        key = f"zero_optimization.{name}"
        if stage not in stages or config.get(key) is None:
            continue
        elements = config.whole(key, integer)
        if elements is None:
            config.put(leaf, key, integer)
        elif size is None:
            reason = f"{elements:,} elements of a dtype that is not known"
            config.unusable(leaf, reason, key)
        else:
            note = f"{elements:,} elements x {size} B"
            config.derive(leaf, elements * size, note, key)


READER = Reader(
    _FORMAT,
    "engine",
    detect,
    read,
    keys=(*sorted(_OWN_KEYS), "bf16", "fp16", "zero_optimization"),
)
