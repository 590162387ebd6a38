"""OLMo's YAML file, of its first generation; OLMo-core has Python recipes.

OmegaConf merges the file into dataclasses (olmo/config.py): it refuses unknown keys and
keys that stand twice, and reads `1e-5` and quoted numbers as numbers. Sources:
allenai/OLMo scripts/train.py, olmo/train.py, olmo/config.py, olmo/model.py and
olmo/data/iterable_dataset.py, at 0.2.5 to 59a53e3.
"""

from math import ceil

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import ONE_OF_EACH, Config, defaults_of
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    number,
    one_of,
    parse_number,
    placeholder,
    section,
    tabulated_defaults,
    text,
    texts,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_PRECISIONS = {"amp_bf16": "bf16", "amp_fp16": "fp16", "fp32": "fp32"}
_STAGES = {
    "full_shard": 3,
    "hybrid_shard": 3,
    "shard_grad_op": 2,
    "_hybrid_shard_zero2": 2,
    "no_shard": 0,
}
_HYBRID = frozenset({"hybrid_shard", "_hybrid_shard_zero2"})
_GATED = "swiglu"
# Any other word recomputes a part of the layers.
_RECOMPUTE = {"false": "none", "true": "full", "whole_layer": "full"}
_FORMAT = "olmo"
_TOP_SIGNS = frozenset(
    {
        "device_train_microbatch_size",
        "distributed_strategy",
        "fsdp",
        "save_interval_ephemeral",
        "save_interval_unsharded",
        "save_num_unsharded_checkpoints_to_keep",
        "sharded_checkpointer",
        "canceled_check_interval",
        "max_grad_norm",
        "no_pre_train_checkpoint",
    }
)
_MODEL_SIGNS = frozenset(
    {
        "activation_type",
        "block_type",
        "embedding_size",
        "flash_attention",
        "include_bias",
        "layer_norm_type",
        "max_sequence_length",
        "mlp_hidden_size",
        "rope",
        "weight_tying",
    }
)
_FOREIGN_KEYS = frozenset({"train_loader", "fsdp_config", "max_seq_len"})  # llm-foundry
_FEWEST_SIGNS = 2
# Both call F.scaled_dot_product_attention or its flash kernel (olmo/model.py).
_ATTENTION = one_of({"true": "flash", "false": "sdpa"})


def _kept(value: object) -> object:
    """Return how many are kept; -1 keeps all, which the plan writes as 0."""
    count = integer_text(value)
    return 0 if count == -1 else count


_FIELDS: Fields = {
    "global_train_batch_size": ("batch.global_batch_size", integer_text),
    "device_train_microbatch_size": ("batch.micro_batch_size", integer_text),
    "max_grad_norm": ("optimizer.clip_norm", number),
    "save_folder": ("checkpoint.directory", text),
    "console_log_interval": ("telemetry.log_interval_steps", integer_text),
    "seed": ("run.seed", integer_text),
    "model": {
        "d_model": ("model.hidden_size", integer_text),
        "n_layers": ("model.layers", integer_text),
        "n_heads": ("model.attention_heads", integer_text),
        "n_kv_heads": ("model.key_value_heads", integer_text),
        "weight_tying": ("model.tied_embeddings", boolean),
        "max_sequence_length": ("batch.sequence_length", integer_text),
        "flash_attention": ("kernels.attention_backend", _ATTENTION),
    },
    "optimizer": {
        "name": ("optimizer.name_of_optimizer", lower_text),
        "learning_rate": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
    },
    "scheduler": {"name": ("optimizer.schedule", lower_text)},
    "data": {
        "paths": ("data.paths", texts),
        "num_workers": ("data.workers", integer_text),
        "pin_memory": ("data.pin_memory", boolean),
        "prefetch_factor": ("data.prefetch_factor", integer_text),
        "persistent_workers": ("data.persistent_workers", boolean),
        "drop_last": ("data.drop_last", boolean),
        "seed": ("data.seed", integer_text),
    },
}
_DEFAULTS = (
    TabulatedDefault("restore_dataloader", "data.resumable", boolean),
    TabulatedDefault("console_log_interval", "telemetry.log_interval_steps", _kept),
    *defaults_of(
        _FIELDS,
        "data.num_workers",
        "data.pin_memory",
        "data.persistent_workers",
        "data.drop_last",
        "model.flash_attention",
        "model.weight_tying",
    ),
)
_FIXED = fixed_defaults(
    "OLMo has no other way",
    {
        **ONE_OF_EACH,
        "batch.mode": "fixed",
        # split_batch takes a smaller last micro-batch (olmo/train.py)
        "batch.uneven_micro_batches": True,
        "memory.activation_offload": False,
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "checkpoint.asynchronous": False,
        "checkpoint.interval_unit": "steps",
        "checkpoint.save_optimizer": True,
        "telemetry.throughput": True,
        "model.family": "transformer",
        "model.adapter": "none",
        "run.uses_torch": True,
    },
)


