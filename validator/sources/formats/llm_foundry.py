"""LLM Foundry's YAML file, alone or below `parameters` of a MosaicML run.

Loaded by OmegaConf, which reads `1e-5` as a number. Keys and defaults:
schemas/catalogues/frameworks/llm-foundry.yaml. Sources: mosaicml/llm-foundry v0.21.0
llmfoundry/command_utils/train.py, utils/config_utils.py and
models/mpt/configuration_mpt.py; mosaicml/composer composer/trainer/trainer.py,
core/time.py (Time.from_timestring, TimeUnit), composer/distributed,
callbacks/checkpoint_saver.py.
"""

from collections.abc import Mapping
from typing import Literal, cast

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.document import Document, SectionDocument
from speccheck.validator.sources.formats._config import Config, defaults_of
from speccheck.validator.sources.formats._huggingface import (
    DTYPES,
    SHARDING_STAGES,
    attention,
)
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer,
    lower_text,
    negation,
    number,
    one_of,
    placeholder,
    put,
    section,
    tabulated_defaults,
    text,
    weak_default,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_Unit = Literal["ba", "ep", "tok", "sp", "dur", "sec", "iter"]
_TIME = lazy_pattern(
    r"\s*(\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*(ba|ep|tok|sp|dur|sec|iter)\s*$"
)
_Settings = Mapping[str, object]
_PRECISIONS = {
    "fp32": "fp32",
    "amp_bf16": "bf16",
    "amp_fp16": "fp16",
    "amp_fp8": "bf16",
}
_GATED = frozenset({"mptglu", "mptgeglu"})
_PLAIN = frozenset({"mptmlp"})
_SECOND_VERSION = ("device_mesh", "reshard_after_forward")  # FSDP2
_HOUR = 3600.0
_COMMON = fixed_defaults(
    "LLM Foundry has no other way",
    {
        "run.uses_torch": True,
        "batch.mode": "fixed",
        # a share is cut into parts of at most device_train_microbatch_size:
        # calculate_batch_size_info in llmfoundry/utils/config_utils.py
        "batch.uneven_micro_batches": True,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "data.resumable": True,
    },
)
_UNSET = fixed_defaults(
    "not set",
    {
        "parallelism.ulysses_size": 1,
        "memory.recompute_mode": "none",
        "memory.activation_offload": False,
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "checkpoint.format": "full",
        "kernels.compiled": False,
        "telemetry.sinks": (),
    },
)
_LAST_LOCAL = "save_num_checkpoints_to_keep"
_FORMAT = "llm-foundry"
_WRAPPER = "parameters"
_COMPANIONS = frozenset(
    {
        "callbacks",
        "device_eval_batch_size",
        "device_train_microbatch_size",
        "eval_interval",
        "eval_loader",
        "fsdp_config",
        "global_train_batch_size",
        "scheduler",
        "tokenizer",
    }
)
# OLMo's file shares the spellings of composer; it has no `train_loader`.
_OF_OLMO = frozenset(
    {
        "distributed_strategy",
        "evaluators",
        "fsdp",
        "save_interval_ephemeral",
        "save_interval_unsharded",
    }
)
_OF_EVALUATION = frozenset({"eval_gauntlet", "eval_loader", "icl_tasks"})
_FEWEST = 2
_FEWEST_WITHOUT_LENGTH = 3  # the command line may state `max_duration`
_SURE_ENOUGH = 0.5
_WRAPPED = 0.97  # surer than the reader of the wrapper


def _micro_batch(value: object) -> object:
    """Return the samples of a device at once; composer may search for them."""
    if value == "auto":
        return Unusable("auto: composer searches it at run time")
    return integer(value)


def _kept(value: object) -> object:
    """Return a number of checkpoints; -1 keeps all."""
    count = integer(value)
    return 0 if count == -1 else count


