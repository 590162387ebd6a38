"""The run of a NeMo 1 file: the trainer of Lightning, and NeMo's `exp_manager`.

Sources: NVIDIA/NeMo nemo/utils/exp_manager.py (ExpManagerConfig, CallbackParams) and
nemo/collections/nlp/parts/megatron_trainer_builder.py, releases 1.17 to 2.0;
Lightning 2.0, trainer/connectors/accelerator_connector.py and
callbacks/model_checkpoint.py.
"""

import math

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._nemo1 import Settings, is_megatron
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer_text,
    lower_text,
    negation,
    number,
    placeholder,
    put,
    section,
    text,
)
from speccheck.validator.sources.reader import FactSheet

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


def state_cluster(sheet: FactSheet, data: Settings) -> None:
    """State nodes and GPUs, and the time that the Launcher asks for."""
    trainer = section(data, "trainer")
    if trainer.get("num_nodes") is not None:
        at: KeyPath = ("trainer", "num_nodes")
        put(sheet, "cluster.nodes", integer_text(trainer["num_nodes"]), at)
    key = "devices" if "devices" in trainer else "gpus"  # before Lightning 1.6
    if trainer.get(key) is not None and trainer.get("accelerator") != "cpu":
        at = ("trainer", key)
        put(sheet, "cluster.gpus_per_node", _devices(trainer[key]), at)
    limit = section(data, "run").get("time_limit")
    seconds = _clock_seconds(limit)
    if seconds is not None:
        sheet.state("recovery.walltime_seconds", seconds, ("run", "time_limit"))
    _time(sheet, data, seconds)
    add_defaults(sheet, _TORCH)


def _devices(value: object) -> object:
    """A count, a list of GPUs, or all of the node (-1 and auto)."""
    if isinstance(value, list):
        return len(value) or Unusable("no device")
    if isinstance(value, str) and value.count(",") and placeholder(value) is None:
        return len([part for part in value.split(",") if part.strip()])
    count = -1 if value == "auto" else integer_text(value)
    if count == -1:
        return Unusable(f"{value}: all GPUs of the node")
    return count


def _time(sheet: FactSheet, data: Settings, limit: float | None) -> None:
    """`max_time` ends the run and saves, in time if the job lasts longer.

    `max_time_per_run` takes its place, with a clock that a resumed run sets back
    (StatelessTimer in nemo/utils/exp_manager.py).
    """
    for at in (("exp_manager", "max_time_per_run"), ("trainer", "max_time")):
        block, key = at
        most = _clock_seconds(section(data, block).get(key))
        if most is not None and limit is not None:
            is_in_time = most < limit
            note = f"{key} {'within' if is_in_time else 'beyond'} run.time_limit"
            leaf = "recovery.exit_before_walltime"
            derive_switch(sheet, leaf, note, at, is_on=is_in_time)
            return


def _clock_seconds(value: object) -> float | None:
    """The seconds of `h:m:s`, `d:h:m:s` (Lightning) or `d-h:m:s` (Slurm)."""
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


def state_precision(sheet: FactSheet, data: Settings) -> None:
    """State the number format of the trainer: `bf16`, `16-mixed`, 32."""
    value = section(data, "trainer").get("precision")
    if value is None:
        return
    at: KeyPath = ("trainer", "precision")
    word = lower_text(value)
    base = word.partition("-")[0] if isinstance(word, str) else ""
    if base in {"bf16", "16"}:
        on, off = ("bf16", "fp16") if base == "bf16" else ("fp16", "bf16")
        note = f"precision: {word}"
        derive_switch(sheet, f"precision.{on}", note, at)
        sheet.default(f"precision.{off}", value=False, note=note)
    elif base == "32":
        sheet.derive("precision.compute_dtype", "fp32", f"precision: {word}", at)
    else:
        reason = word.reason if isinstance(word, Unusable) else f"precision {word}"
        sheet.unusable("precision.compute_dtype", reason, at)
    if base == "16" and is_megatron(data):
        _loss_scale(sheet, section(data, "model"))


