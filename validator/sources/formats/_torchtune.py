"""What several settings of a torchtune recipe mean together.

Sources, at 0.6.1 and bd2a0fc7c: recipes/full_finetune_distributed.py,
recipes/lora_finetune_distributed.py, recipes/lora_dpo_distributed.py,
recipes/dev/grpo_full_finetune_distributed.py, torchtune/training/checkpointing.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._torchtune_models import state_builder
from speccheck.validator.sources.mapping import (
    Unusable,
    add_defaults,
    boolean,
    derive_switch,
    fixed_defaults,
    integer,
    put,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

FULL_SHARD = 3
SHARD_GRAD_OP = 2
_QUANTIZED_BITS = 4  # NF4, of QLoRA
_COMPONENT = "_component_"
# Keys that only recipes of reinforcement learning and of preference learning read.
_RL_KEYS = (
    "grpo_samples",
    "orchestration",
    "ppo_epochs",
    "ppo_batch_size",
    "reward_and_value_model",
    "reward_functions",
)
_SINKS = {
    "WandBLogger": ("wandb",),
    "TensorBoardLogger": ("tensorboard",),
    "CometLogger": ("comet",),
    "MLFlowLogger": ("mlflow",),
    "DiskLogger": ("disk",),
    "StdoutLogger": (),
}
_DTYPES = {"bf16": "bf16", "fp32": "fp32", "fp16": "fp16"}
_WHOLLY = (
    "precision.gradient_accumulate_dtype",
    "precision.gradient_reduce_dtype",
    "precision.optimizer_state_dtype",
    "precision.parameter_dtype",
)
_OF_A_RECIPE = fixed_defaults(
    "torchtune has no other way",
    {
        "batch.mode": "fixed",
        "checkpoint.enabled": True,
        "checkpoint.save_optimizer": True,
        "data.drop_last": True,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "telemetry.throughput": True,
    },
)
# cfg.get(..., False) and the like, in the recipes of every version.
_NOT_SET = fixed_defaults(
    "not set: the recipe goes without",
    {
        "checkpoint.asynchronous": False,
        "kernels.compiled": False,
        "memory.activation_offload": False,
        "memory.optimizer_offload_device": "none",
        "memory.parameter_offload_device": "none",
        "memory.recompute_mode": "none",
        "optimizer.clip_norm": 0.0,
        "parallelism.context_parallel_size": 1,
        "parallelism.replicate_size": 1,
        "parallelism.shard_size": -1,
        "parallelism.tensor_parallel_size": 1,
        "precision.fp8": False,
        "telemetry.profiler": False,
    },
)


def component(data: Settings, *names: str) -> str:
    """The dotted name of a component; empty where there is none."""
    found = section(data, *names).get(_COMPONENT)
    return found if isinstance(found, str) else ""


def is_reinforcement(data: Settings) -> bool:
    """Whether the recipe samples from its model, so that its batches differ."""
    return any(data.get(key) is not None for key in _RL_KEYS)


def state_model(sheet: FactSheet, data: Settings) -> None:
    """State what the builder and its arguments say."""
    model, builder = section(data, "model"), component(data, "model")
    if not builder:
        return
    at = ("model", _COMPONENT)
    state_builder(sheet, builder)
    sheet.default("model.family", "transformer", "all of torchtune's models are")
    name = builder.rpartition(".")[2]
    is_quantized = boolean(model.get("quantize_base")) is True
    if not name.startswith(("lora_", "qlora_")):
        sheet.derive("model.adapter", "none", f"{name} builds all weights", at)
        return
    if boolean(model.get("use_dora")) is True:
        sheet.derive("model.adapter", "dora", "use_dora", ("model", "use_dora"))
    else:
        adapter = "qlora" if is_quantized or name.startswith("q") else "lora"
        sheet.derive("model.adapter", adapter, name, at)
    if is_quantized or name.startswith("q"):
        place = ("model", "quantize_base") if is_quantized else at
        sheet.derive("model.quantized_bits", _QUANTIZED_BITS, "NF4 weights", place)


def state_recipe(sheet: FactSheet, data: Settings) -> None:
    """State what a recipe that trains does, after its fields."""
    _role(sheet, data)
    _batch(sheet, data)
    _precision(sheet, data)
    _sharding(sheet, data)
    _memory(sheet, data)
    _saving(sheet, data)
    _length(sheet, data)
    _telemetry(sheet, data)
    add_defaults(sheet, _OF_A_RECIPE)
    add_defaults(sheet, _NOT_SET)


def _role(sheet: FactSheet, data: Settings) -> None:
    """Of the keys that only some recipes read, the loss, and the builder."""
    own = next((key for key in _RL_KEYS if data.get(key) is not None), None)
    loss, name = component(data, "loss"), component(data, "model").rpartition(".")[2]
    text = component(data, "dataset").rpartition(".")[2]
    at: KeyPath
    if own is not None:
        role, at = "rl", (own,)
    elif "rlhf" in loss:
        role, at = "rl", ("loss", _COMPONENT)
    elif name.startswith(("lora_", "qlora_")):
        role, at = "lora", ("model", _COMPONENT)
    elif text == "text_completion_dataset":
        role, at = "continued", ("dataset", _COMPONENT)
    else:
        sheet.default("run.role", "sft", "the recipes of torchtune fine-tune")
        return
    sheet.derive("run.role", role, "what the recipe trains", at)


def _batch(sheet: FactSheet, data: Settings) -> None:
    if is_reinforcement(data):
        return
    for key, leaf in (
        ("batch_size", "batch.micro_batch_size"),
        ("gradient_accumulation_steps", "batch.gradient_accumulation_steps"),
    ):
        if data.get(key) is not None:
            put(sheet, leaf, integer(data[key]), (key,))
    packed = section(data, "dataset").get("packed")
    if packed is not None:
        put(sheet, "batch.packing", boolean(packed), ("dataset", "packed"))
    elif component(data, "dataset"):
        note = "dataset.packed is not set: false"
        sheet.default("batch.packing", value=False, note=note)


def _precision(sheet: FactSheet, data: Settings) -> None:
    """Weights, gradients and states all have the type of `dtype`."""
    dtype = data.get("dtype")
    at = ("dtype",)
    if not isinstance(dtype, str):
        return
    if dtype not in _DTYPES:
        sheet.unusable("precision.compute_dtype", f"{dtype:.40} is no type", at)
        return
    sheet.state("precision.compute_dtype", _DTYPES[dtype], at)
    note = f"dtype {dtype} holds for all of the training"
    add_defaults(sheet, fixed_defaults(note, dict.fromkeys(_WHOLLY, _DTYPES[dtype])))


def _sharding(sheet: FactSheet, data: Settings) -> None:
    key, leaf = "fsdp_reshard_after_forward", "parallelism.sharding_stage"
    keeps = boolean(data.get(key)) if data.get(key) is not None else True
    shards = integer(data.get("data_parallel_shard_dim", -1))
    if shards == 1:
        note = "data_parallel_shard_dim 1: nothing is sharded"
        sheet.derive(leaf, 0, note, ("data_parallel_shard_dim",))
    elif data.get(key) is not None and isinstance(keeps, bool):
        note = f"{key}: {str(keeps).lower()}"
        sheet.derive(leaf, FULL_SHARD if keeps else SHARD_GRAD_OP, note, (key,))
    else:
        sheet.default(leaf, FULL_SHARD, "the distributed recipes shard fully")
    for switch in (("fsdp_cpu_offload",), ("fsdp", "cpu_offload")):
        value = section(data, *switch[:-1]).get(switch[-1])
        converted = boolean(value) if value is not None else None
        if isinstance(converted, bool):
            device = "cpu" if converted else "none"
            for states in ("parameter", "optimizer"):
                name = f"memory.{states}_offload_device"
                sheet.derive(name, device, "FSDP moves all states to the host", switch)


def _memory(sheet: FactSheet, data: Settings) -> None:
    """The older switch recomputes in full; `ac_mode` counts only without it."""
    key, leaf = "enable_activation_checkpointing", "memory.recompute_mode"
    above = () if key in data else ("training",)
    block = section(data, *above)
    switch = block.get(key)
    converted = boolean(switch) if switch is not None else False
    if isinstance(converted, Unusable):
        sheet.unusable(leaf, converted.reason, (*above, key))
    elif converted:
        sheet.derive(leaf, "full", f"{key}: true", (*above, key))
    elif isinstance(data.get("ac_mode"), str):
        sheet.derive(leaf, str(data["ac_mode"]), "ac_mode", ("ac_mode",))
    elif switch is not None:
        sheet.derive(leaf, "none", f"{key}: false", (*above, key))


def _saving(sheet: FactSheet, data: Settings) -> None:
    """A checkpoint at the end of each epoch, in newer recipes also within one."""
    steps = integer(data.get("save_every_n_steps"))
    if isinstance(steps, int):
        at = ("save_every_n_steps",)
        sheet.state("checkpoint.interval_steps", steps, at)
        sheet.derive("checkpoint.interval_unit", "steps", at[0], at)
    else:
        note = "checkpoints are written at the end of an epoch"
        sheet.default("checkpoint.interval_unit", "epoch", note)
    is_asynchronous = boolean(data.get("enable_async_checkpointing", False))
    if is_asynchronous is True:
        note = "distributed checkpoints between the epochs"
        at = ("enable_async_checkpointing",)
        sheet.derive("checkpoint.format", "sharded", note, at)
    else:
        note = "weights are gathered before they are written"
        sheet.default("checkpoint.format", "full", note)


def _length(sheet: FactSheet, data: Settings) -> None:
    """`max_steps_per_epoch` bounds the run; without it the data set does."""
    epochs, steps = integer(data.get("epochs")), data.get("max_steps_per_epoch")
    limit = integer(steps)
    if isinstance(limit, int) and limit > 0 and isinstance(epochs, int):
        note = f"at most {limit:,} steps x {epochs} epochs = {limit * epochs:,}"
        at = ("max_steps_per_epoch",)
        sheet.derive("run.steps", limit * epochs, note, at, ("epochs",))


def _telemetry(sheet: FactSheet, data: Settings) -> None:
    name = component(data, "metric_logger").rpartition(".")[2]
    if name in _SINKS:
        at = ("metric_logger", _COMPONENT)
        sheet.derive("telemetry.sinks", _SINKS[name], name, at)
    if component(data, "loss").endswith("LinearCrossEntropyLoss"):
        note = "projection and loss are computed in chunks, together"
        at = ("loss", _COMPONENT)
        derive_switch(sheet, "kernels.fused_cross_entropy", note, at)