_ATTENTION = one_of(
    {"flash": "flash", "triton": "flash", "torch": "eager", "flex": "flex"}
)
_STATE_DICT = one_of({"full": "full", "sharded": "sharded", "local": "local"})
_CPU = one_of({"true": "cpu", "false": "none"})
_FLASH = one_of({"true": "flash", "false": "eager"})
_RECOMPUTE = one_of({"true": "full", "false": "none"})
_FIELDS: Fields = {
    "global_train_batch_size": ("batch.global_batch_size", integer),
    "device_train_microbatch_size": ("batch.micro_batch_size", _micro_batch),
    "max_seq_len": ("batch.sequence_length", integer),
    "seed": ("run.seed", integer),
    "dist_timeout": ("communication.timeout_seconds", number),
    "save_num_checkpoints_to_keep": ("checkpoint.keep_last", _kept),
    "save_weights_only": ("checkpoint.save_optimizer", negation),
    "autoresume": ("checkpoint.resume", boolean),
    "tp_config": {
        "tensor_parallel_degree": ("parallelism.tensor_parallel_size", integer)
    },
    "fsdp_config": {
        "activation_checkpointing": ("memory.recompute_mode", _RECOMPUTE),
        "activation_cpu_offload": ("memory.activation_offload", boolean),
        "cpu_offload": ("memory.parameter_offload_device", _CPU),
        "data_parallel_shard_degree": ("parallelism.shard_size", integer),
        "data_parallel_replicate_degree": ("parallelism.replicate_size", integer),
        "state_dict_type": ("checkpoint.format", _STATE_DICT),
    },
    "optimizer": {
        "name": ("optimizer.name_of_optimizer", lower_text),
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "fused": ("kernels.fused_optimizer", boolean),
    },
    "scheduler": {"name": ("optimizer.schedule", lower_text)},
    "train_loader": {
        "num_workers": ("data.workers", integer),
        "pin_memory": ("data.pin_memory", boolean),
        "prefetch_factor": ("data.prefetch_factor", integer),
        "persistent_workers": ("data.persistent_workers", boolean),
        "drop_last": ("data.drop_last", boolean),
        "dataset": {"shuffle_seed": ("data.seed", integer)},
    },
    "model": {
        "pretrained_model_name_or_path": ("model.name_of_model", text),
        "d_model": ("model.hidden_size", integer),
        "n_layers": ("model.layers", integer),
        "n_heads": ("model.attention_heads", integer),
        "head_dim": ("model.head_dimension", integer),
        "vocab_size": ("model.vocabulary_size", integer),
        "max_seq_len": ("model.maximum_positions", integer),
        "tie_word_embeddings": ("model.tied_embeddings", boolean),
        "trust_remote_code": ("security.trusts_remote_code", boolean),
        "use_flash_attention_2": ("kernels.attention_backend", _FLASH),
        "attn_implementation": ("kernels.attention_backend", attention),
        "attn_config": {
            "attn_impl": ("kernels.attention_backend", _ATTENTION),
            "kv_n_heads": ("model.key_value_heads", integer),
            "seq_parallel_world_size": ("parallelism.ulysses_size", integer),
        },
        "config_overrides": {
            "attn_config": {"attn_impl": ("kernels.attention_backend", _ATTENTION)}
        },
        "ffn_config": {
            "ffn_hidden_size": ("model.feed_forward_size", integer),
            "moe_num_experts": ("model.experts", integer),
            "moe_top_k": ("model.experts_per_token", integer),
        },
    },
}
_DEFAULTS = defaults_of(
    _FIELDS, "dist_timeout", "save_weights_only", "save_num_checkpoints_to_keep"
)


# Models of other trainers that build on Composer (mosaicml/examples).
_OF_OTHER_TRAINERS = ("hf_bert", "mosaic_bert")


def detect(document: Document) -> float:
    """Recognise it by keys of training or evaluation, here or below `parameters`."""
    data = section(document.data)
    if _likeness(section(data, _WRAPPER)) > _SURE_ENOUGH:
        return _WRAPPED
    return _likeness(data)


