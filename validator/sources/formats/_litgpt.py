"""What LitGPT's commands do with the settings of one file.

Sources, at v0.5.13: litgpt/pretrain.py, litgpt/finetune/full.py, litgpt/finetune/
lora.py, litgpt/args.py.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._huggingface import resume
from speccheck.validator.sources.mapping import (
    TabulatedDefault,
    Unusable,
    add_defaults,
    derive_switch,
    fixed_defaults,
    integer,
    integer_text,
    number,
    put,
    section,
    tabulated_defaults,
    weak_default,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

_FORMAT = "litgpt"
FULL_SHARD = 3
_PRETRAIN, _LORA, _FULL = "pretrain", "finetune_lora", "finetune_full"
_COMMON = fixed_defaults(
    "LitGPT has no other way",
    {
        "run.uses_torch": True,
        "batch.mode": "fixed",
        "cluster.nodes": 1,
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.expert_parallel_size": 1,
        "optimizer.schedule": "cosine",
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "kernels.attention_backend": "sdpa",
        "checkpoint.format": "full",
        "checkpoint.asynchronous": False,
        "checkpoint.keep_last": 0,
        "checkpoint.interval_unit": "steps",
        "telemetry.throughput": True,
        "model.family": "transformer",
    },
)
_OF_PRETRAINING = fixed_defaults(
    "litgpt pretrain has no other way",
    {
        "checkpoint.save_optimizer": True,
        "kernels.compiled": True,
        "kernels.fused_optimizer": True,
        "memory.recompute_mode": "none",
    },
)
_OF_FULL = fixed_defaults(
    "litgpt finetune_full has no other way", {"checkpoint.save_optimizer": True}
)
_OF_ADAPTERS = fixed_defaults(
    "LitGPT saves the trained part alone", {"checkpoint.save_optimizer": False}
)
_DEFAULTS = (
    TabulatedDefault("devices", "cluster.gpus_per_node", integer),
    TabulatedDefault("train.micro_batch_size", "batch.micro_batch_size", integer),
    TabulatedDefault("train.save_interval", "checkpoint.interval_steps", integer),
    TabulatedDefault("train.log_interval", "telemetry.log_interval_steps", integer),
)


def state_job(sheet: FactSheet, data: Settings) -> None:
    """State what follows from several settings, after the fields."""
    sheet.derive("run.framework", "litgpt", "keys of a command of LitGPT", ("train",))
    _devices(sheet, data)
    command = _command(sheet, data)
    _model(sheet, data)
    _saving(sheet, data)
    _schedule(sheet, data, command)
    _sinks(sheet, data)
    if command:
        add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS, None, command))
    if command == _PRETRAIN:
        add_defaults(sheet, _OF_PRETRAINING)
    elif command == _FULL:
        add_defaults(sheet, _OF_FULL)
    elif command:
        add_defaults(sheet, _OF_ADAPTERS)
    add_defaults(sheet, _COMMON)
    _engine(sheet, command)


def _devices(sheet: FactSheet, data: Settings) -> None:
    """The GPUs that the job takes of each node, which may have more of them."""
    at: KeyPath = ("devices",)
    stated = data.get("devices")
    if stated is None:
        return
    leaf = "cluster.gpus_per_node"
    if stated in ("auto", -1, "-1"):
        sheet.unusable(leaf, f"{stated}: all GPUs of a node", at)
        return
    local, nodes = integer_text(stated), integer(data.get("num_nodes", 1))
    if isinstance(local, Unusable):
        sheet.unusable(leaf, local.reason, at)
    elif isinstance(local, int) and isinstance(nodes, int) and min(local, nodes) > 0:
        weak_default(sheet, leaf, local, "devices of each node", at)
        note = f"{local} devices x {nodes} nodes = {local * nodes:,}"
        places = (at, ("num_nodes",)) if "num_nodes" in data else (at,)
        sheet.derive("cluster.world_size", local * nodes, note, *places)


def _command(sheet: FactSheet, data: Settings) -> str:
    """The command by its own keys; empty where several commands have them all."""
    lora = next((key for key in data if key.startswith("lora_")), None)
    base = section(data, "model_config") or data.get("model_name")
    if lora is not None:
        sheet.derive("run.role", "lora", f"{lora} is set", (lora,))
        sheet.derive("model.adapter", "lora", f"{lora} is set", (lora,))
        return _LORA
    if base and "checkpoint_dir" not in data:
        if data.get("initial_checkpoint_dir") is not None:
            note = "on from the weights of initial_checkpoint_dir"
            at: KeyPath = ("initial_checkpoint_dir",)
            sheet.derive("run.role", "continued", note, at)
        else:
            key = "model_name" if data.get("model_name") else "model_config"
            note = f"{key}: new weights"
            sheet.derive("run.role", "pretrain", note, (key,))
        sheet.default("model.adapter", "none", "litgpt pretrain trains all weights")
        return _PRETRAIN
    if data.get("checkpoint_dir") is not None and "quantize" not in data:
        at = ("checkpoint_dir",)
        note = "checkpoint_dir without keys of an adapter: all weights are fine-tuned"
        sheet.derive("run.role", "sft", note, at)
        sheet.default("model.adapter", "none", note)
        return _FULL
    return ""


def _model(sheet: FactSheet, data: Settings) -> None:
    base = data.get("checkpoint_dir")
    if isinstance(base, str) and base:
        name = base.rstrip("/").rpartition("/")[2]
        note = "the folder of the checkpoint"
        sheet.derive("model.name_of_model", name, note, ("checkpoint_dir",))
    config = section(data, "model_config")
    heads = integer(config.get("n_head"))
    if isinstance(heads, int) and config.get("n_query_groups") is None:
        note = "n_query_groups is not set: as many as heads"
        sheet.default("model.key_value_heads", heads, note)


def _saving(sheet: FactSheet, data: Settings) -> None:
    """Every `save_interval` steps; with null the final weights alone are written."""
    at: KeyPath = ("train", "save_interval")
    block = section(data, "train")
    if "save_interval" not in block:
        note = "save_interval is not set: every 1,000 steps"
        sheet.default("checkpoint.enabled", value=True, note=note)
    elif block["save_interval"] is None:
        note = "save_interval: null"
        derive_switch(sheet, "checkpoint.enabled", note, at, is_on=False)
        sheet.derive("checkpoint.interval_unit", "never", note, at)
    else:
        derive_switch(sheet, "checkpoint.enabled", "save_interval is set", at)
    if data.get("resume") is not None:
        value = data["resume"]
        found = resume(True if value == "auto" else value)
        put(sheet, "checkpoint.resume", found, ("resume",))
    else:
        sheet.default("checkpoint.resume", value=False, note="resume is not set")


def _schedule(sheet: FactSheet, data: Settings, command: str) -> None:
    """Pretraining ends with its tokens; fine-tuning decays to 0, whatever min_lr."""
    if command != _PRETRAIN:
        return
    train = section(data, "train")
    lowest = train.get("min_lr")
    if lowest is not None:
        leaf = "optimizer.minimum_learning_rate"
        put(sheet, leaf, number(lowest), ("train", "min_lr"))
    if train.get("max_steps") is not None:
        return
    tokens, size, length = (
        integer(train.get(key))
        for key in ("max_tokens", "global_batch_size", "max_seq_length")
    )
    numbers = [one for one in (tokens, size, length) if isinstance(one, int) and one]
    if len(numbers) == len(("max_tokens", "global_batch_size", "max_seq_length")):
        total, samples, each = numbers
        steps = total // (samples * each)
        note = f"{total:,} tokens / ({samples:,} samples x {each:,}) = {steps:,}"
        sheet.derive("run.steps", steps, note, ("train", "max_tokens"))


def _sinks(sheet: FactSheet, data: Settings) -> None:
    name = data.get("logger_name")
    if isinstance(name, str) and name:
        note = "logger_name"
        sheet.derive("telemetry.sinks", (name.lower(),), note, ("logger_name",))


def _engine(sheet: FactSheet, command: str) -> None:
    """FSDP from the second GPU on: hybrid in pretraining, fully sharded otherwise."""
    known = {fact.name: fact.value for fact in sheet.facts}
    nodes, local = known.get("cluster.nodes"), known.get("cluster.gpus_per_node")
    if not isinstance(nodes, int) or not isinstance(local, int) or not command:
        return
    if nodes * local <= 1:
        note = "one GPU: nothing is sharded"
        sheet.default("parallelism.sharding_stage", 0, note)
        return
    note = f"LitGPT shards over {nodes * local:,} GPUs with FSDP"
    sheet.default("parallelism.engine", "fsdp1", note)
    sheet.default("parallelism.sharding_stage", FULL_SHARD, note)
    if command == _PRETRAIN:
        note = f"HYBRID_SHARD: {local} shards on each of {nodes} nodes"
        sheet.default("parallelism.shard_size", local, note)
        sheet.default("parallelism.replicate_size", nodes, note)
    else:
        note = f"{note} and recomputes each block"
        add_defaults(sheet, fixed_defaults(note, {"memory.recompute_mode": "full"}))
