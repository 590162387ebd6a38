"""torchtune's YAML: recipes of fine-tuning, and those that only run a model.

Keys: schemas/catalogues/frameworks/torchtune.yaml. OmegaConf loads the file
(torchtune/config/_parse.py) and builds every map with a `_component_`; the recipe reads
the keys that it knows and no others. Sources, at 0.6.1 and bd2a0fc7c:
recipes/{full,lora}_finetune_distributed.py, recipes/lora_dpo_distributed.py,
recipes/dev/grpo_full_finetune_distributed.py, torchtune/training/checkpointing,
torchtune/models/*/_model_builders.py.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import Config
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    boolean,
    fixed_defaults,
    integer,
    number,
    section,
    text,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_AT = "model._component_"
_Settings = Mapping[str, object]
_FULL_SHARD = 3
_SHARD_GRAD_OP = 2
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
_FORMAT = "torchtune"
_PACKAGE = "torchtune."


def _last(value: object) -> object:
    """Return the last part of a dotted name, in lower case."""
    word = text(value)
    return word.rpartition(".")[2].lower() if isinstance(word, str) else word


def _schedule(value: object) -> object:
    """Return the schedule: `get_cosine_schedule_with_warmup` is `cosine`."""
    word = _last(value)
    if not isinstance(word, str):
        return word
    return word.removeprefix("get_").partition("_schedule")[0]


def _compiled(value: object) -> object:
    """Return a switch, or a map that says what is compiled."""
    if isinstance(value, dict):
        return value.get("model", True) is not False
    return boolean(value)


def _clipped(value: object) -> object:
    """Return the norm to clip at; `inf` only measures it."""
    return 0.0 if str(value).lower() in {"inf", ".inf"} else number(value)


_TRAINING: Fields = {
    "clip_grad_norm": ("optimizer.clip_norm", _clipped),
    "compile": ("kernels.compiled", _compiled),
    "enable_activation_offloading": ("memory.activation_offload", boolean),
    "optimizer": {
        _COMPONENT: ("optimizer.name_of_optimizer", _last),
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "fused": ("kernels.fused_optimizer", boolean),
    },
    "checkpointer": {
        "output_dir": ("checkpoint.directory", text),
        "keep_last_n_checkpoints": ("checkpoint.keep_last", integer),
    },
    "seed": ("run.seed", integer),
}
_FIELDS: Fields = {
    **_TRAINING,
    "training": _TRAINING,
    "tokenizer": {"max_seq_len": ("batch.sequence_length", integer)},
    "tensor_parallel_dim": ("parallelism.tensor_parallel_size", integer),
    "context_parallel_dim": ("parallelism.context_parallel_size", integer),
    "data_parallel_replicate_dim": ("parallelism.replicate_size", integer),
    "data_parallel_shard_dim": ("parallelism.shard_size", integer),
    "enable_fp8_training": ("precision.fp8", boolean),
    "fp8_recipe_name": ("precision.fp8_recipe", text),
    "lr_scheduler": {
        _COMPONENT: ("optimizer.schedule", _schedule),
        "num_warmup_steps": ("optimizer.warmup_steps", integer),
    },
    "enable_async_checkpointing": ("checkpoint.asynchronous", boolean),
    "resume_from_checkpoint": ("checkpoint.resume", boolean),
    "dataloader": {
        "num_workers": ("data.workers", integer),
        "pin_memory": ("data.pin_memory", boolean),
        "prefetch_factor": ("data.prefetch_factor", integer),
    },
    "log_every_n_steps": ("telemetry.log_interval_steps", integer),
    "profiler": {"enabled": ("telemetry.profiler", boolean)},
    "epochs": ("run.epochs", number),
    "cudnn_deterministic_mode": ("run.deterministic", boolean),
    "grpo_samples": ("run.generations_per_prompt", integer),
}
_MODEL: Fields = {
    "model": {
        "embed_dim": ("model.hidden_size", integer),
        "intermediate_dim": ("model.feed_forward_size", integer),
        "num_heads": ("model.attention_heads", integer),
        "num_kv_heads": ("model.key_value_heads", integer),
        "num_layers": ("model.layers", integer),
        "vocab_size": ("model.vocabulary_size", integer),
    }
}
_ALWAYS = fixed_defaults("torchtune runs on PyTorch", {"run.uses_torch": True})


def detect(document: Document) -> float:
    """Recognise it by a section with a component; surely by one of torchtune."""
    data = section(document.data)
    named = [section(value).get(_COMPONENT) for value in data.values()]
    texts = [name for name in named if isinstance(name, str) and name]
    if not texts:
        return 0.0
    return 0.95 if any(name.startswith(_PACKAGE) for name in texts) else 0.6


def read(document: Document) -> Reading:
    """Return what a recipe states; one that does not train only tells its model."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    sheet.derive("run.framework", "torchtune", "components of torchtune", ())
    config = Config(sheet, data)
    _state_model(config)
    config.apply(_MODEL)
    if section(data, "optimizer") or section(data, "training", "optimizer"):
        config.apply(_FIELDS)
        config.put_betas("optimizer.betas")
        _state_recipe(config)
    add_defaults(sheet, _ALWAYS)
    keyed = keyed_file(
        document,
        _FORMAT,
        keys_of_format(_FORMAT),
        # OmegaConf.load raises on a key that stands twice (omegaconf/_utils.py).
        refuses_duplicates=True,
    )
    return Reading(sheet, keyed)


