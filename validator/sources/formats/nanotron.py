"""nanotron's YAML file.

Loaded by PyYAML and converted by dacite, which refuses a text where its dataclasses
want a number (src/nanotron/config/config.py, get_config_from_dict). Keys and defaults:
schemas/catalogues/frameworks/nanotron.yaml. Sources, at v0.5 and at 2411b02 of 2025:
src/nanotron/config, trainer.py, helpers.py, parallel/context.py,
optim/gradient_accumulator.py, serialize/main.py.
"""

from collections.abc import Mapping
from math import gcd, prod

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import Config, defaults_of
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer,
    items,
    lower_text,
    mebibytes,
    number,
    one_of,
    placeholder,
    section,
    tabulated_defaults,
    text,
    texts_for_values,
    weak_default,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_Settings = Mapping[str, object]
_COMMON = fixed_defaults(
    "nanotron has no other way",
    {
        "run.uses_torch": True,
        "batch.mode": "fixed",
        "parallelism.ulysses_size": 1,
        "parallelism.virtual_stages": 1,
        # build_model spreads the blocks over the stages by their cost.
        "parallelism.pipeline_layout": "by the cost of the blocks",
        "checkpoint.format": "sharded",
        "checkpoint.asynchronous": False,
        "checkpoint.save_optimizer": True,
        "checkpoint.keep_last": 0,
        "telemetry.throughput": True,
        "data.resumable": True,
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
    },
)
_CONSERVATIVE = fixed_defaults(
    "not set: off (ParallelismArgs)",
    {
        "parallelism.sequence_parallel": False,
        "communication.overlap_tensor_parallel": False,
        "memory.recompute_mode": "none",
    },
)
_DATA: Fields = {
    "num_loading_workers": ("data.workers", integer),
    "seed": ("data.seed", integer),
}
# The key that selects the class of the model, and whether its feed-forward is gated.
_FAMILIES = {
    "is_llama_config": ("llama", True),
    "is_qwen2_config": ("qwen2", True),
    "is_llamoe_config": ("llamoe", True),
    "is_starcoder2_config": ("starcoder2", False),
}
_WIDEST_GRID = 128  # the largest multiple that matrix units ask for
_DEGREES = (
    ("dp", "parallelism.data_parallel_size"),
    ("tp", "parallelism.tensor_parallel_size"),
    ("pp", "parallelism.pipeline_parallel_size"),
    ("cp", "parallelism.context_parallel_size"),
)
_FORMAT = "nanotron"
_DEGREE_KEYS = frozenset({"dp", "pp", "tp"})
_TOKENS = frozenset(
    {
        "batch_accumulation_per_replica",
        "micro_batch_size",
        "sequence_length",
        "train_steps",
    }
)


def _number(value: object) -> object:
    """Return a number; dacite refuses a text."""
    if isinstance(value, str):
        return placeholder(value) or Unusable(f"the text {value!r:.60}: refused")
    return number(value)