def _loss_scale(sheet: FactSheet, model: Settings) -> None:
    """The gradient scaler of Megatron models, which only fp16 has."""
    sheet.default("precision.loss_scale", 0.0, "NeMo scales the loss dynamically")
    fields: Fields = {
        "native_amp_growth_interval": ("precision.loss_scale_window", integer_text),
        "hysteresis": ("precision.hysteresis", integer_text),
    }
    apply(sheet, model, fields, ("model",))
    key = "native_amp_init_scale"
    scale = number(model.get(key))
    if isinstance(scale, float) and scale >= 1 and math.log2(scale).is_integer():
        power = int(math.log2(scale))
        leaf = "precision.initial_scale_power"
        sheet.derive(leaf, power, f"2^{power}", ("model", key))


def state_training(sheet: FactSheet, data: Settings) -> None:
    """State what the trainer says of the run; -1 and null mean no limit."""
    trainer = section(data, "trainer")
    apply(sheet, trainer, _TRAINER, ("trainer",))
    for key, leaf in (("max_steps", "run.steps"), ("max_epochs", "run.epochs")):
        count = number(trainer.get(key))
        if isinstance(count, float) and count > 0:
            value = int(count) if key == "max_steps" else count
            sheet.state(leaf, value, ("trainer", key))
        elif isinstance(trainer.get(key), str) and isinstance(count, Unusable):
            sheet.unusable(leaf, count.reason, ("trainer", key))
    if is_megatron(data):
        return
    key = "accumulate_grad_batches"
    if trainer.get(key) is not None:
        leaf = "batch.gradient_accumulation_steps"
        put(sheet, leaf, integer_text(trainer[key]), ("trainer", key))
    strategy = trainer.get("strategy")
    target = section(strategy).get("_target_", strategy)
    if isinstance(target, str) and (
        target.startswith("ddp") or target.endswith("DDPStrategy")
    ):
        at: KeyPath = ("trainer", "strategy")
        sheet.derive("parallelism.engine", "ddp", f"strategy {target:.60}", at)
        sheet.derive("parallelism.sharding_stage", 0, "ddp shards nothing", at)


def state_experiment(sheet: FactSheet, data: Settings) -> None:
    """State checkpoints, logs and fault tolerance of `exp_manager`."""
    settings = data.get("exp_manager")
    if not isinstance(settings, dict):
        return
    block = section(settings)
    at: KeyPath = ("exp_manager",)
    apply(sheet, block, _EXPERIMENT, at)
    add_defaults(sheet, _EXPERIMENT_DEFAULTS)
    if boolean(block.get("create_checkpoint_callback", True)) is True:
        _directory(sheet, block)
        _interval(sheet, section(data, "trainer"), section(block, _CALLBACK))
        _kept(sheet, section(block, _CALLBACK))
    _logs(sheet, block)
    if boolean(block.get("create_fault_tolerance_callback")) is True:
        fields: Fields = {
            "rank_heartbeat_timeout": ("recovery.heartbeat_seconds", number),
            "max_rank_restarts": ("recovery.max_restarts", integer_text),
        }
        inner = section(block, "fault_tolerance")
        apply(sheet, inner, fields, (*at, "fault_tolerance"))


def _directory(sheet: FactSheet, block: Settings) -> None:
    leaf = "checkpoint.directory"
    stated = section(block, _CALLBACK).get("dirpath")
    at: KeyPath = ("exp_manager", "explicit_log_dir")
    if stated is not None:
        put(sheet, leaf, text(stated), ("exp_manager", _CALLBACK, "dirpath"))
    elif block.get("explicit_log_dir"):
        folder = text(block["explicit_log_dir"])
        if isinstance(folder, Unusable):
            sheet.unusable(leaf, folder.reason, at)
        else:
            path = f"{str(folder).rstrip('/')}/checkpoints"
            sheet.derive(leaf, path, "explicit_log_dir/checkpoints", at)
    elif block.get("exp_dir"):
        put(sheet, leaf, text(block["exp_dir"]), ("exp_manager", "exp_dir"))