def detect(document: Document) -> float:
    """Recognise the format by two of OLMo's settings at the top and two of its model's.

    Keys such as `max_duration` and `global_train_batch_size` are those of llm-foundry
    too, whose own ones exclude OLMo.
    """
    data = section(document.data)
    if not _FOREIGN_KEYS.isdisjoint(data):
        return 0.0
    top = len(_TOP_SIGNS.intersection(data))
    model = len(_MODEL_SIGNS.intersection(section(data, "model")))
    if top < _FEWEST_SIGNS or model < _FEWEST_SIGNS:
        return 0.0
    return min(0.99, 0.75 + 0.04 * (top + model))


def read(document: Document) -> Reading:
    """Return what the file states, and what OLMo does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    sheet.derive("run.framework", "olmo", "OLMo's settings", ())
    _state_job(Config(sheet, data))
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
    add_defaults(sheet, _FIXED)
    catalogue = keys_of_format(_FORMAT)
    return Reading(
        sheet, keyed_file(document, _FORMAT, catalogue, refuses_duplicates=True)
    )


def _state_job(config: Config) -> None:
    """State what follows from several settings, after the fields."""
    _sharding(config)
    _precision(config)
    _recompute(config)
    _model(config.section("model"))
    _optimizer(config)
    _length(config)
    _checkpoints(config)
    _start(config)
    _telemetry(config)
    _workers(config.section("data"))


def _workers(data: Config) -> None:
    """State the workers; without any OLMo hands the loader neither setting."""
    if data.whole("num_workers") == 0:
        data.drop("data.prefetch_factor", "data.persistent_workers")


def _sharding(config: Config) -> None:
    """State that FSDP shards fully unless set otherwise; up to 0.3 always."""
    stage, engine = "parallelism.sharding_stage", "parallelism.engine"
    key = "distributed_strategy"
    strategy = lower_text(config.get(key) or "fsdp")
    if isinstance(strategy, Unusable):
        config.unusable(engine, strategy.reason, key)
    elif strategy in {"ddp", "single"}:
        config.derive(stage, 0, f"{strategy} shards nothing", key)
        if strategy == "ddp":
            config.derive(engine, "ddp", f"{key}: ddp", key)
            _sync(config)
    elif strategy == "fsdp":
        if config.get(key) is None:
            config.default(engine, "fsdp1", f"{key} is not set")
        else:
            config.derive(engine, "fsdp1", f"{key}: fsdp", key)
        _fsdp(config)


def _sync(config: Config) -> None:
    """State that DDP reduces with a step's last micro-batch unless set otherwise."""
    leaf, key = "communication.reduces_each_micro_batch", "ddp.grad_sync_mode"
    config.put(leaf, key, one_of({"batch": False, "micro_batch": True}))
    if config.get(key) is None:
        config.default(leaf, value=False, note=f"{key} is not set: batch")


def _fsdp(config: Config) -> None:
    stage, key = "parallelism.sharding_stage", "fsdp.sharding_strategy"
    stated = config.get(key)
    if stated is None:
        config.default(stage, 3, f"{key} is not set: FULL_SHARD")
        return
    word = lower_text(stated)
    if isinstance(word, Unusable):
        config.unusable(stage, word.reason, key)
        return
    name = str(word).removeprefix("shardingstrategy.")
    if name not in _STAGES:
        config.unusable(stage, f"{stated!r:.60} is no sharding strategy", key)
        return
    config.state(stage, _STAGES[name], key)
    # The key is read for hybrid strategies alone (scripts/train.py).
    if name in _HYBRID:
        replicas = "fsdp.hybrid_sharding_num_model_replicas"
        config.put("parallelism.replicate_size", replicas, integer_text)