def _component(config: Config, name: str) -> str:
    """Return the last part of the name of a component; empty where there is none."""
    result = config.get(f"{name}.{_COMPONENT}")
    return result.rpartition(".")[2] if isinstance(result, str) else ""


def _state_model(config: Config) -> None:
    """State what the builder and its arguments say."""
    leaf, name = "model.adapter", _component(config, "model")
    if not config.get(_AT) or not isinstance(config.get(_AT), str):
        return
    config.derive("model.name_of_model", name, "the builder of the model", _AT)
    config.default("model.family", "transformer", "all of torchtune's models are")
    if not name.startswith(("lora_", "qlora_")):
        config.derive(leaf, "none", f"{name} builds all weights", _AT)
        return
    is_stated = config.switch("model.quantize_base") is True
    is_quantized = is_stated or name.startswith("q")
    if config.switch("model.use_dora") is True:
        config.derive(leaf, "dora", "use_dora", "model.use_dora")
    else:
        config.derive(leaf, "qlora" if is_quantized else "lora", name, _AT)
    if is_quantized:
        key = "model.quantize_base" if is_stated else _AT
        config.derive("model.quantized_bits", _QUANTIZED_BITS, "NF4 weights", key)


def _state_recipe(config: Config) -> None:
    """State what a recipe that trains does, after its fields."""
    _role(config)
    # A recipe that samples from its model has other batches.
    if all(config.get(key) is None for key in _RL_KEYS):
        _batch(config)
    _precision(config)
    _sharding(config)
    _memory(config)
    _saving(config)
    # `max_steps_per_epoch` bounds the run; without it the data set does.
    limit, epochs = (
        config.whole(key, integer) for key in ("max_steps_per_epoch", "epochs")
    )
    if limit is not None and limit > 0 and epochs is not None:
        note = f"at most {limit:,} steps x {epochs} epochs = {limit * epochs:,}"
        keys = ("max_steps_per_epoch", "epochs")
        config.derive("run.steps", limit * epochs, note, *keys)
    _telemetry(config)
    add_defaults(config.sheet, _OF_A_RECIPE)
    add_defaults(config.sheet, _NOT_SET)


def _role(config: Config) -> None:
    """State role by the keys that only some recipes read, the loss, and the builder."""
    own = next((key for key in _RL_KEYS if config.get(key) is not None), "")
    loss = config.get(f"loss.{_COMPONENT}")
    is_of_rewards = isinstance(loss, str) and "rlhf" in loss
    has_adapter = _component(config, "model").startswith(("lora_", "qlora_"))
    is_text = _component(config, "dataset") == "text_completion_dataset"
    note = "what the recipe trains"
    if not config.first(
        "run.role",
        (own, "rl", note, own),
        (is_of_rewards, "rl", note, f"loss.{_COMPONENT}"),
        (has_adapter, "lora", note, _AT),
        (is_text, "continued", note, f"dataset.{_COMPONENT}"),
    ):
        config.default("run.role", "sft", "the recipes of torchtune fine-tune")