def _likeness(data: object) -> float:
    keys = section(data).keys()
    model = section(data, "model").get("name")
    if not _OF_OLMO.isdisjoint(keys) or model in _OF_OTHER_TRAINERS:
        return 0.0
    companions = len(_COMPANIONS.intersection(keys))
    if {"max_duration", "train_loader"} <= keys:
        return min(0.98, 0.6 + 0.07 * companions) if companions >= _FEWEST else 0.4
    if "train_loader" in keys and companions >= _FEWEST_WITHOUT_LENGTH:
        return 0.6 + 0.05 * companions
    if {"models", "device_eval_batch_size"} <= keys:
        return 0.3 if _OF_EVALUATION.isdisjoint(keys) else 0.85
    return 0.0


def read(document: Document) -> Reading:
    """Return what the file states, and LLM Foundry's defaults for what it does not."""
    data = section(document.data)
    if _WRAPPER not in data or _likeness(data):
        return _read(document)
    # MosaicML hands the part to the command as a file of its own: what it refers to
    # lies in it.
    from speccheck.validator.sources.composition import (  # noqa: PLC0415 - seldom
        compose,
    )
    from speccheck.validator.sources.formats.mosaic_mcli import (  # noqa: PLC0415 - seldom
        add_run,
    )

    part = compose(SectionDocument(document, (_WRAPPER,)), READER).document
    return add_run(document, _read(part))


def _read(document: Document) -> Reading:
    sheet = FactSheet.of(document)
    data = section(document.data)
    if "models" in data:
        return _read_evaluation(sheet)
    apply(sheet, data, _FIELDS)
    config = Config(sheet, data)
    config.put_betas("optimizer.betas")
    _state_job(config)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _read_evaluation(sheet: FactSheet) -> Reading:
    """Return the evaluation, which trains nothing; its keys are another command's."""
    note = "models and device_eval_batch_size: an evaluation"
    sheet.derive("run.framework", _FORMAT, note, ("models",))
    return Reading(sheet)


class ComposerTime(Record):
    """A length of time as Composer writes it.

    Attributes:
        amount: how many of the unit.
        unit: batches, epochs, tokens, samples, seconds, or shares of the run.
        text: as it is written.
    """

    amount: float
    unit: _Unit
    text: str


class _Step(Record):
    """What one optimizer step takes; None where the file does not say it."""

    samples: int | None = None
    tokens: int | None = None


def composer_time(value: object) -> ComposerTime | Unusable:
    """Return the time that a value writes; a bare number counts epochs."""
    if isinstance(value, int) and not isinstance(value, bool):
        return ComposerTime(float(value), "ep", f"{value}")
    if not isinstance(value, str):
        return Unusable(f"{value!r:.60} is no time")
    match = _TIME.match(value.lower())
    if match is None:
        return placeholder(value) or Unusable(f"{value!r:.60} is no time")
    return ComposerTime(float(match[1]), cast("_Unit", match[2]), value.strip())