def _precision(config: Config) -> None:
    """State autocast; FSDP reduces gradients in the type of autocast unless `mixed`."""
    key = "precision"
    stated = config.get(key)
    if stated is None:
        return
    word = config.word(key) or ""
    dtype = _PRECISIONS.get(word)
    if dtype is None:
        reason = f"{stated!r:.60} is none of {', '.join(_PRECISIONS)}"
        missing = placeholder(stated) or Unusable(reason)
        config.unusable("precision.compute_dtype", missing.reason, key)
        return
    config.state("precision.compute_dtype", dtype, key)
    config.turn_halves(dtype, f"{key}: {word}", key)
    config.default("precision.parameter_dtype", "fp32", "autocast keeps fp32 weights")
    leaf, key = "precision.gradient_reduce_dtype", "fsdp.precision"
    strategy = lower_text(config.get("distributed_strategy") or "fsdp")
    if strategy == "ddp":
        config.default(leaf, "fp32", "ddp reduces in the type of the weights")
    elif strategy == "fsdp" and key not in config:
        config.default(leaf, dtype, f"{key} is not set: pure, which reduces in {dtype}")
    elif strategy == "fsdp":
        mode = config.get(key)
        config.first(
            leaf,
            (mode == "mixed", "fp32", "mixed reduces in fp32", key),
            (mode == "pure", dtype, f"pure reduces in {dtype}", key),
        )


def _mode(value: object) -> object:
    """Return the mode; old files state a switch, and true is `whole_layer`."""
    word = lower_text(value)
    if isinstance(word, Unusable):
        return word
    return _RECOMPUTE.get(str(word), "selective")


def _recompute(config: Config) -> None:
    leaf, key = "memory.recompute_mode", "activation_checkpointing"
    config.put(leaf, key, _mode)
    if config.get(key) is None:
        config.default(leaf, "none", f"{key} is not set")


def _model(model: Config) -> None:
    """State sizes as the layers have them: SwiGLU halves the hidden size of the MLP."""
    activation = lower_text(model.get("activation_type") or _GATED)
    if isinstance(activation, str):
        is_gated = activation == _GATED
        if "activation_type" in model:
            leaf, key = "model.gated_feed_forward", "activation_type"
            model.turn(leaf, f"{key}: {activation}", key, is_on=is_gated)
        _feed_forward(model, halves=is_gated)
    heads = model.whole("n_heads")
    if model.get("n_kv_heads") is None and heads:
        is_one = model.switch("multi_query_attention") is True
        model.first(
            "model.key_value_heads",
            (is_one, 1, "multi_query_attention: true", "n_heads"),
            (True, heads, "one for each head", "n_heads"),
        )
    key = "embedding_size" if model.get("embedding_size") is not None else "vocab_size"
    model.put("model.vocabulary_size", key, integer_text)
    model.put("model.maximum_positions", "max_sequence_length", integer_text)


