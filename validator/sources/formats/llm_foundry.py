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
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.convert import (
    Unusable,
    boolean,
    integer,
    lower_text,
    negation,
    number,
    one_of,
    placeholder,
    text,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.documents.section_document import SectionDocument
from speccheck.validator.sources.facts import FactSheet
from speccheck.validator.sources.formats._huggingface import (
    DTYPES,
    SHARDING_STAGES,
    attention,
)
from speccheck.validator.sources.keyed import keyed_file
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    add_defaults,
    apply,
    derive_switch,
    fixed_defaults,
    put,
    put_numbers,
    section,
    tabulated_defaults,
    weak_default,
)
from speccheck.validator.sources.reader import Reader, Reading

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
_SURE_ENOUGH = 0.5
_WRAPPED = 0.97  # surer than the reader of the wrapper


def _micro_batch(value: object) -> object:
    """Samples of a device at once; composer may search for them."""
    if value == "auto":
        return Unusable("auto: composer searches it at run time")
    return integer(value)


def _kept(value: object) -> object:
    """A number of checkpoints; -1 keeps all."""
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
_DEFAULTS = (
    TabulatedDefault("dist_timeout", "communication.timeout_seconds", number),
    TabulatedDefault("save_weights_only", "checkpoint.save_optimizer", negation),
    TabulatedDefault("save_num_checkpoints_to_keep", "checkpoint.keep_last", _kept),
)


def detect(document: Document) -> float:
    """By the keys of training or evaluation, here or below `parameters`."""
    data = section(document.data)
    if _likeness(section(data, _WRAPPER)) > _SURE_ENOUGH:
        return _WRAPPED
    return _likeness(data)


def _likeness(data: object) -> float:
    keys = section(data).keys()
    if not _OF_OLMO.isdisjoint(keys):
        return 0.0
    companions = len(_COMPANIONS.intersection(keys))
    if {"max_duration", "train_loader"} <= keys:
        return min(0.98, 0.6 + 0.07 * companions) if companions >= _FEWEST else 0.4
    if {"models", "device_eval_batch_size"} <= keys:
        return 0.3 if _OF_EVALUATION.isdisjoint(keys) else 0.85
    return 0.0


def read(document: Document) -> Reading:
    """What the file states, and what LLM Foundry does where it states nothing."""
    data = section(document.data)
    if _WRAPPER not in data or _likeness(data):
        return _read(document)
    # MosaicML hands the part to the command as a file of its own: what it refers to
    # lies in it.
    from speccheck.validator.sources.composing.composition import (  # noqa: PLC0415 - dear
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
    betas = section(data, "optimizer").get("betas")
    names = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, names, betas, ("optimizer", "betas"))
    _state_job(sheet, data)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _read_evaluation(sheet: FactSheet) -> Reading:
    """An evaluation trains nothing, and its keys are those of another command."""
    note = "models and device_eval_batch_size: an evaluation"
    sheet.derive("run.framework", _FORMAT, note, ("models",))
    return Reading(sheet)


class ComposerTime(Record):
    """An amount of batches, epochs, tokens, samples, seconds, or a share of the run."""

    amount: float
    unit: _Unit
    text: str


class Step(Record):
    """What one optimizer step takes; None where the file does not say it."""

    samples: int | None = None
    tokens: int | None = None


def composer_time(value: object) -> ComposerTime | Unusable:
    """The time that a value writes; a bare number counts epochs."""
    if isinstance(value, int) and not isinstance(value, bool):
        return ComposerTime(float(value), "ep", f"{value}")
    if not isinstance(value, str):
        return Unusable(f"{value!r:.60} is no time")
    found = _TIME.match(value.lower())
    if found is None:
        return placeholder(value) or Unusable(f"{value!r:.60} is no time")
    return ComposerTime(float(found[1]), cast("_Unit", found[2]), value.strip())