def _steps_of(time: ComposerTime, step: _Step, run: int | None) -> int | None:
    """Return the optimizer steps in a time; None where they are not known.

    Args:
        time: in any unit.
        step: what a step takes.
        run: steps of the run, for a share of it.
    """
    if time.unit == "ba":
        return int(time.amount)
    if time.unit == "sp" and step.samples:
        return max(1, int(time.amount) // step.samples)
    if time.unit == "tok" and step.tokens:
        return max(1, int(time.amount) // step.tokens)
    if time.unit == "dur" and run:
        return max(1, int(time.amount * run))
    return None


def _sharding(config: Config) -> None:
    block = config.section("fsdp_config")
    leaf, engine = "parallelism.sharding_stage", "parallelism.engine"
    if "tp_config" not in config:
        note = "tp_config is not set"
        config.default("parallelism.tensor_parallel_size", 1, note)
    if not isinstance(config.get("fsdp_config"), dict):
        config.default(engine, "ddp", "fsdp_config is not set: DDP")
        config.default(leaf, 0, "fsdp_config is not set: DDP")
        return
    second = next((key for key in _SECOND_VERSION if key in block), None)
    if second:
        config.derive(engine, "fsdp2", f"{second}: FSDP2", "fsdp_config")
    else:
        config.derive(engine, "fsdp1", "fsdp_config: FSDP1", "fsdp_config")
    key = "sharding_strategy"
    word = block.get(key)
    if word is None and not second:
        config.default(leaf, 3, f"{key} is not set: FULL_SHARD")
    elif isinstance(word, str) and word.lower() in SHARDING_STAGES:
        block.derive(leaf, SHARDING_STAGES[word.lower()], word, key)
    key = "cpu_offload"
    if block.switch(key) is True:
        block.derive("memory.optimizer_offload_device", "cpu", key, key)


def _precision(config: Config) -> None:
    """State the number formats; FSDP reduces gradients in a dtype of its own.

    DEFAULT was the half precision in older releases of composer and fp32 in newer ones
    (composer/distributed/shared_utils.py, get_mixed_precision).
    """
    leaf, key = "precision.compute_dtype", "precision"
    stated = config.get(key)
    if stated is None:
        return
    dtype = _PRECISIONS.get(stated.lower()) if isinstance(stated, str) else None
    if dtype is None:
        reason = f"{stated!r:.60} is none of {', '.join(_PRECISIONS)}"
        config.unusable(leaf, reason, key)
        return
    note = str(stated)
    config.derive(leaf, dtype, note, key)
    config.turn_halves(dtype, note, key)
    config.turn("precision.fp8", note, key, is_on=note.lower() == "amp_fp8")
    leaf, key = "precision.gradient_reduce_dtype", "fsdp_config.mixed_precision"
    mode = config.get(key)
    if isinstance(mode, dict):
        reduced = DTYPES.get(str(mode.get("reduce_dtype")))
        if reduced is not None:
            config.derive(leaf, reduced, "reduce_dtype", f"{key}.reduce_dtype")
    elif isinstance(mode, str) and not config.first(
        leaf,
        (mode.upper() == "PURE", dtype, f"PURE: as precision, {dtype}", key),
        (mode.upper() == "FULL", "fp32", "FULL", key),
    ):
        config.unusable(leaf, f"{mode}: releases of composer differ", key)


def _model(model: Config) -> None:
    """State the adapter of any model, and the dimensions of MPT."""
    leaf, key = "model.adapter", "peft_config.peft_type"
    peft = model.get(key)
    if isinstance(peft, str):
        model.state(leaf, peft.lower(), key)
    else:
        model.default(leaf, "none", "no peft_config: all weights are trained")
    leaf, key = "precision.parameter_dtype", "master_weights_dtype"
    weights = DTYPES.get(str(model.get(key)))
    if weights is not None:
        model.derive(leaf, weights, key, key)
    name = "mpt_causal_lm"
    if model.get("name") != name:
        return
    model.derive("model.name_of_model", "mpt", name, "name")
    model.derive("model.family", "transformer", name, "name")
    note = "MPT's default"
    if weights is None:
        model.default(leaf, "fp32", f"{note}: weights in fp32")
    add_defaults(model.sheet, fixed_defaults(note, {"model.tied_embeddings": True}))
    kind = model.get("ffn_config.ffn_type", "mptmlp")
    if isinstance(kind, str) and kind in _PLAIN | _GATED:
        model.default("model.gated_feed_forward", kind in _GATED, f"ffn_type {kind}")
    leaf = "model.feed_forward_size"
    width, ratio = model.whole("d_model", integer), model.number("expansion_ratio")
    is_stated = any(fact.name == leaf for fact in model.sheet.facts)
    if not is_stated and width is not None and ratio is not None:
        note = f"{ratio:g} x {width:,}"
        model.derive(leaf, int(ratio * width), note, "expansion_ratio")
    # Without groups each head has keys and values of its own.
    heads, plain = model.whole("n_heads", integer), "multihead_attention"
    is_plain = model.get("attn_config.attn_type", plain) == plain
    if heads is not None and is_plain and model.get("attn_config.kv_n_heads") is None:
        model.default("model.key_value_heads", heads, plain)


def _state_job(config: Config) -> None:
    """State what follows from several settings, after the fields."""
    note = "train_loader beside max_duration"
    config.derive("run.framework", "llm-foundry", note, "train_loader")
    if "variables" in config:
        # TrainConfig has the key since then; older ones warned of it.
        leaf, note = "run.framework_version", "variables is a key since 0.9.0"
        release = "llm-foundry 0.9.0+"
        weak_default(config.sheet, leaf, release, note, ("variables",))
    samples = config.whole("global_train_batch_size", integer)
    length = config.whole("max_seq_len", integer)
    tokens = samples * length if samples is not None and length is not None else None
    step = _Step(samples, tokens)
    steps = _length(config, step)
    _checkpoint(config, step, steps)
    _schedule(config, step, steps)
    _sharding(config)
    _precision(config)
    _model(config.section("model"))
    _role(config)
    _telemetry(config, step, steps)
    _memory(config)
    add_defaults(config.sheet, _COMMON)
    add_defaults(config.sheet, _UNSET)


def _length(config: Config, step: _Step) -> int | None:
    """State the length of the run, and return its steps where they are known."""
    leaf, key = "run.steps", "max_duration"
    if config.get(key) is None:
        return None
    time = composer_time(config.get(key))
    if isinstance(time, Unusable):
        config.unusable(leaf, time.reason, key)
        return None
    if time.unit == "ep":
        config.derive("run.epochs", time.amount, time.text, key)
    elif time.unit == "sec":
        config.derive("run.hours", time.amount / _HOUR, time.text, key)
    steps = _steps_of(time, step, None)
    if steps is None:
        config.unusable(leaf, f"{time.text}: the steps are not known", key)
    else:
        config.derive(leaf, steps, _in_steps(time, step), key)
    return steps


def _in_steps(time: ComposerTime, step: _Step) -> str:
    """Return the arithmetic from a time to steps."""
    if time.unit == "tok":
        return f"{time.text} / {step.tokens:,} tokens of a step"
    if time.unit == "sp":
        return f"{time.text} / {step.samples:,} samples of a step"
    return time.text


def _checkpoint(config: Config, step: _Step, steps: int | None) -> None:
    """State what is saved; without `save_folder` nothing is, at no interval."""
    key, leaf = "save_folder", "checkpoint.enabled"
    folder = config.get(key)
    if folder is None:
        _without_folder(config)
        return
    config.turn(leaf, "save_folder is set", key)
    if isinstance(folder, str):
        config.state("checkpoint.directory", folder, key)
        if "://" in folder and config.get(_LAST_LOCAL) not in (None, -1):
            # Only local files are removed: those of an object store stay.
            note = "only local copies are removed; those of save_folder stay"
            config.drop("checkpoint.keep_last")
            config.derive("checkpoint.keep_last", 0, note, _LAST_LOCAL)
        # A `load_path` among the run's own files goes on from them without autoresume.
        path = config.get("load_path")
        is_own = isinstance(path, str) and path.startswith(f"{folder.rstrip('/')}/")
        if is_own and boolean(config.get("load_weights_only", False)) is False:
            config.drop("checkpoint.resume")
            note = "load_path lies in save_folder"
            config.turn("checkpoint.resume", note, "load_path")
    if config.get("save_interval") is None:
        note = "save_interval is not set: 1000ba"
        config.default("checkpoint.interval_steps", 1000, note)
        config.default("checkpoint.interval_unit", "steps", note)
    else:
        _interval(config, composer_time(config.get("save_interval")), step, steps)


def _without_folder(config: Config) -> None:
    leaf, callback = "checkpoint.enabled", "callbacks.hf_checkpointer"
    if config.section(callback).data:
        note = "hf_checkpointer writes the weights alone"
        config.turn(leaf, note, callback)
        config.turn("checkpoint.save_optimizer", note, callback, is_on=False)
    elif "save_folder" in config:
        config.turn(leaf, "save_folder: null", "save_folder", is_on=False)
    else:
        note = "save_folder is not set: composer saves nothing"
        config.default(leaf, value=False, note=note)


def _interval(
    config: Config, time: ComposerTime | Unusable, step: _Step, steps: int | None
) -> None:
    key = "save_interval"
    leaf, unit = "checkpoint.interval_steps", "checkpoint.interval_unit"
    if isinstance(time, Unusable):
        config.unusable(leaf, time.reason, key)
    elif time.unit == "sec":
        config.derive("checkpoint.interval_seconds", time.amount, time.text, key)
        config.derive(unit, "seconds", time.text, key)
    elif time.unit == "ep":
        config.derive(unit, "epoch", time.text, key)
        reason = f"{time.text}: the steps of an epoch are not known"
        config.unusable(leaf, reason, key)
    elif (result := _steps_of(time, step, steps)) is None:
        config.unusable(leaf, f"{time.text}: the steps are not known", key)
    else:
        config.derive(leaf, result, _in_steps(time, step), key)
        config.derive(unit, "steps", time.text, key)


def _schedule(config: Config, step: _Step, steps: int | None) -> None:
    leaf, key = "optimizer.warmup_steps", "scheduler.t_warmup"
    if config.get(key) is not None:
        time = composer_time(config.get(key))
        if isinstance(time, Unusable):
            config.unusable(leaf, time.reason, key)
        elif time.unit == "dur":
            config.derive("optimizer.warmup_ratio", time.amount, time.text, key)
        elif (result := _steps_of(time, step, steps)) is not None:
            config.derive(leaf, result, _in_steps(time, step), key)
    config.scale_rate("optimizer.lr", "scheduler.alpha_f")
    clip = "algorithms.gradient_clipping"
    if config.get(f"{clip}.clipping_type") == "norm":
        key = f"{clip}.clipping_threshold"
        put(
            config.sheet, "optimizer.clip_norm", number(config.get(key)), config.at(key)
        )


def _role(config: Config) -> None:
    """State the role by the loader, and by whether there are weights to begin with."""
    leaf, loader = "run.role", config.get("train_loader.name")
    has_adapter = config.section("model.peft_config").data
    is_plain = loader == "text"
    is_pretrained = is_plain and config.switch("model.pretrained") is True
    data, weights = "the loader of fine-tuning data", "pretrained weights on plain text"
    if not config.first(
        leaf,
        (has_adapter, "lora", "peft_config", "model.peft_config"),
        (loader == "finetuning", "sft", data, "train_loader.name"),
        (is_pretrained, "continued", weights, "model.pretrained"),
    ) and (is_plain and config.get("load_path") is None):
        config.default(leaf, "pretrain", "plain text and new weights")


def _telemetry(config: Config, step: _Step, steps: int | None) -> None:
    leaf, key = "telemetry.log_interval_steps", "console_log_interval"
    stated = config.get(key)
    if stated is None:
        config.default(leaf, 1, f"{key} is not set: 1ba")
    else:
        time = composer_time(stated)
        result = None if isinstance(time, Unusable) else _steps_of(time, step, steps)
        if result is not None:
            config.derive(leaf, result, str(stated), key)
    loggers = config.section("loggers").data
    if loggers:
        names = tuple(str(name) for name in loggers)
        config.derive("telemetry.sinks", names, "keys of loggers", "loggers")
    key = "callbacks.speed_monitor"
    if key in config:
        config.turn("telemetry.throughput", "speed_monitor", key)
    for key, leaf in (
        ("profiler", "telemetry.profiler"),
        ("compile_config", "kernels.compiled"),
        ("train_loader.dataset.packing_ratio", "batch.packing"),
    ):
        if config.get(key) is not None:
            config.turn(leaf, f"{key.rpartition('.')[2]} is set", key)


def _memory(config: Config) -> None:
    """State the allocator's settings, as train.py joins them."""
    parts: dict[str, str] = {}
    if (size := config.get("max_split_size_mb")) is not None:
        parts["max_split_size_mb"] = f"max_split_size_mb:{size}"
    if config.switch("expandable_segments") is True:
        parts["expandable_segments"] = "expandable_segments:True"
    if parts:
        note = "put into PYTORCH_CUDA_ALLOC_CONF"
        leaf = "memory.allocator_configuration"
        config.derive(leaf, ",".join(parts.values()), note, *parts)


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("train_loader", "device_eval_batch_size", _WRAPPER),
    interpolates=True,
)