def _batch(config: Config) -> None:
    config.put("batch.micro_batch_size", "batch_size", integer)
    key = "gradient_accumulation_steps"
    config.put(f"batch.{key}", key, integer)
    leaf, key = "batch.packing", "dataset.packed"
    if not config.put_first(leaf, boolean, key) and config.get(f"dataset.{_COMPONENT}"):
        config.default(leaf, value=False, note=f"{key} is not set: false")


def _precision(config: Config) -> None:
    """State that weights, gradients and states all have the type of `dtype`."""
    dtype, leaf = config.get("dtype"), "precision.compute_dtype"
    if not isinstance(dtype, str):
        return
    if dtype not in _DTYPES:
        config.unusable(leaf, f"{dtype:.40} is no type", "dtype")
        return
    config.state(leaf, _DTYPES[dtype], "dtype")
    note = f"dtype {dtype} holds for all of the training"
    values: dict[str, object] = dict.fromkeys(_WHOLLY, _DTYPES[dtype])
    add_defaults(config.sheet, fixed_defaults(note, values))


def _sharding(config: Config) -> None:
    key, leaf = "fsdp_reshard_after_forward", "parallelism.sharding_stage"
    degree, frees = "data_parallel_shard_dim", config.switch(key)
    if integer(config.get(degree, -1)) == 1:
        config.derive(leaf, 0, f"{degree} 1: nothing is sharded", degree)
    elif frees is not None:
        stage = _FULL_SHARD if frees else _SHARD_GRAD_OP
        config.derive(leaf, stage, f"{key}: {str(frees).lower()}", key)
    else:
        config.default(leaf, _FULL_SHARD, "the distributed recipes shard fully")
    for key in ("fsdp_cpu_offload", "fsdp.cpu_offload"):
        switch = config.switch(key)
        if switch is not None:
            note = "FSDP moves all states to the host"
            for states in ("parameter", "optimizer"):
                leaf = f"memory.{states}_offload_device"
                config.derive(leaf, "cpu" if switch else "none", note, key)


def _memory(config: Config) -> None:
    """State that the older switch recomputes in full; it overrules `ac_mode`."""
    name, leaf = "enable_activation_checkpointing", "memory.recompute_mode"
    key = name if name in config else f"training.{name}"
    stated, mode = config.get(key), config.get("ac_mode")
    switch = boolean(stated) if stated is not None else False
    if isinstance(switch, Unusable):
        config.unusable(leaf, switch.reason, key)
    else:
        config.first(
            leaf,
            (switch, "full", f"{name}: true", key),
            (isinstance(mode, str), str(mode), "ac_mode", "ac_mode"),
            (stated is not None, "none", f"{name}: false", key),
        )


def _saving(config: Config) -> None:
    """State a checkpoint at the end of each epoch, in newer recipes also within one."""
    key, unit = "save_every_n_steps", "checkpoint.interval_unit"
    steps = config.whole(key, integer)
    if steps is not None:
        config.state("checkpoint.interval_steps", steps, key)
        config.derive(unit, "steps", key, key)
    else:
        note = "checkpoints are written at the end of an epoch"
        config.default(unit, "epoch", note)
    leaf, key = "checkpoint.format", "enable_async_checkpointing"
    if config.switch(key) is True:
        note = "distributed checkpoints between the epochs"
        config.derive(leaf, "sharded", note, key)
    else:
        config.default(leaf, "full", "weights are gathered before they are written")


def _telemetry(config: Config) -> None:
    name = _component(config, "metric_logger")
    if name in _SINKS:
        key = f"metric_logger.{_COMPONENT}"
        config.derive("telemetry.sinks", _SINKS[name], name, key)
    if _component(config, "loss").endswith("LinearCrossEntropyLoss"):
        note = "projection and loss are computed in chunks, together"
        config.turn("kernels.fused_cross_entropy", note, f"loss.{_COMPONENT}")


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("checkpointer", "tokenizer"),
    interpolates=True,
)