def _feed_forward(model: Config, *, halves: bool) -> None:
    leaf, key = "model.feed_forward_size", "mlp_hidden_size"
    size, hidden, ratio = map(model.whole, (key, "d_model", "mlp_ratio"))
    if size is None and hidden and ratio:
        key = "mlp_ratio"
        size = hidden * ratio
    if size is None:
        return
    if halves and size % 2 == 0:
        note = f"SwiGLU takes {size:,} as two halves of {size // 2:,}"
        model.derive(leaf, size // 2, note, key)
    elif not halves:
        model.derive(leaf, size, f"{key} gives {size:,}", key)


def _optimizer(config: Config) -> None:
    config.put_betas("optimizer.betas")
    config.scale_rate("optimizer.learning_rate", "scheduler.alpha_f")
    if config.get("scheduler.units") in (None, "steps"):
        config.put("optimizer.warmup_steps", "scheduler.t_warmup", integer_text)
        config.put("optimizer.decay_steps", "scheduler.t_max", integer_text)
    clips = (config.get("max_grad_norm"), config.get("max_grad_norm_ratio"))
    if clips == (None, None):
        config.default("optimizer.clip_norm", 0.0, "max_grad_norm is not set")


def _length(config: Config) -> None:
    """State `max_duration` in steps, tokens (`2e12T`) or epochs (`1ep`)."""
    key = "max_duration"
    stated, stop = config.get(key), config.whole("stop_at")
    steps: int | None = None
    note = ""
    if isinstance(stated, str) and stated.endswith("ep"):
        count = integer_text(stated.removesuffix("ep"))
        if isinstance(count, int):
            config.derive("run.epochs", float(count), f"{stated}: epochs", key)
    elif isinstance(stated, str) and stated.endswith("T"):
        steps, note = _token_steps(stated, config)
    elif stated is not None:
        steps = config.whole(key)
        if steps is None:
            reason = f"{stated!r:.60} is neither steps, tokens (2e12T) nor epochs (1ep)"
            missing = placeholder(stated) or Unusable(reason)
            config.unusable("run.steps", missing.reason, key)
    if stop is not None and stop > 0 and (steps is None or stop < steps):
        config.state("run.steps", stop, "stop_at")
    elif steps is not None and note:
        config.derive("run.steps", steps, note, key)
    elif steps is not None:
        config.state("run.steps", steps, key)


def _token_steps(stated: str, config: Config) -> tuple[int | None, str]:
    tokens = parse_number(stated.removesuffix("T"))
    batch = config.whole("global_train_batch_size")
    length = config.whole("model.max_sequence_length")
    if tokens is None or not batch or not length:
        return None, ""
    # Newer releases round up, older ones down (olmo/train.py, max_steps).
    steps = ceil(int(tokens) / (batch * length))
    return steps, f"{tokens:,.0f} tokens / ({batch:,} x {length:,}) = {steps:,}"


def _checkpoints(config: Config) -> None:
    """State the sharded, ephemeral and unsharded checkpoints.

    A number of 0 to keep turns the kind off; an unset interval too, but for sharded
    ones, which have a default.
    """
    limits = {
        "sharded": "save_num_checkpoints_to_keep",
        "full": "save_num_unsharded_checkpoints_to_keep",
    }
    kept = {
        kind: config.whole(key) if key in config else -1 for kind, key in limits.items()
    }
    rows = (
        ("save_interval", kept["sharded"], "sharded"),
        ("save_interval_ephemeral", 1, "sharded"),
        ("save_interval_unsharded", kept["full"], "full"),
    )
    number_lists = [
        (steps, key, kind)
        for key, keeps, kind in rows
        if keeps != 0 and (steps := config.whole(key)) is not None and steps > 0
    ]
    enabled, interval = "checkpoint.enabled", "checkpoint.interval_steps"
    if number_lists:
        steps, key, kind = min(number_lists)
        config.state(interval, steps, key)
        config.turn(enabled, f"{key} is set", key)
        config.derive("checkpoint.format", kind, f"{key} saves {kind} ones", key)
        count, key, leaf = kept[kind], limits[kind], "checkpoint.keep_last"
        if count is not None and key in config:
            # -1 keeps all, which the plan writes as 0.
            config.state(leaf, max(count, 0), key)
        elif count is not None:
            config.default(leaf, max(count, 0), f"{key} is not set: all")
    elif "save_interval" not in config and kept["sharded"] != 0:
        note = "save_interval is not set: 1,000"
        config.default(enabled, value=True, note=note)
        config.default(interval, 1000, note)
        config.default("checkpoint.format", "sharded", note)
    elif kept["sharded"] == 0 and kept["full"] is not None:
        note = "no kind of checkpoint is saved"
        config.turn(enabled, note, limits["sharded"], is_on=False)


def _start(config: Config) -> None:
    """State whether it goes on from its newest checkpoint, or another run's."""
    leaf, latest = "checkpoint.resume", "try_load_latest_save"
    path = config.get("load_path")
    if config.switch(latest) is True:
        config.turn(leaf, "the newest checkpoint of save_folder", latest)
    elif isinstance(path, str) and path.startswith("${path.last_checkpoint:"):
        config.turn(leaf, "path.last_checkpoint: the newest one", "load_path")
    elif path:
        reason = "a fixed path: it may not be the newest checkpoint"
        config.unusable(leaf, reason, "load_path")
    else:
        note = f"load_path and {latest} are not set"
        config.default(leaf, value=False, note=note)
    restored = config.switch("restore_dataloader")
    if not path:
        note = "OLMo trains from new weights unless load_path names a checkpoint"
        config.default("run.role", "pretrain", note)
    elif restored is False:
        note = "goes on from a checkpoint with other data"
        config.derive("run.role", "continued", note, "load_path")
    # Other data than those of the checkpoint begin anew, and rightly so.
    leaf, key = "data.resumable", "restore_dataloader"
    if restored is False and path:
        config.unusable(leaf, "begins other data than those of the checkpoint", key)
    else:
        config.put(leaf, key, boolean)
    limit = config.number("time_limit")
    if limit is not None and limit > 0:
        note = f"saves and ends after {limit:,.0f} s"
        config.turn("recovery.exit_before_walltime", note, "time_limit")


def _telemetry(config: Config) -> None:
    leaf = "telemetry.sinks"
    if isinstance(config.get("wandb"), dict):
        config.derive(leaf, ("wandb",), "the section wandb", "wandb")
    elif config.get("wandb") is None:
        config.default(leaf, (), "wandb is not set; metrics go to the console")
    config.first(
        "telemetry.profiler",
        *(
            (config.switch(key) is True, True, f"{key}: true", key)
            for key in ("torch_profiling", "python_profiling")
        ),
    )
    leaf, compiled = "kernels.compiled", config.get("compile")
    if isinstance(compiled, dict):
        config.turn(leaf, "the section compile", "compile")
    elif compiled is None:
        config.default(leaf, value=False, note="compile is not set")


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=(
        "device_train_microbatch_size",
        "distributed_strategy",
        "save_interval_unsharded",
    ),
    interpolates=True,
)