_MODE = one_of({"all_reduce": False, "reduce_scatter": True})
_DTYPE = one_of(
    {
        "bfloat16": "bf16",
        "float16": "fp16",
        "float32": "fp32",
        "bf16": "bf16",
        "fp16": "fp16",
        "fp32": "fp32",
    }
)
_ATTENTION = one_of(
    {
        "flash_attention_2": "flash",
        "llama3_ring_attention": "flash",
        "ring": "flash",
        "ring_flash_triton": "flash",
        "sdpa": "sdpa",
        "flex_attention": "flex",
        "eager": "eager",
    }
)
_ADAM: Fields = {
    "adam_beta1": ("optimizer.beta1", _number),
    "adam_beta2": ("optimizer.beta2", _number),
    "torch_adam_is_fused": ("kernels.fused_optimizer", boolean),
}
_FIELDS: Fields = {
    "tokens": {
        "sequence_length": ("batch.sequence_length", integer),
        "train_steps": ("run.steps", integer),
        "micro_batch_size": ("batch.micro_batch_size", integer),
        "batch_accumulation_per_replica": (
            "batch.gradient_accumulation_steps",
            integer,
        ),
    },
    "parallelism": {
        "dp": ("parallelism.data_parallel_size", integer),
        "tp": ("parallelism.tensor_parallel_size", integer),
        "pp": ("parallelism.pipeline_parallel_size", integer),
        "context_parallel_size": ("parallelism.context_parallel_size", integer),
        "expert_parallel_size": ("parallelism.expert_parallel_size", integer),
        "tp_mode": ("parallelism.sequence_parallel", _MODE),
        "tp_linear_async_communication": (
            "communication.overlap_tensor_parallel",
            boolean,
        ),
        "recompute_granularity": ("memory.recompute_mode", lower_text),
    },
    "optimizer": {
        **_ADAM,
        "optimizer_factory": {
            **_ADAM,
            "name": ("optimizer.name_of_optimizer", lower_text),
        },
        "zero_stage": ("parallelism.sharding_stage", integer),
        "weight_decay": ("optimizer.weight_decay", _number),
        "clip_grad": ("optimizer.clip_norm", _number),
        "learning_rate_scheduler": {
            "learning_rate": ("optimizer.learning_rate", _number),
            "min_decay_lr": ("optimizer.minimum_learning_rate", _number),
            "lr_warmup_steps": ("optimizer.warmup_steps", integer),
            "lr_decay_style": ("optimizer.schedule", lower_text),
        },
    },
    "checkpoints": {
        "checkpoint_interval": ("checkpoint.interval_steps", integer),
        "checkpoints_path": ("checkpoint.directory", text),
    },
    "model": {
        "dtype": ("precision.parameter_dtype", _DTYPE),
        "ddp_bucket_cap_mb": ("communication.gradient_bucket_bytes", mebibytes),
        "model_config": {
            "hidden_size": ("model.hidden_size", integer),
            "intermediate_size": ("model.feed_forward_size", integer),
            "num_hidden_layers": ("model.layers", integer),
            "num_attention_heads": ("model.attention_heads", integer),
            "num_key_value_heads": ("model.key_value_heads", integer),
            "num_kv_heads": ("model.key_value_heads", integer),
            "vocab_size": ("model.vocabulary_size", integer),
            "max_position_embeddings": ("model.maximum_positions", integer),
            "tie_word_embeddings": ("model.tied_embeddings", boolean),
            "moe_num_experts": ("model.experts", integer),
            "num_experts_per_tok": ("model.experts_per_token", integer),
            "moe_config": {
                "num_experts": ("model.experts", integer),
                "top_k": ("model.experts_per_token", integer),
                "moe_intermediate_size": ("model.expert_feed_forward_size", integer),
            },
            "_attn_implementation": ("kernels.attention_backend", _ATTENTION),
            "_fused_rms_norm": ("kernels.fused_normalization", boolean),
        },
    },
    "general": {"seed": ("run.seed", integer)},
    "logging": {
        "iteration_step_info_interval": ("telemetry.log_interval_steps", integer)
    },
    "data": {
        "num_loading_workers": ("data.workers", integer),
        "seed": ("data.seed", integer),
    },
}
_DEFAULTS = defaults_of(
    _FIELDS,
    "parallelism.context_parallel_size",
    "parallelism.expert_parallel_size",
    "model.ddp_bucket_cap_mb",
    "logging.iteration_step_info_interval",
)


def detect(document: Document) -> float:
    """Recognise it by the degrees of `parallelism` beside the numbers of `tokens`."""
    data = section(document.data)
    degrees = len(_DEGREE_KEYS.intersection(section(data, "parallelism")))
    tokens = len(_TOKENS.intersection(section(data, "tokens")))
    if not degrees or not tokens:
        return 0.0
    return min(0.98, 0.3 + 0.15 * degrees + 0.08 * tokens)


