"""What several of OLMo's settings mean together.

Sources: allenai/OLMo scripts/train.py, olmo/train.py, olmo/config.py, olmo/model.py and
olmo/data/iterable_dataset.py, at 0.2.5 to 59a53e3.
"""

from collections.abc import Mapping
from math import ceil

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.mapping import (
    Unusable,
    boolean,
    derive_switch,
    integer_text,
    lower_text,
    number,
    one_of,
    parse_number,
    placeholder,
    put,
    put_numbers,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

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


def state_job(sheet: FactSheet, data: Settings) -> None:
    """State what follows from several settings, after the fields."""
    _sharding(sheet, data)
    _precision(sheet, data)
    _recompute(sheet, data)
    _model(sheet, section(data, "model"))
    _optimizer(sheet, data)
    _length(sheet, data)
    _checkpoints(sheet, data)
    _start(sheet, data)
    _telemetry(sheet, data)


def _whole(value: object) -> int | None:
    found = integer_text(value)
    return found if isinstance(found, int) else None


def _sharding(sheet: FactSheet, data: Settings) -> None:
    """FSDP shards fully unless told otherwise; up to 0.3 there was nothing else."""
    stage, engine = "parallelism.sharding_stage", "parallelism.engine"
    strategy = lower_text(data.get("distributed_strategy") or "fsdp")
    at: KeyPath = ("distributed_strategy",)
    if strategy in {"ddp", "single"}:
        sheet.derive(stage, 0, f"{strategy} shards nothing", at)
        if strategy == "ddp":
            sheet.derive(engine, "ddp", "distributed_strategy: ddp", at)
            _sync(sheet, section(data, "ddp").get("grad_sync_mode"))
        return
    if isinstance(strategy, Unusable):
        sheet.unusable(engine, strategy.reason, at)
        return
    if strategy != "fsdp":
        return
    if data.get("distributed_strategy") is None:
        sheet.default(engine, "fsdp1", "distributed_strategy is not set")
    else:
        sheet.derive(engine, "fsdp1", "distributed_strategy: fsdp", at)
    _fsdp(sheet, section(data, "fsdp"))


def _sync(sheet: FactSheet, mode: object) -> None:
    """DDP reduces with the last micro-batch of a step unless told otherwise."""
    leaf = "communication.reduces_each_micro_batch"
    if mode is None:
        sheet.default(leaf, value=False, note="ddp.grad_sync_mode is not set: batch")
    else:
        convert = one_of({"batch": False, "micro_batch": True})
        put(sheet, leaf, convert(mode), ("ddp", "grad_sync_mode"))


def _fsdp(sheet: FactSheet, block: Settings) -> None:
    stage = "parallelism.sharding_stage"
    stated = block.get("sharding_strategy")
    at: KeyPath = ("fsdp", "sharding_strategy")
    if stated is None:
        sheet.default(stage, 3, "fsdp.sharding_strategy is not set: FULL_SHARD")
        return
    word = lower_text(stated)
    if isinstance(word, Unusable):
        sheet.unusable(stage, word.reason, at)
        return
    name = str(word).removeprefix("shardingstrategy.")
    if name not in _STAGES:
        sheet.unusable(stage, f"{stated!r:.60} is no sharding strategy", at)
        return
    sheet.state(stage, _STAGES[name], at)
    key = "hybrid_sharding_num_model_replicas"
    # The key is read for hybrid strategies alone (scripts/train.py).
    if name in _HYBRID and block.get(key) is not None:
        replicas = integer_text(block[key])
        put(sheet, "parallelism.replicate_size", replicas, ("fsdp", key))


def _precision(sheet: FactSheet, data: Settings) -> None:
    """Autocast; FSDP reduces gradients in the type of autocast unless `mixed`."""
    stated = data.get("precision")
    at: KeyPath = ("precision",)
    if stated is None:
        return
    word = lower_text(stated)
    dtype = _PRECISIONS.get(word) if isinstance(word, str) else None
    if dtype is None:
        reason = f"{stated!r:.60} is none of {', '.join(_PRECISIONS)}"
        missing = placeholder(stated) or Unusable(reason)
        sheet.unusable("precision.compute_dtype", missing.reason, at)
        return
    sheet.state("precision.compute_dtype", dtype, at)
    note = f"precision: {word}"
    derive_switch(sheet, "precision.bf16", note, at, is_on=dtype == "bf16")
    derive_switch(sheet, "precision.fp16", note, at, is_on=dtype == "fp16")
    sheet.default("precision.parameter_dtype", "fp32", "autocast keeps fp32 weights")
    _reduction(sheet, data, dtype)


def _reduction(sheet: FactSheet, data: Settings, dtype: str) -> None:
    leaf = "precision.gradient_reduce_dtype"
    strategy = lower_text(data.get("distributed_strategy") or "fsdp")
    if strategy == "ddp":
        sheet.default(leaf, "fp32", "ddp reduces in the type of the weights")
    if strategy != "fsdp":
        return
    stated = section(data, "fsdp").get("precision")
    at: KeyPath = ("fsdp", "precision")
    if stated == "mixed":
        sheet.derive(leaf, "fp32", "mixed reduces in fp32", at)
    elif stated == "pure":
        sheet.derive(leaf, dtype, f"pure reduces in {dtype}", at)
    elif "precision" not in section(data, "fsdp"):
        note = f"fsdp.precision is not set: pure, which reduces in {dtype}"
        sheet.default(leaf, dtype, note)


def _recompute(sheet: FactSheet, data: Settings) -> None:
    """Old files state a switch; true is `whole_layer` (update_legacy_settings)."""
    leaf = "memory.recompute_mode"
    stated = data.get("activation_checkpointing")
    at: KeyPath = ("activation_checkpointing",)
    if stated is None:
        sheet.default(leaf, "none", "activation_checkpointing is not set")
        return
    word = lower_text(stated)
    if isinstance(word, Unusable):
        sheet.unusable(leaf, word.reason, at)
    elif word == "false":
        sheet.state(leaf, "none", at)
    else:
        is_full = word in {"true", "whole_layer"}
        sheet.state(leaf, "full" if is_full else "selective", at)


def _model(sheet: FactSheet, model: Settings) -> None:
    """Sizes as the layers have them: SwiGLU halves the hidden size of the MLP."""
    hidden = _whole(model.get("d_model"))
    activation = lower_text(model.get("activation_type") or _GATED)
    if isinstance(activation, str):
        at: KeyPath = ("model", "activation_type")
        is_gated = activation == _GATED
        if "activation_type" in model:
            note = f"activation_type: {activation}"
            leaf = "model.gated_feed_forward"
            derive_switch(sheet, leaf, note, at, is_on=is_gated)
        _feed_forward(sheet, model, hidden, halves=is_gated)
    heads = _whole(model.get("n_heads"))
    leaf = "model.key_value_heads"
    if model.get("n_kv_heads") is None and heads:
        at = ("model", "n_heads")
        if boolean(model.get("multi_query_attention")) is True:
            sheet.derive(leaf, 1, "multi_query_attention: true", at)
        else:
            sheet.derive(leaf, heads, "one for each head", at)
    key = "embedding_size" if model.get("embedding_size") is not None else "vocab_size"
    if model.get(key) is not None:
        size = integer_text(model[key])
        put(sheet, "model.vocabulary_size", size, ("model", key))
    if model.get("max_sequence_length") is not None:
        place: KeyPath = ("model", "max_sequence_length")
        positions = integer_text(model["max_sequence_length"])
        put(sheet, "model.maximum_positions", positions, place)


def _feed_forward(
    sheet: FactSheet, model: Settings, hidden: int | None, *, halves: bool
) -> None:
    leaf = "model.feed_forward_size"
    key = "mlp_hidden_size"
    size = _whole(model.get(key))
    ratio = _whole(model.get("mlp_ratio"))
    if size is None and hidden and ratio:
        key = "mlp_ratio"
        size = hidden * ratio
    if size is None:
        return
    at: KeyPath = ("model", key)
    if halves and size % 2 == 0:
        note = f"SwiGLU takes {size:,} as two halves of {size // 2:,}"
        sheet.derive(leaf, size // 2, note, at)
    elif not halves:
        sheet.derive(leaf, size, f"{key} gives {size:,}", at)


def _optimizer(sheet: FactSheet, data: Settings) -> None:
    block, schedule = section(data, "optimizer"), section(data, "scheduler")
    leaves = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, leaves, block.get("betas"), ("optimizer", "betas"))
    rate = number(block.get("learning_rate"))
    factor = number(schedule.get("alpha_f"))
    if isinstance(rate, float) and isinstance(factor, float):
        leaf, note = "optimizer.minimum_learning_rate", f"{factor:g} x {rate:g}"
        sheet.derive(leaf, factor * rate, note, ("scheduler", "alpha_f"))
    if schedule.get("units") in (None, "steps"):
        _steps_of(sheet, schedule, "t_warmup", "optimizer.warmup_steps")
        _steps_of(sheet, schedule, "t_max", "optimizer.decay_steps")
    clip, ratio = data.get("max_grad_norm"), data.get("max_grad_norm_ratio")
    if clip is None and ratio is None:
        sheet.default("optimizer.clip_norm", 0.0, "max_grad_norm is not set")


def _steps_of(sheet: FactSheet, schedule: Settings, key: str, leaf: str) -> None:
    if schedule.get(key) is not None:
        put(sheet, leaf, integer_text(schedule[key]), ("scheduler", key))


def _length(sheet: FactSheet, data: Settings) -> None:
    """`max_duration`: steps, tokens (`2e12T`) or epochs (`1ep`); `stop_at` ends it."""
    at: KeyPath = ("max_duration",)
    stated, stop = data.get("max_duration"), _whole(data.get("stop_at"))
    steps: int | None = None
    note = ""
    if isinstance(stated, str) and stated.endswith("ep"):
        count = _whole(stated.removesuffix("ep"))
        if count is not None:
            sheet.derive("run.epochs", float(count), f"{stated}: epochs", at)
    elif isinstance(stated, str) and stated.endswith("T"):
        steps, note = _token_steps(stated, data)
    elif stated is not None:
        steps = _whole(stated)
        if steps is None:
            reason = f"{stated!r:.60} is neither steps, tokens (2e12T) nor epochs (1ep)"
            missing = placeholder(stated) or Unusable(reason)
            sheet.unusable("run.steps", missing.reason, at)
    if stop is not None and stop > 0 and (steps is None or stop < steps):
        sheet.state("run.steps", stop, ("stop_at",))
    elif steps is not None and note:
        sheet.derive("run.steps", steps, note, at)
    elif steps is not None:
        sheet.state("run.steps", steps, at)


def _token_steps(stated: str, data: Settings) -> tuple[int | None, str]:
    tokens = parse_number(stated.removesuffix("T"))
    batch = _whole(data.get("global_train_batch_size"))
    length = _whole(section(data, "model").get("max_sequence_length"))
    if tokens is None or not batch or not length:
        return None, ""
    # Newer releases round up, older ones down (olmo/train.py, max_steps).
    steps = ceil(int(tokens) / (batch * length))
    return steps, f"{tokens:,.0f} tokens / ({batch:,} x {length:,}) = {steps:,}"


def _checkpoints(sheet: FactSheet, data: Settings) -> None:
    """Sharded ones for restarts, ephemeral ones in between, unsharded ones to keep.

    A number of 0 to keep turns the kind off; an unset interval too, but for sharded
    ones, which have a default.
    """
    kept = _whole(data.get("save_num_checkpoints_to_keep", -1))
    whole_kept = _whole(data.get("save_num_unsharded_checkpoints_to_keep", -1))
    rows = (
        ("save_interval", kept, "sharded"),
        ("save_interval_ephemeral", 1, "sharded"),
        ("save_interval_unsharded", whole_kept, "full"),
    )
    found = [
        (steps, key, kind)
        for key, keeps, kind in rows
        if keeps != 0 and (steps := _whole(data.get(key))) is not None and steps > 0
    ]
    if found:
        steps, key, kind = min(found)
        at: KeyPath = (key,)
        sheet.state("checkpoint.interval_steps", steps, at)
        derive_switch(sheet, "checkpoint.enabled", f"{key} is set", at)
        sheet.derive("checkpoint.format", kind, f"{key} saves {kind} ones", at)
        _retention(sheet, kept if kind == "sharded" else whole_kept, kind)
    elif "save_interval" not in data and kept != 0:
        note = "save_interval is not set: 1,000"
        sheet.default("checkpoint.enabled", value=True, note=note)
        sheet.default("checkpoint.interval_steps", 1000, note)
        sheet.default("checkpoint.format", "sharded", note)
    elif kept == 0 and whole_kept is not None:
        at = ("save_num_checkpoints_to_keep",)
        note = "no kind of checkpoint is saved"
        derive_switch(sheet, "checkpoint.enabled", note, at, is_on=False)


def _retention(sheet: FactSheet, kept: int | None, kind: str) -> None:
    """-1 keeps all, which the plan writes as 0."""
    name = "checkpoints" if kind == "sharded" else "unsharded_checkpoints"
    key = f"save_num_{name}_to_keep"
    if kept is None:
        return
    value = max(kept, 0)
    if sheet.document is not None and key in section(sheet.document.data):
        sheet.state("checkpoint.keep_last", value, (key,))
    else:
        sheet.default("checkpoint.keep_last", value, f"{key} is not set: all")


def _start(sheet: FactSheet, data: Settings) -> None:
    """Whether it goes on from its own newest checkpoint, or from another run's."""
    leaf = "checkpoint.resume"
    path = data.get("load_path")
    if boolean(data.get("try_load_latest_save")) is True:
        at: KeyPath = ("try_load_latest_save",)
        derive_switch(sheet, leaf, "the newest checkpoint of save_folder", at)
    elif isinstance(path, str) and path.startswith("${path.last_checkpoint:"):
        note = "path.last_checkpoint: the newest one"
        derive_switch(sheet, leaf, note, ("load_path",))
    elif path:
        reason = "a fixed path: it may not be the newest checkpoint"
        sheet.unusable(leaf, reason, ("load_path",))
    else:
        note = "load_path and try_load_latest_save are not set"
        sheet.default(leaf, value=False, note=note)
    if not path:
        note = "OLMo trains from new weights unless load_path names a checkpoint"
        sheet.default("run.role", "pretrain", note)
    elif boolean(data.get("restore_dataloader")) is False:
        note = "goes on from a checkpoint with other data"
        sheet.derive("run.role", "continued", note, ("load_path",))
    _data_order(sheet, data)
    limit = number(data.get("time_limit"))
    if isinstance(limit, float) and limit > 0:
        at = ("time_limit",)
        note = f"saves and ends after {limit:,.0f} s"
        derive_switch(sheet, "recovery.exit_before_walltime", note, at)


def _data_order(sheet: FactSheet, data: Settings) -> None:
    """Other data than those of the checkpoint begin anew, and rightly so."""
    leaf, at = "data.resumable", ("restore_dataloader",)
    switch = boolean(data.get("restore_dataloader"))
    if switch is False and data.get("load_path"):
        sheet.unusable(leaf, "begins other data than those of the checkpoint", at)
    elif data.get("restore_dataloader") is not None:
        put(sheet, leaf, switch, at)


def _telemetry(sheet: FactSheet, data: Settings) -> None:
    leaf = "telemetry.sinks"
    if isinstance(data.get("wandb"), dict):
        sheet.derive(leaf, ("wandb",), "the section wandb", ("wandb",))
    elif data.get("wandb") is None:
        sheet.default(leaf, (), "wandb is not set; metrics go to the console")
    for key in ("torch_profiling", "python_profiling"):
        if boolean(data.get(key)) is True:
            derive_switch(sheet, "telemetry.profiler", f"{key}: true", (key,))
            break
    compiled = data.get("compile")
    if isinstance(compiled, dict):
        note = "the section compile"
        derive_switch(sheet, "kernels.compiled", note, ("compile",))
    elif compiled is None:
        sheet.default("kernels.compiled", value=False, note="compile is not set")