def _steps_of(time: ComposerTime, step: Step, run: int | None) -> int | None:
    """The optimizer steps in a time; None where they cannot be told.

    Args:
        time: one that is counted in anything.
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


def _state_engine(sheet: FactSheet, data: _Settings) -> None:
    """State the sharding and the number formats."""
    _sharding(sheet, data)
    _precision(sheet, data)


def _sharding(sheet: FactSheet, data: _Settings) -> None:
    block = data.get("fsdp_config")
    if "tp_config" not in data:
        note = "tp_config is not set"
        sheet.default("parallelism.tensor_parallel_size", 1, note)
    if not isinstance(block, dict):
        note = "fsdp_config is not set: DDP"
        sheet.default("parallelism.engine", "ddp", note)
        sheet.default("parallelism.sharding_stage", 0, note)
        return
    at: KeyPath = ("fsdp_config",)
    second = next((key for key in _SECOND_VERSION if key in block), None)
    note = f"{second}: FSDP2" if second else "fsdp_config: FSDP1"
    engine = "fsdp2" if second else "fsdp1"
    sheet.derive("parallelism.engine", engine, note, at)
    leaf = "parallelism.sharding_stage"
    word = block.get("sharding_strategy")
    if word is None and not second:
        sheet.default(leaf, 3, "sharding_strategy is not set: FULL_SHARD")
    elif isinstance(word, str) and word.lower() in SHARDING_STAGES:
        stage = SHARDING_STAGES[word.lower()]
        sheet.derive(leaf, stage, word, (*at, "sharding_strategy"))
    if boolean(block.get("cpu_offload")) is True:
        place = (*at, "cpu_offload")
        sheet.derive("memory.optimizer_offload_device", "cpu", "cpu_offload", place)


def _precision(sheet: FactSheet, data: _Settings) -> None:
    stated = data.get("precision")
    at: KeyPath = ("precision",)
    if stated is None:
        return
    dtype = _PRECISIONS.get(stated.lower()) if isinstance(stated, str) else None
    if dtype is None:
        reason = f"{stated!r:.60} is none of {', '.join(_PRECISIONS)}"
        sheet.unusable("precision.compute_dtype", reason, at)
        return
    note = str(stated)
    sheet.derive("precision.compute_dtype", dtype, note, at)
    for name in ("bf16", "fp16"):
        derive_switch(sheet, f"precision.{name}", note, at, is_on=name == dtype)
    is_fp8 = note.lower() == "amp_fp8"
    derive_switch(sheet, "precision.fp8", note, at, is_on=is_fp8)
    _reduction(sheet, section(data, "fsdp_config").get("mixed_precision"), dtype)


def _reduction(sheet: FactSheet, stated: object, dtype: str) -> None:
    """The dtype in which FSDP reduces gradients.

    DEFAULT was the half precision in older releases of composer and fp32 in newer ones
    (composer/distributed/shared_utils.py, get_mixed_precision).
    """
    leaf = "precision.gradient_reduce_dtype"
    at: KeyPath = ("fsdp_config", "mixed_precision")
    if isinstance(stated, dict):
        reduced = DTYPES.get(str(stated.get("reduce_dtype")))
        if reduced is not None:
            sheet.derive(leaf, reduced, "reduce_dtype", (*at, "reduce_dtype"))
    elif isinstance(stated, str) and stated.upper() == "PURE":
        sheet.derive(leaf, dtype, f"PURE: as precision, {dtype}", at)
    elif isinstance(stated, str) and stated.upper() == "FULL":
        sheet.derive(leaf, "fp32", "FULL", at)
    elif isinstance(stated, str):
        sheet.unusable(leaf, f"{stated}: releases of composer differ", at)


def _state_model(sheet: FactSheet, block: _Settings) -> None:
    """State the adapter of any model, and the dimensions of MPT."""
    at: KeyPath = ("model", "name")
    peft = section(block, "peft_config").get("peft_type")
    if isinstance(peft, str):
        place = ("model", "peft_config", "peft_type")
        sheet.state("model.adapter", peft.lower(), place)
    else:
        note = "no peft_config: all weights are trained"
        sheet.default("model.adapter", "none", note)
    weights = DTYPES.get(str(block.get("master_weights_dtype")))
    leaf = "precision.parameter_dtype"
    if weights is not None:
        key = "master_weights_dtype"
        sheet.derive(leaf, weights, key, ("model", key))
    if block.get("name") != "mpt_causal_lm":
        return
    sheet.derive("model.name_of_model", "mpt", "mpt_causal_lm", at)
    sheet.derive("model.family", "transformer", "mpt_causal_lm", at)
    note = "MPT's default"
    if weights is None:
        sheet.default(leaf, "fp32", f"{note}: weights in fp32")
    add_defaults(sheet, fixed_defaults(note, {"model.tied_embeddings": True}))
    kind = section(block, "ffn_config").get("ffn_type", "mptmlp")
    if isinstance(kind, str) and kind in _PLAIN | _GATED:
        leaf = "model.gated_feed_forward"
        sheet.default(leaf, kind in _GATED, f"ffn_type {kind}")
    _feed_forward(sheet, block)
    _heads(sheet, block)


def _feed_forward(sheet: FactSheet, block: _Settings) -> None:
    leaf = "model.feed_forward_size"
    width, ratio = integer(block.get("d_model")), number(block.get("expansion_ratio"))
    if any(fact.name == leaf for fact in sheet.facts):
        return
    if isinstance(width, int) and isinstance(ratio, float):
        note = f"{ratio:g} x {width:,}"
        at = ("model", "expansion_ratio")
        sheet.derive(leaf, int(ratio * width), note, at)


def _heads(sheet: FactSheet, block: _Settings) -> None:
    """Without groups each head has keys and values of its own."""
    heads, attention = integer(block.get("n_heads")), section(block, "attn_config")
    kind = attention.get("attn_type", "multihead_attention")
    is_plain = kind == "multihead_attention" and attention.get("kv_n_heads") is None
    if isinstance(heads, int) and is_plain:
        sheet.default("model.key_value_heads", heads, str(kind))


def _state_job(sheet: FactSheet, data: _Settings) -> None:
    """State what follows from several settings, after the fields."""
    note = "train_loader beside max_duration"
    sheet.derive("run.framework", "llm-foundry", note, ("train_loader",))
    if "variables" in data:
        # TrainConfig has the key since then; older ones warned of it.
        leaf, note = "run.framework_version", "variables is a key since 0.9.0"
        weak_default(sheet, leaf, "llm-foundry 0.9.0+", note, ("variables",))
    step = _step(data)
    steps = _length(sheet, data, step)
    _checkpoint(sheet, data, step, steps)
    _schedule(sheet, data, step, steps)
    _state_engine(sheet, data)
    _state_model(sheet, section(data, "model"))
    _role(sheet, data)
    _telemetry(sheet, data, step, steps)
    _memory(sheet, data)
    add_defaults(sheet, _COMMON)
    add_defaults(sheet, _UNSET)


def _step(data: _Settings) -> Step:
    samples = integer(data.get("global_train_batch_size"))
    length = integer(data.get("max_seq_len"))
    if not isinstance(samples, int):
        return Step()
    return Step(samples, samples * length if isinstance(length, int) else None)


def _length(sheet: FactSheet, data: _Settings, step: Step) -> int | None:
    """The steps of the run, where they can be told."""
    if data.get("max_duration") is None:
        return None
    at: KeyPath = ("max_duration",)
    time = composer_time(data["max_duration"])
    if isinstance(time, Unusable):
        sheet.unusable("run.steps", time.reason, at)
        return None
    if time.unit == "ep":
        sheet.derive("run.epochs", time.amount, time.text, at)
    elif time.unit == "sec":
        sheet.derive("run.hours", time.amount / _HOUR, time.text, at)
    steps = _steps_of(time, step, None)
    if steps is None:
        sheet.unusable("run.steps", f"{time.text}: the steps are not known", at)
    else:
        sheet.derive("run.steps", steps, _in_steps(time, step), at)
    return steps


def _in_steps(time: ComposerTime, step: Step) -> str:
    """The arithmetic from a time to steps."""
    if time.unit == "tok":
        return f"{time.text} / {step.tokens:,} tokens of a step"
    if time.unit == "sp":
        return f"{time.text} / {step.samples:,} samples of a step"
    return time.text


def _checkpoint(
    sheet: FactSheet, data: _Settings, step: Step, steps: int | None
) -> None:
    """Without `save_folder` nothing is saved, whatever the interval."""
    folder, at = data.get("save_folder"), ("save_folder",)
    enabled = "checkpoint.enabled"
    if folder is None:
        _without_folder(sheet, data)
        return
    derive_switch(sheet, enabled, "save_folder is set", at)
    if isinstance(folder, str):
        sheet.state("checkpoint.directory", folder, at)
        kept = data.get(_LAST_LOCAL)
        if "://" in folder and kept is not None and kept != -1:
            _keep_all(sheet)
        _resumes_by_path(sheet, data, folder)
    if data.get("save_interval") is None:
        note = "save_interval is not set: 1000ba"
        sheet.default("checkpoint.interval_steps", 1000, note)
        sheet.default("checkpoint.interval_unit", "steps", note)
    else:
        _interval(sheet, composer_time(data["save_interval"]), step, steps)


def _without_folder(sheet: FactSheet, data: _Settings) -> None:
    enabled = "checkpoint.enabled"
    callback: KeyPath = ("callbacks", "hf_checkpointer")
    if section(data, *map(str, callback)):
        note = "hf_checkpointer writes the weights alone"
        derive_switch(sheet, enabled, note, callback)
        leaf = "checkpoint.save_optimizer"
        derive_switch(sheet, leaf, note, callback, is_on=False)
    elif "save_folder" in data:
        note = "save_folder: null"
        derive_switch(sheet, enabled, note, ("save_folder",), is_on=False)
    else:
        note = "save_folder is not set: composer saves nothing"
        sheet.default(enabled, value=False, note=note)


def _keep_all(sheet: FactSheet) -> None:
    """Only local files are removed: those of an object store stay."""
    note = "only local copies are removed; those of save_folder stay"
    _replace(sheet, "checkpoint.keep_last", note, (_LAST_LOCAL,), value=0)


def _resumes_by_path(sheet: FactSheet, data: _Settings, folder: str) -> None:
    """A `load_path` among the run's own files goes on from them without autoresume."""
    path = data.get("load_path")
    if not isinstance(path, str) or not path.startswith(f"{folder.rstrip('/')}/"):
        return
    if boolean(data.get("load_weights_only", False)) is False:
        note = "load_path lies in save_folder"
        _replace(sheet, "checkpoint.resume", note, ("load_path",), value=True)


