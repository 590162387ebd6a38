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
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.convert import Unusable, boolean, integer, number, text
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.facts import FactSheet
from speccheck.validator.sources.keyed import keyed_file
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    apply,
    derive_switch,
    fixed_defaults,
    put,
    put_numbers,
    section,
)
from speccheck.validator.sources.reader import Reader, Reading

_AT = ("model", "_component_")
_LLAMA2, _LLAMA3, _QWEN, _QWEN_LARGE, _GEMMA = (
    32_000,
    128_256,
    151_936,
    152_064,
    256_000,
)
_LEAVES = (
    "model.hidden_size",
    "model.layers",
    "model.attention_heads",
    "model.key_value_heads",
    "model.head_dimension",
    "model.feed_forward_size",
    "model.vocabulary_size",
    "model.tied_embeddings",
)
_8B = (4096, 32, 32, 8, 128, 14336, _LLAMA3, False)
_70B = (8192, 80, 64, 8, 128, 28672, _LLAMA3, False)
_405B = (16384, 126, 128, 8, 128, 53248, _LLAMA3, False)
_QWEN_HALF = (896, 24, 14, 2, 64, 4864, _QWEN, True)
_QWEN_1_5B = (1536, 28, 12, 2, 128, 8960, _QWEN, True)
_QWEN_7B = (3584, 28, 28, 4, 128, 18944, _QWEN_LARGE, False)
# hidden, layers, heads, key-value heads, head dimension, feed-forward, vocabulary,
# tied embeddings
_BUILDERS = {
    "llama2_7b": (4096, 32, 32, 32, 128, 11008, _LLAMA2, False),
    "llama2_13b": (5120, 40, 40, 40, 128, 13824, _LLAMA2, False),
    "llama2_70b": (8192, 80, 64, 8, 128, 28672, _LLAMA2, False),
    "llama3_8b": _8B,
    "llama3_70b": _70B,
    "llama3_1_8b": _8B,
    "llama3_1_70b": _70B,
    "llama3_1_405b": _405B,
    "llama3_2_1b": (2048, 16, 32, 8, 64, 8192, _LLAMA3, True),
    "llama3_2_3b": (3072, 28, 24, 8, 128, 8192, _LLAMA3, True),
    "llama3_3_70b": _70B,
    "mistral_7b": (4096, 32, 32, 8, 128, 14336, _LLAMA2, False),
    "gemma_2b": (2048, 18, 8, 1, 256, 16384, _GEMMA, True),
    "gemma_7b": (3072, 28, 16, 16, 256, 24576, _GEMMA, True),
    "gemma2_27b": (4608, 46, 32, 16, 128, 36864, _GEMMA, True),
    "phi3_mini": (3072, 32, 32, 32, 96, 8192, 32_064, False),
    "qwen2_0_5b": _QWEN_HALF,
    "qwen2_1_5b": _QWEN_1_5B,
    "qwen2_7b": _QWEN_7B,
    "qwen2_5_0_5b": _QWEN_HALF,
    "qwen2_5_1_5b": _QWEN_1_5B,
    "qwen2_5_3b": (2048, 36, 16, 2, 128, 11008, _QWEN, True),
    "qwen2_5_7b": _QWEN_7B,
    "qwen2_5_14b": (5120, 48, 40, 8, 128, 13824, _QWEN_LARGE, False),
    "qwen2_5_32b": (5120, 64, 40, 8, 128, 27648, _QWEN_LARGE, False),
    "qwen2_5_72b": (8192, 80, 64, 8, 128, 29568, _QWEN_LARGE, False),
    "qwen3_0_6b": (1024, 28, 16, 8, 128, 3072, _QWEN, True),
    "qwen3_1_7b": (2048, 28, 16, 8, 128, 6144, _QWEN, True),
    "qwen3_4b": (2560, 36, 32, 8, 128, 9728, _QWEN, True),
    "qwen3_8b": (4096, 36, 32, 8, 128, 12288, _QWEN, False),
    "qwen3_14b": (5120, 40, 40, 8, 128, 17408, _QWEN, False),
    "qwen3_32b": (5120, 64, 64, 8, 128, 25600, _QWEN, False),
}
_ENDINGS = ("_instruct", "_base")
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
    """The last part of a dotted name, in lower case."""
    word = text(value)
    return word.rpartition(".")[2].lower() if isinstance(word, str) else word


def _schedule(value: object) -> object:
    """`get_cosine_schedule_with_warmup` is the schedule `cosine`."""
    word = _last(value)
    if not isinstance(word, str):
        return word
    return word.removeprefix("get_").partition("_schedule")[0]


def _compiled(value: object) -> object:
    """A switch, or a map that says what is compiled."""
    if isinstance(value, dict):
        return value.get("model", True) is not False
    return boolean(value)


def _clipped(value: object) -> object:
    """`inf` only measures the norm."""
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
_BETAS = ("optimizer.beta1", "optimizer.beta2")


def detect(document: Document) -> float:
    """By a section that names a component; surely by one of torchtune itself."""
    data = section(document.data)
    named = [_component(data, str(key)) for key in data]
    found = [name for name in named if name]
    if not found:
        return 0.0
    return 0.95 if any(name.startswith(_PACKAGE) for name in found) else 0.6