def read(document: Document) -> Reading:
    """Return what the file states, and what nanotron does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS))
    _state_job(Config(sheet, data))
    catalogue = keys_of_format(_FORMAT)
    keyed = keyed_file(document, _FORMAT, catalogue)
    loaded_as = texts_for_values(keyed.keys, catalogue, _is_fatal)
    return Reading(sheet, keyed._replace(loaded_as=loaded_as))


def _is_fatal(path: KeyPath) -> bool | None:
    """Return whether it is fatal.

    Dacite checks every type; weights of data folders only some releases do.
    """
    return None if "dataset_folder" in path else True


def _state_job(config: Config) -> None:
    """State what follows from several settings, after fields and defaults."""
    note = "degrees beside tokens: nanotron's sections"
    config.derive("run.framework", "nanotron", note, "parallelism")
    warmup = config.known("optimizer.warmup_steps")
    _mesh(config)
    key = "parallelism.recompute_layer"
    switch = config.switch(key)
    if switch is not None:
        note = f"recompute_layer: {str(switch).lower()}"
        config.derive("memory.recompute_mode", "full" if switch else "none", note, key)
    _precision(config)
    _schedule(config.section("optimizer.learning_rate_scheduler"), warmup)
    key = "optimizer.clip_grad"
    if key in config and config.get(key) is None:
        config.derive("optimizer.clip_norm", 0.0, "clip_grad: null", key)
    _model(config)
    _vocabulary(config)
    _checkpoint(config.section("checkpoints"))
    # The loader of the first stage; later ones may differ.
    stages = items(config.get("data_stages"))
    for stage in stages[:1]:
        at = ("data_stages", 0, "data")
        Config(config.sheet, section(stage, "data"), at).apply(_DATA)
    _role(config, stages)
    if "profiler" in config:
        is_on = config.get("profiler.profiler_export_path") is not None
        config.turn("telemetry.profiler", "profiler", "profiler", is_on=is_on)
    add_defaults(config.sheet, _COMMON)
    add_defaults(config.sheet, _CONSERVATIVE)


def _mesh(config: Config) -> None:
    """State the world size, the product of the degrees (ParallelContext).

    Releases differ in whether expert-parallel ranks are counted in.
    """
    degrees = [(name, config.known(leaf)) for name, leaf in _DEGREES]
    ranks = [value for _, value in degrees if isinstance(value, int) and value > 0]
    experts = config.known("parallelism.expert_parallel_size")
    if len(ranks) < len(degrees) or experts != 1:
        return
    world_size = prod(ranks)
    factors = " x ".join(f"{name} {value}" for name, value in degrees)
    note = f"{factors} = {world_size:,}; the launcher must start as many"
    weak_default(config.sheet, "cluster.world_size", world_size, note, ("parallelism",))
    zero, key = config.known("parallelism.sharding_stage"), "parallelism.dp"
    if isinstance(zero, int) and key in config:
        replicas, shards = (1, ranks[0]) if zero else (ranks[0], 1)
        note = f"zero_stage {zero}"
        config.derive("parallelism.replicate_size", replicas, note, key)
        config.derive("parallelism.shard_size", shards, note, key)


def _precision(config: Config) -> None:
    """State that weights, compute and reduction share a dtype, but for sums in fp32."""
    key, stated = "model.dtype", config.known("precision.parameter_dtype")
    dtype = str(stated) if stated is not None else None
    if dtype is not None:
        note = f"{key} is {dtype}"
        config.derive("precision.compute_dtype", dtype, note, key)
        config.turn_halves(dtype, note, key)
    elif config.get(key) is None:
        dtype, note = "bf16", f"{key} is not set: bfloat16"
        for leaf in ("parameter_dtype", "compute_dtype"):
            config.default(f"precision.{leaf}", dtype, note)
        config.default("precision.bf16", value=True, note=note)
    key = "optimizer.accumulate_grad_in_fp32"
    wide = config.switch(key)
    # FP32GradientAccumulator keeps sums and master weights in fp32, and its hook
    # reduces those sums; without it DDP reduces gradients as they are.
    if wide or (wide is False and dtype is not None):
        note = f"accumulate_grad_in_fp32: {str(wide).lower()}"
        for part in ("gradient_accumulate", "gradient_reduce", "optimizer_state"):
            leaf, value = f"precision.{part}_dtype", "fp32" if wide else dtype
            config.derive(leaf, value, note, key)


def _schedule(schedule: Config, warmup: object) -> None:
    """State that the decay is counted from its first step, not from the run's."""
    key = "lr_decay_steps"
    steps, start = schedule.get(key), schedule.get("lr_decay_starting_step")
    if start is None:
        start = 0 if warmup is None else warmup
    if isinstance(steps, int) and isinstance(start, int):
        note = f"from step {start:,} on for {steps:,} steps"
        schedule.derive("optimizer.decay_steps", start + steps, note, key)