def _replace(
    sheet: FactSheet, leaf: str, note: str, at: KeyPath, *, value: object
) -> None:
    sheet.facts[:] = [fact for fact in sheet.facts if fact.name != leaf]
    sheet.derive(leaf, value, note, at)


def _interval(
    sheet: FactSheet, time: ComposerTime | Unusable, step: Step, steps: int | None
) -> None:
    at: KeyPath = ("save_interval",)
    leaf, unit = "checkpoint.interval_steps", "checkpoint.interval_unit"
    if isinstance(time, Unusable):
        sheet.unusable(leaf, time.reason, at)
        return
    if time.unit == "sec":
        sheet.derive("checkpoint.interval_seconds", time.amount, time.text, at)
        sheet.derive(unit, "seconds", time.text, at)
        return
    if time.unit == "ep":
        sheet.derive(unit, "epoch", time.text, at)
        reason = f"{time.text}: the steps of an epoch are not known"
        sheet.unusable(leaf, reason, at)
        return
    found = _steps_of(time, step, steps)
    if found is None:
        sheet.unusable(leaf, f"{time.text}: the steps are not known", at)
    else:
        sheet.derive(leaf, found, _in_steps(time, step), at)
        sheet.derive(unit, "steps", time.text, at)


def _schedule(sheet: FactSheet, data: _Settings, step: Step, steps: int | None) -> None:
    block = section(data, "scheduler")
    at: KeyPath = ("scheduler", "t_warmup")
    if block.get("t_warmup") is not None:
        time = composer_time(block["t_warmup"])
        if isinstance(time, Unusable):
            sheet.unusable("optimizer.warmup_steps", time.reason, at)
        elif time.unit == "dur":
            sheet.derive("optimizer.warmup_ratio", time.amount, time.text, at)
        else:
            found = _steps_of(time, step, steps)
            if found is not None:
                note = _in_steps(time, step)
                sheet.derive("optimizer.warmup_steps", found, note, at)
    rate = number(section(data, "optimizer").get("lr"))
    share = number(block.get("alpha_f"))
    if isinstance(rate, float) and isinstance(share, float):
        place = ("scheduler", "alpha_f")
        note = f"{share:g} x {rate:g}"
        sheet.derive("optimizer.minimum_learning_rate", rate * share, note, place)
    clip = section(data, "algorithms", "gradient_clipping")
    if clip.get("clipping_type") == "norm":
        key = "clipping_threshold"
        threshold = number(clip.get(key))
        at = ("algorithms", "gradient_clipping", key)
        put(sheet, "optimizer.clip_norm", threshold, at)


