"""Engine, adapter, role and sinks of an axolotl file."""

from collections.abc import Mapping

from speccheck.validator.sources.formats._deepspeed import state_deepspeed
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    SHARDING_STAGES,
    fsdp_version,
    state_fsdp,
    state_offload,
)
from speccheck.validator.sources.mapping import (
    add_defaults,
    boolean,
    fixed_defaults,
    integer_text,
    items,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

# A sink is on by its own switch, or by a project where it has one.
_SINKS = (
    ("wandb", ("use_wandb", "wandb_project")),
    ("mlflow", ("use_mlflow", "mlflow_tracking_uri", "mlflow_experiment_name")),
    ("tensorboard", ("use_tensorboard",)),
    ("comet_ml", ("use_comet", "comet_project_name", "comet_api_key")),
    ("trackio", ("use_trackio",)),
)
_FULLY_SHARDED = fixed_defaults(
    "FSDP shards fully unless told otherwise",
    {"parallelism.sharding_stage": FULL_SHARD},
)


def state_run(sheet: FactSheet, data: Settings) -> None:
    """State which engine trains what, and where it reports."""
    sheet.derive("run.framework", "axolotl", "axolotl's settings", ())
    _engine(sheet, data)
    _adapter(sheet, data)
    _role(sheet, data)
    _sinks(sheet, data)
    steps = integer_text(data.get("profiler_steps"))
    if isinstance(steps, int):
        sheet.derive("telemetry.profiler", steps > 0, "steps", ("profiler_steps",))


def _engine(sheet: FactSheet, data: Settings) -> None:
    deepspeed = data.get("deepspeed")
    if deepspeed:
        note = "deepspeed is set"
        sheet.derive("parallelism.engine", "deepspeed", note, ("deepspeed",))
        if isinstance(deepspeed, dict):
            state_deepspeed(sheet, deepspeed, ("deepspeed",))
    block = data.get("fsdp_config")
    words = [one.lower() for one in items(data.get("fsdp")) if isinstance(one, str)]
    if not words and not section(block):
        return
    stated = integer_text(data.get("fsdp_version"))
    version = stated if isinstance(stated, int) else fsdp_version(block)
    at = ("fsdp_config",) if section(block) else ("fsdp",)
    if isinstance(version, int):
        sheet.derive("parallelism.engine", f"fsdp{version}", "fsdp_version", at)
    else:
        reason = "FSDP without fsdp_version: 1 or 2, as the release of axolotl has it"
        sheet.unusable("parallelism.engine", reason, at)
    for word in words:
        if word in SHARDING_STAGES:
            stage = SHARDING_STAGES[word]
            note = f"fsdp: {word}"
            sheet.derive("parallelism.sharding_stage", stage, note, ("fsdp",))
        elif word == "offload":
            state_offload(sheet, ("fsdp",), is_on=True)
    state_fsdp(sheet, block, version, ("fsdp_config",))
    add_defaults(sheet, _FULLY_SHARDED)


# Layers named, or drawn anew every few steps.
_PARTIAL = ("unfrozen_parameters", "lisa_n_layers")


def _adapter(sheet: FactSheet, data: Settings) -> None:
    adapter = data.get("adapter")
    if isinstance(adapter, str) and adapter:
        sheet.state("model.adapter", adapter.lower(), ("adapter",))
    elif partial := [key for key in _PARTIAL if data.get(key)]:
        note = f"{partial[0]}: some layers are trained"
        sheet.derive("model.adapter", "freeze", note, (partial[0],))
    else:
        note = "no adapter is set: all weights are trained"
        sheet.default("model.adapter", "none", note)
    for key, bits in (("load_in_4bit", 4), ("load_in_8bit", 8)):
        if boolean(data.get(key)) is True:
            sheet.derive("model.quantized_bits", bits, f"{key}: true", (key,))


def _role(sheet: FactSheet, data: Settings) -> None:
    """Group rewards before adapters, adapters before preferences, else fine-tuning."""
    rl = data.get("rl")
    if isinstance(rl, str) and rl.lower() in {"grpo", "gdpo", "ebft"}:
        sheet.derive("run.role", "rl", f"rl: {rl}", ("rl",))
    elif data.get("adapter"):
        note = f"adapter: {data['adapter']}"
        sheet.derive("run.role", "lora", note, ("adapter",))
    elif rl or boolean(data.get("reward_model")) is True:
        key = "rl" if rl else "reward_model"
        sheet.derive("run.role", "rl", f"{key} is set", (key,))
    elif data.get("pretraining_dataset"):
        is_new = boolean(data.get("reinit_weights")) is True
        note = "from new weights" if is_new else "on from the weights of base_model"
        role = "pretrain" if is_new else "continued"
        sheet.derive("run.role", role, note, ("pretraining_dataset",))
    elif data.get("datasets"):
        note = "all weights are trained on instruction datasets"
        sheet.derive("run.role", "sft", note, ("datasets",))


def _sinks(sheet: FactSheet, data: Settings) -> None:
    names: list[str] = []
    places: list[tuple[str]] = []
    for sink, keys in _SINKS:
        key = next((one for one in keys if data.get(one)), None)
        if key is not None and data.get(keys[0]) is not False:
            names.append(sink)
            places.append((key,))
    if names:
        sheet.derive("telemetry.sinks", tuple(names), "keys of the sinks", *places)
    else:
        sheet.default("telemetry.sinks", (), "no sink is named")
