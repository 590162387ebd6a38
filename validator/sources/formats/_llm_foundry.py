"""What several of LLM Foundry's settings mean together.

Sources: mosaicml/llm-foundry v0.21.0 llmfoundry/command_utils/train.py and
utils/config_utils.py; mosaicml/composer composer/trainer/trainer.py, composer/
distributed, composer/callbacks/checkpoint_saver.py.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._composer_time import (
    ComposerTime,
    Step,
    composer_time,
    steps_of,
)
from speccheck.validator.sources.formats._llm_foundry_model import (
    state_engine,
    state_model,
)
from speccheck.validator.sources.mapping import (
    Unusable,
    add_defaults,
    boolean,
    derive_switch,
    fixed_defaults,
    integer,
    number,
    put,
    section,
    weak_default,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

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


def state_job(sheet: FactSheet, data: Settings) -> None:
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
    state_engine(sheet, data)
    state_model(sheet, section(data, "model"))
    _role(sheet, data)
    _telemetry(sheet, data, step, steps)
    _memory(sheet, data)
    add_defaults(sheet, _COMMON)
    add_defaults(sheet, _UNSET)


def _step(data: Settings) -> Step:
    samples = integer(data.get("global_train_batch_size"))
    length = integer(data.get("max_seq_len"))
    if not isinstance(samples, int):
        return Step()
    return Step(samples, samples * length if isinstance(length, int) else None)


def _length(sheet: FactSheet, data: Settings, step: Step) -> int | None:
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
    steps = steps_of(time, step, None)
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
    sheet: FactSheet, data: Settings, step: Step, steps: int | None
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


def _without_folder(sheet: FactSheet, data: Settings) -> None:
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


def _resumes_by_path(sheet: FactSheet, data: Settings, folder: str) -> None:
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
    found = steps_of(time, step, steps)
    if found is None:
        sheet.unusable(leaf, f"{time.text}: the steps are not known", at)
    else:
        sheet.derive(leaf, found, _in_steps(time, step), at)
        sheet.derive(unit, "steps", time.text, at)


def _schedule(sheet: FactSheet, data: Settings, step: Step, steps: int | None) -> None:
    block = section(data, "scheduler")
    at: KeyPath = ("scheduler", "t_warmup")
    if block.get("t_warmup") is not None:
        time = composer_time(block["t_warmup"])
        if isinstance(time, Unusable):
            sheet.unusable("optimizer.warmup_steps", time.reason, at)
        elif time.unit == "dur":
            sheet.derive("optimizer.warmup_ratio", time.amount, time.text, at)
        else:
            found = steps_of(time, step, steps)
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


def _role(sheet: FactSheet, data: Settings) -> None:
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


def _telemetry(sheet: FactSheet, data: Settings, step: Step, steps: int | None) -> None:
    leaf, at = "telemetry.log_interval_steps", ("console_log_interval",)
    stated = data.get("console_log_interval")
    if stated is None:
        sheet.default(leaf, 1, "console_log_interval is not set: 1ba")
    else:
        time = composer_time(stated)
        found = None if isinstance(time, Unusable) else steps_of(time, step, steps)
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


def _memory(sheet: FactSheet, data: Settings) -> None:
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