def _model(config: Config) -> None:
    model = config.section("model.model_config")
    for key, (name, is_gated) in _FAMILIES.items():
        if model.switch(key) is True:
            model.derive("model.name_of_model", name, key, key)
            model.derive("model.family", "transformer", key, key)
            model.turn("model.gated_feed_forward", key, key, is_on=is_gated)
            note = f"nanotron's {name} calls flash-attn"
            if model.get("_attn_implementation") is None:
                model.default("kernels.attention_backend", "flash", note)
            break
    heads, key = model.whole("num_attention_heads", integer), "num_key_value_heads"
    if key in model and model.get(key) is None and heads is not None:
        note = "null: as many as attention heads"
        model.derive("model.key_value_heads", heads, note, key)


def _vocabulary(config: Config) -> None:
    """State the padded vocabulary (_vocab_size_with_padding), and what divides it."""
    key = "model.make_vocab_size_divisible_by"
    multiple = integer(config.get(key, 1))
    size = config.known("model.vocabulary_size")
    ranks = config.known("parallelism.tensor_parallel_size")
    numbers = [each for each in (multiple, size, ranks) if isinstance(each, int)]
    if len(numbers) < len((multiple, size, ranks)) or min(numbers) < 1:
        return
    multiple, size, ranks = numbers
    padded = -(-size // (multiple * ranks)) * multiple * ranks
    note = f"{size:,} padded to a multiple of {multiple} x tp {ranks}: {padded:,}"
    keys = [key] if key in config else []
    common = gcd(padded, _WIDEST_GRID)
    keys.append("model.model_config.vocab_size")
    config.derive("model.vocabulary_multiple", common, note, *keys)


def _checkpoint(saving: Config) -> None:
    key = "checkpoint_interval"
    if key not in saving:
        return
    saving.turn("checkpoint.enabled", f"{key} is set", key)
    saving.derive("checkpoint.interval_unit", "steps", key, key)
    leaf, key = "checkpoint.resume", "resume_checkpoint_path"
    source, target = saving.get(key), saving.get("checkpoints_path")
    if source is None:
        saving.default(leaf, value=False, note=f"{key} is not set")
    elif isinstance(source, str) and str(target).rstrip("/") == source.rstrip("/"):
        saving.turn(leaf, "the newest checkpoint of checkpoints_path", key)
    else:
        saving.unusable(leaf, "another folder than checkpoints_path", key)


def _role(config: Config, stages: list[object]) -> None:
    is_debug = config.get("general.project") == "debug"
    is_tuning = any(
        "sft_dataloader" in section(stage, "data", "dataset") for stage in stages
    )
    key = "model.init_method"
    has_weights = config.get(f"{key}.path") is not None
    weights = "from the weights of init_method.path"
    is_stated = config.first(
        "run.role",
        (is_debug, "debug", "project: debug", "general.project"),
        (is_tuning, "sft", "sft_dataloader", "data_stages"),
        (has_weights, "continued", weights, f"{key}.path"),
    )
    if not is_stated and (f"{key}.std" in config or f"{key}.use_mup" in config):
        config.default("run.role", "pretrain", "init_method: random weights")


READER = Reader(_FORMAT, "config", detect, read, keys=("tokens",))