def _role(sheet: FactSheet, data: _Settings) -> None:
    """By the loader, and by whether there are weights to begin with."""
    leaf, model = "run.role", section(data, "model")
    loader = section(data, "train_loader").get("name")
    if section(model, "peft_config"):
        at: KeyPath = ("model", "peft_config")
        sheet.derive(leaf, "lora", "peft_config", at)
    elif loader == "finetuning":
        at = ("train_loader", "name")
        sheet.derive(leaf, "sft", "the loader of fine-tuning data", at)
    elif loader == "text" and boolean(model.get("pretrained")) is True:
        at = ("model", "pretrained")
        sheet.derive(leaf, "continued", "pretrained weights on plain text", at)
    elif loader == "text" and data.get("load_path") is None:
        sheet.default(leaf, "pretrain", "plain text and new weights")


def _telemetry(
    sheet: FactSheet, data: _Settings, step: Step, steps: int | None
) -> None:
    leaf, at = "telemetry.log_interval_steps", ("console_log_interval",)
    stated = data.get("console_log_interval")
    if stated is None:
        sheet.default(leaf, 1, "console_log_interval is not set: 1ba")
    else:
        time = composer_time(stated)
        found = None if isinstance(time, Unusable) else _steps_of(time, step, steps)
        if found is not None:
            sheet.derive(leaf, found, str(stated), at)
    loggers = section(data, "loggers")
    if loggers:
        names = tuple(str(name) for name in loggers)
        sheet.derive("telemetry.sinks", names, "keys of loggers", ("loggers",))
    if "speed_monitor" in section(data, "callbacks"):
        place = ("callbacks", "speed_monitor")
        derive_switch(sheet, "telemetry.throughput", "speed_monitor", place)
    for key, name in (
        ("profiler", "telemetry.profiler"),
        ("compile_config", "kernels.compiled"),
    ):
        if data.get(key) is not None:
            derive_switch(sheet, name, f"{key} is set", (key,))
    if section(data, "train_loader", "dataset").get("packing_ratio") is not None:
        ratio = ("train_loader", "dataset", "packing_ratio")
        derive_switch(sheet, "batch.packing", "packing_ratio is set", ratio)


def _memory(sheet: FactSheet, data: _Settings) -> None:
    """The allocator's settings, as train.py joins them."""
    parts: list[str] = []
    places: list[KeyPath] = []
    if (size := data.get("max_split_size_mb")) is not None:
        parts.append(f"max_split_size_mb:{size}")
        places.append(("max_split_size_mb",))
    if boolean(data.get("expandable_segments")) is True:
        parts.append("expandable_segments:True")
        places.append(("expandable_segments",))
    if parts:
        note = "put into PYTORCH_CUDA_ALLOC_CONF"
        leaf = "memory.allocator_configuration"
        sheet.derive(leaf, ",".join(parts), note, *places)


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("train_loader", "device_eval_batch_size", _WRAPPER),
    interpolates=True,
)