def _interval(sheet: FactSheet, trainer: Settings, params: Settings) -> None:
    """Every so many steps, some time, or after each validation.

    ModelCheckpoint saves at the end of validation unless a step or a time triggers it.
    """
    unit = "checkpoint.interval_unit"
    steps = "checkpoint.interval_steps"
    at: KeyPath = ("exp_manager", _CALLBACK, "every_n_train_steps")
    every = params.get("every_n_train_steps")
    if every:
        put(sheet, steps, integer_text(every), at)
        sheet.derive(unit, "steps", "every_n_train_steps", at)
        return
    if params.get("train_time_interval"):
        at = ("exp_manager", _CALLBACK, "train_time_interval")
        sheet.derive(unit, "seconds", "train_time_interval", at)
        seconds = _interval_seconds(params["train_time_interval"])
        put(sheet, "checkpoint.interval_seconds", seconds, at)
        return
    at = ("trainer", "val_check_interval")
    between = trainer.get("val_check_interval")
    batches = number(trainer.get("limit_val_batches", 1.0))
    is_validated = not isinstance(batches, float) or batches > 0
    if isinstance(between, bool) or between is None or not is_validated:
        return
    if isinstance(between, int) and between > 0:
        note = "a checkpoint follows each validation"
        sheet.derive(steps, between, note, at)
        sheet.derive(unit, "steps", note, at)
    elif isinstance(between, float):
        reason = f"{between:g} of an epoch, whose steps are not known"
        sheet.unusable(steps, reason, at)
        sheet.derive(unit, "epoch", "val_check_interval is part of an epoch", at)
    elif isinstance(between, str):
        why = placeholder(between) or Unusable(f"{between!r:.60} is no count")
        sheet.unusable(steps, why.reason, at)


def _interval_seconds(value: object) -> object:
    """A clock text, seconds, or the parts of a timedelta."""
    if isinstance(value, dict):
        units = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
        parts = {name: number(one) for name, one in value.items()}
        total = 0.0
        for name, one in parts.items():
            if name not in units or not isinstance(one, float):
                return Unusable(f"{value!r:.60} is no duration")
            total += one * units[name]
        return total
    clock = _clock_seconds(value)
    return clock if clock is not None else number(value)


def _kept(sheet: FactSheet, params: Settings) -> None:
    """`save_top_k`: -1 keeps all; the newest is kept besides with `save_last`."""
    key = "save_top_k"
    at: KeyPath = ("exp_manager", _CALLBACK, key)
    leaf = "checkpoint.keep_last"
    count = integer_text(params[key]) if params.get(key) is not None else None
    last = boolean(params.get("save_last", True)) is True
    if count == -1:
        sheet.derive(leaf, 0, "save_top_k: -1 keeps all", at)
    elif isinstance(count, int):
        note = f"{key} {count}" + (" and the newest" if last else "")
        if count + last > 0:
            sheet.derive(leaf, count + last, note, at)
    elif isinstance(count, Unusable):
        sheet.unusable(leaf, count.reason, at)


def _logs(sheet: FactSheet, block: Settings) -> None:
    """The loggers; tensorboard is on unless switched off."""
    on = [
        key
        for key in _SINKS
        if boolean(block.get(key, key == "create_tensorboard_logger")) is True
    ]
    names = tuple(_SINKS[key] for key in on)
    leaf = "telemetry.sinks"
    places: list[KeyPath] = [("exp_manager", key) for key in _SINKS if key in block]
    if places:
        sheet.derive(leaf, names, "loggers of exp_manager", *places)
    else:
        sheet.default(leaf, names, "create_tensorboard_logger is not set: true")
    for key in ("log_tflops_per_sec_per_gpu", "log_step_timing"):
        if boolean(block.get(key)) is True:
            place: KeyPath = ("exp_manager", key)
            derive_switch(sheet, "telemetry.throughput", key, place)
            return