def read(document: Document) -> Reading:
    """What a recipe states; one that does not train only tells its model."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    at: KeyPath = ()
    sheet.derive("run.framework", "torchtune", "components of torchtune", at)
    _state_model(sheet, data)
    apply(sheet, data, _MODEL)
    if section(data, "optimizer") or section(data, "training", "optimizer"):
        apply(sheet, data, _FIELDS)
        betas = section(data, "optimizer").get("betas")
        put_numbers(sheet, _BETAS, betas, ("optimizer", "betas"))
        _state_recipe(sheet, data)
    add_defaults(sheet, _ALWAYS)
    keyed = keyed_file(
        document,
        _FORMAT,
        keys_of_format(_FORMAT),
        # OmegaConf.load raises on a key that stands twice (omegaconf/_utils.py).
        refuses_duplicates=True,
    )
    return Reading(sheet, keyed)


def _state_builder(sheet: FactSheet, component: str) -> None:
    """State the dimensions of a builder that is known, and its name."""
    builder = component.rpartition(".")[2]
    sheet.derive("model.name_of_model", builder, "the builder of the model", _AT)
    name = builder.removeprefix("q").removeprefix("lora_") if "lora_" in builder else ""
    name = name or builder
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    dimensions = _BUILDERS.get(name)
    if dimensions is None:
        return
    note = f"torchtune builds {name} so"
    for leaf, value in zip(_LEAVES, dimensions, strict=True):
        sheet.derive(leaf, value, note, _AT)
    derive_switch(sheet, "model.gated_feed_forward", note, _AT)


def _component(data: _Settings, *names: str) -> str:
    """The dotted name of a component; empty where there is none."""
    found = section(data, *names).get(_COMPONENT)
    return found if isinstance(found, str) else ""


def _is_reinforcement(data: _Settings) -> bool:
    """Whether the recipe samples from its model, so that its batches differ."""
    return any(data.get(key) is not None for key in _RL_KEYS)


def _state_model(sheet: FactSheet, data: _Settings) -> None:
    """State what the builder and its arguments say."""
    model, builder = section(data, "model"), _component(data, "model")
    if not builder:
        return
    at = ("model", _COMPONENT)
    _state_builder(sheet, builder)
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


def _state_recipe(sheet: FactSheet, data: _Settings) -> None:
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


def _role(sheet: FactSheet, data: _Settings) -> None:
    """Of the keys that only some recipes read, the loss, and the builder."""
    own = next((key for key in _RL_KEYS if data.get(key) is not None), None)
    loss, name = _component(data, "loss"), _component(data, "model").rpartition(".")[2]
    text = _component(data, "dataset").rpartition(".")[2]
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


def _batch(sheet: FactSheet, data: _Settings) -> None:
    if _is_reinforcement(data):
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
    elif _component(data, "dataset"):
        note = "dataset.packed is not set: false"
        sheet.default("batch.packing", value=False, note=note)


def _precision(sheet: FactSheet, data: _Settings) -> None:
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


def _sharding(sheet: FactSheet, data: _Settings) -> None:
    key, leaf = "fsdp_reshard_after_forward", "parallelism.sharding_stage"
    keeps = boolean(data.get(key)) if data.get(key) is not None else True
    shards = integer(data.get("data_parallel_shard_dim", -1))
    if shards == 1:
        note = "data_parallel_shard_dim 1: nothing is sharded"
        sheet.derive(leaf, 0, note, ("data_parallel_shard_dim",))
    elif data.get(key) is not None and isinstance(keeps, bool):
        note = f"{key}: {str(keeps).lower()}"
        sheet.derive(leaf, _FULL_SHARD if keeps else _SHARD_GRAD_OP, note, (key,))
    else:
        sheet.default(leaf, _FULL_SHARD, "the distributed recipes shard fully")
    for switch in (("fsdp_cpu_offload",), ("fsdp", "cpu_offload")):
        value = section(data, *switch[:-1]).get(switch[-1])
        converted = boolean(value) if value is not None else None
        if isinstance(converted, bool):
            device = "cpu" if converted else "none"
            for states in ("parameter", "optimizer"):
                name = f"memory.{states}_offload_device"
                sheet.derive(name, device, "FSDP moves all states to the host", switch)


def _memory(sheet: FactSheet, data: _Settings) -> None:
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


def _saving(sheet: FactSheet, data: _Settings) -> None:
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


def _length(sheet: FactSheet, data: _Settings) -> None:
    """`max_steps_per_epoch` bounds the run; without it the data set does."""
    epochs, steps = integer(data.get("epochs")), data.get("max_steps_per_epoch")
    limit = integer(steps)
    if isinstance(limit, int) and limit > 0 and isinstance(epochs, int):
        note = f"at most {limit:,} steps x {epochs} epochs = {limit * epochs:,}"
        at = ("max_steps_per_epoch",)
        sheet.derive("run.steps", limit * epochs, note, at, ("epochs",))


def _telemetry(sheet: FactSheet, data: _Settings) -> None:
    name = _component(data, "metric_logger").rpartition(".")[2]
    if name in _SINKS:
        at = ("metric_logger", _COMPONENT)
        sheet.derive("telemetry.sinks", _SINKS[name], name, at)
    if _component(data, "loss").endswith("LinearCrossEntropyLoss"):
        note = "projection and loss are computed in chunks, together"
        at = ("loss", _COMPONENT)
        derive_switch(sheet, "kernels.fused_cross_entropy", note, at)


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=("checkpointer", "tokenizer"),
    interpolates=True,
)
