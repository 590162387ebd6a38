"""Axolotl's YAML file.

Its schema converts texts to numbers (axolotl/utils/schemas/), so `2e-4` is a number.
Sources of behaviour: axolotl/core/builders/base.py, utils/config/__init__.py, 0.12.
"""

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import ONE_OF_EACH, Config, defaults_of
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    SAVE_UNITS,
    attention,
    default_bits,
    fsdp_version,
    hand_to_deepspeed,
    resume,
    state_bits,
    state_fsdp,
    state_fsdp_words,
    state_interval,
    state_liger,
    state_optimizer_kernel,
    state_recompute,
)
from speccheck.validator.sources.formats.deepspeed import state_deepspeed
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    boolean,
    fixed_defaults,
    integer_text,
    items,
    lower_text,
    mebibytes,
    negation,
    number,
    section,
    tabulated_defaults,
    text,
    without_place,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Reader,
    Reading,
    Reference,
    keyed_file,
)

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
_FORMAT = "axolotl"
_COMPANIONS = frozenset(
    {
        "micro_batch_size",
        "sequence_len",
        "datasets",
        "pretraining_dataset",
        "adapter",
        "sample_packing",
        "num_epochs",
        "val_set_size",
        "gradient_accumulation_steps",
        "dataset_prepared_path",
    }
)
_FOREIGN_KEYS = frozenset({"merge_method", "models", "slices"})  # mergekit
_FEWEST_COMPANIONS = 2
_OFFLOAD_WORDS = ("legacy", "disk", "hidden_states")


def _offload(value: object) -> object:
    """Return a switch, or the word for where activations go."""
    return True if value in _OFFLOAD_WORDS else boolean(value)


def _degree(value: object) -> object:
    """Return a parallel degree; 0 means that it is not set."""
    size = integer_text(value)
    return 1 if size == 0 and size is not False else size


_FIELDS: Fields = {
    "micro_batch_size": ("batch.micro_batch_size", integer_text),
    "gradient_accumulation_steps": ("batch.gradient_accumulation_steps", integer_text),
    "sequence_len": ("batch.sequence_length", integer_text),
    "sample_packing": ("batch.packing", boolean),
    "fp16": ("precision.fp16", boolean),
    "fp8": ("precision.fp8", boolean),
    "tf32": ("precision.tf32", boolean),
    "tensor_parallel_size": ("parallelism.tensor_parallel_size", _degree),
    "context_parallel_size": ("parallelism.context_parallel_size", _degree),
    "sequence_parallel_degree": ("parallelism.context_parallel_size", _degree),
    "expert_parallel_size": ("parallelism.expert_parallel_size", _degree),
    "dp_shard_size": ("parallelism.shard_size", _degree),
    "dp_replicate_size": ("parallelism.replicate_size", _degree),
    "activation_offloading": ("memory.activation_offload", _offload),
    "attn_implementation": ("kernels.attention_backend", attention),
    "torch_compile": ("kernels.compiled", boolean),
    "flash_attn_cross_entropy": ("kernels.fused_cross_entropy", boolean),
    "cut_cross_entropy": ("kernels.fused_cross_entropy", boolean),
    "liger_fused_linear_cross_entropy": ("kernels.fused_cross_entropy", boolean),
    "liger_rms_norm": ("kernels.fused_normalization", boolean),
    "optimizer": ("optimizer.name_of_optimizer", lower_text),
    "learning_rate": ("optimizer.learning_rate", number),
    "adam_beta1": ("optimizer.beta1", number),
    "adam_beta2": ("optimizer.beta2", number),
    "weight_decay": ("optimizer.weight_decay", number),
    "max_grad_norm": ("optimizer.clip_norm", number),
    "lr_scheduler": ("optimizer.schedule", lower_text),
    "warmup_steps": ("optimizer.warmup_steps", integer_text),
    "warmup_ratio": ("optimizer.warmup_ratio", number),
    "ddp_timeout": ("communication.timeout_seconds", number),
    "ddp_bucket_cap_mb": ("communication.gradient_bucket_bytes", mebibytes),
    "output_dir": ("checkpoint.directory", text),
    "save_total_limit": ("checkpoint.keep_last", integer_text),
    "save_only_model": ("checkpoint.save_optimizer", negation),
    "load_best_model_at_end": ("checkpoint.saves_best_model", boolean),
    "dataloader_num_workers": ("data.workers", integer_text),
    "dataloader_pin_memory": ("data.pin_memory", boolean),
    "dataloader_prefetch_factor": ("data.prefetch_factor", integer_text),
    "dataloader_drop_last": ("data.drop_last", boolean),
    "group_by_length": ("data.group_by_length", boolean),
    "streaming": ("data.streaming", boolean),
    "logging_steps": ("telemetry.log_interval_steps", integer_text),
    "include_tokens_per_second": ("telemetry.throughput", boolean),
    "base_model": ("model.name_of_model", text),
    "num_epochs": ("run.epochs", number),
    "seed": ("run.seed", integer_text),
    "trust_remote_code": ("security.trusts_remote_code", boolean),
    "trl": {"num_generations": ("run.generations_per_prompt", integer_text)},
}
_OLD_ATTENTION = {
    "flash_attention": "flash",
    "xformers_attention": "fused",
    "sdp_attention": "sdpa",
    "flex_attention": "flex",
    "eager_attention": "eager",
}
_DEFAULTS = defaults_of(
    _FIELDS, "micro_batch_size", "sequence_len", "output_dir", "save_only_model"
)
# What the schema leaves at null, the Trainer below decides (training_args.py).
_TRAINER_DEFAULTS = defaults_of(
    _FIELDS, "ddp_timeout", "dataloader_pin_memory", "max_grad_norm"
)
_BUILDER_DEFAULTS = fixed_defaults(
    "not set: decided by axolotl's trainer builder",
    {"checkpoint.keep_last": 4, "batch.mode": "fixed", "run.uses_torch": True},
)
_EVERY_EPOCH = fixed_defaults(
    "no save key is set: axolotl saves every epoch",
    {"checkpoint.enabled": True, "checkpoint.interval_unit": "epoch"},
)
_NO_MODEL_PARALLELISM = fixed_defaults(
    "not set; axolotl runs without it",
    ONE_OF_EACH,
)


def detect(document: Document) -> float:
    """Recognise the format by `base_model` and two of its companions."""
    data = section(document.data)
    if "base_model" not in data or not _FOREIGN_KEYS.isdisjoint(data):
        return 0.0
    companions = len(_COMPANIONS.intersection(data))
    if companions < _FEWEST_COMPANIONS:
        return 0.0
    return min(0.98, 0.6 + 0.06 * companions)


def read(document: Document) -> Reading:
    """Return what the file states, and what axolotl does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    config = Config(sheet, data)
    config.apply(_FIELDS)
    steps = config.whole("max_steps")
    if steps is not None and steps > 0:
        config.state("run.steps", steps, "max_steps")
    _accumulation(config)
    _half_precision(config)
    _saving(config, steps)
    _kernels(config)
    _state_run(config)
    leaf, key = "checkpoint.resume", "auto_resume_from_checkpoints"
    is_stated = config.put_first(leaf, resume, "resume_from_checkpoint")
    if not is_stated and config.switch(key) is True:
        config.turn(leaf, "the newest checkpoint of output_dir", key)
    for defaults in (
        tabulated_defaults(_FORMAT, _DEFAULTS),
        tabulated_defaults("hf-trainer", _TRAINER_DEFAULTS, None, "trainer"),
        _BUILDER_DEFAULTS,
        _NO_MODEL_PARALLELISM,
    ):
        add_defaults(sheet, defaults)
    references: tuple[Reference, ...] = ()
    target = config.get("deepspeed")
    if target:
        hand_to_deepspeed(sheet, ("deepspeed",))
    if isinstance(target, str) and target:
        references = (Reference(target, sheet.place(("deepspeed",)), is_opened=True),)
    keyed = keyed_file(document, _FORMAT, keys_of_format(_FORMAT))
    return Reading(sheet, keyed, references=references)


def _accumulation(config: Config) -> None:
    """State the accumulation, for which `batch_size`, that of one rank, may stand."""
    leaf = "batch.gradient_accumulation_steps"
    if config.get("gradient_accumulation_steps") is not None:
        return
    size = config.whole("batch_size")
    micro = integer_text(config.get("micro_batch_size") or 1)
    if size is not None and isinstance(micro, int) and micro > 0:
        note = f"batch_size {size} / micro_batch_size {micro}"
        config.derive(leaf, size // micro, note, "batch_size")
    elif config.get("batch_size") is None:
        config.default(leaf, 1, "gradient_accumulation_steps is not set: 1")


def _half_precision(config: Config) -> None:
    """State dtype; `full` keeps weights in bf16 too, `auto` asks the GPU at start."""
    key = "bf16" if config.get("bf16") is not None else "bfloat16"
    stated = config.get(key)
    leaf, weights = "precision.bf16", "precision.parameter_dtype"
    if stated == "auto":
        config.unusable(leaf, "auto: bf16 where the GPU has it, else fp16", key)
    elif stated == "full":
        config.turn(leaf, "bf16: full", key)
        config.derive(weights, "bf16", "bf16: full", key)
    elif stated is not None:
        config.put(leaf, key, boolean)
    elif config.switch("fp16") is not True:
        without_place(config.sheet, leaf, "bf16 is not set: auto, as the GPU allows")
    if config.switch("float16") is True:
        config.derive(weights, "fp16", "float16: true", "float16")
    if boolean(stated) is True and config.get("fp16") is None:
        config.default("precision.fp16", value=False, note="fp16 is not set")


def _saving(config: Config, steps: int | None) -> None:
    """State when it saves; `save_steps` wins over `save_strategy`, else every epoch."""
    leaf, unit = "checkpoint.enabled", "checkpoint.interval_unit"
    interval, key = "checkpoint.interval_steps", "save_steps"
    parts, strategy = config.whole("saves_per_epoch"), config.get("save_strategy")
    if config.get(key):
        config.turn(leaf, f"{key} is set", key)
        config.derive(unit, "steps", f"{key} is set", key)
        state_interval(config, interval, key, steps)
    elif parts is not None and parts > 0:
        note, key = f"{parts} in each epoch", "saves_per_epoch"
        config.turn(leaf, note, key)
        config.derive(unit, "epoch", note, key)
        config.unusable(interval, f"{note}: the steps of an epoch are not known", key)
    elif strategy is None:
        add_defaults(config.sheet, _EVERY_EPOCH)
    else:
        key = "save_strategy"
        word = "no" if strategy is False else lower_text(strategy)
        if isinstance(word, Unusable):
            config.unusable(leaf, word.reason, key)
            return
        config.turn(leaf, str(word), key, is_on=word != "no")
        if word in SAVE_UNITS:
            config.derive(unit, SAVE_UNITS[str(word)], str(word), key)


def _kernels(config: Config) -> None:
    if config.get("attn_implementation") is None:
        cases = [
            (config.switch(key) is True, name, f"{key}: true", key)
            for key, name in _OLD_ATTENTION.items()
        ]
        config.first("kernels.attention_backend", *cases)
    key = "dataloader_num_workers"
    if config.get(key) is None:
        reason = f"{key} is not set: 0, or one for each GPU in newer ones"
        without_place(config.sheet, "data.workers", reason)
    key = "gradient_checkpointing"
    mode = config.get(key)
    if isinstance(mode, str) and mode.startswith("offload"):
        note = f"{key}: {mode}"
        config.derive("memory.recompute_mode", "full", note, key)
        offload = fixed_defaults(note, {"memory.activation_offload": True})
        add_defaults(config.sheet, offload)
    else:
        state_recompute(config, key)
    state_optimizer_kernel(config, "optimizer")
    state_liger(config, "use_liger_kernel")


def _state_run(config: Config) -> None:
    """State which engine trains what, and where it reports."""
    config.sheet.derive("run.framework", "axolotl", "axolotl's settings", ())
    _engine(config)
    _adapter(config)
    _role(config)
    sinks: dict[str, str] = {}
    for sink, keys in _SINKS:
        key = next((key for key in keys if config.get(key)), None)
        if key is not None and config.get(keys[0]) is not False:
            sinks[key] = sink
    leaf = "telemetry.sinks"
    if sinks:
        config.derive(leaf, tuple(sinks.values()), "keys of the sinks", *sinks)
    else:
        config.default(leaf, (), "no sink is named")
    steps = config.whole("profiler_steps")
    if steps is not None:
        config.turn("telemetry.profiler", "steps", "profiler_steps", is_on=steps > 0)


def _engine(config: Config) -> None:
    leaf, deepspeed = "parallelism.engine", config.get("deepspeed")
    if deepspeed:
        config.derive(leaf, "deepspeed", "deepspeed is set", "deepspeed")
        if isinstance(deepspeed, dict):
            state_deepspeed(config.sheet, deepspeed, ("deepspeed",))
    block = config.get("fsdp_config")
    given = items(config.get("fsdp"))
    words = [word.lower() for word in given if isinstance(word, str)]
    if not words and not section(block):
        return
    stated = config.whole("fsdp_version")
    version = stated if stated is not None else fsdp_version(block)
    key = "fsdp_config" if section(block) else "fsdp"
    if isinstance(version, int):
        config.derive(leaf, f"fsdp{version}", "fsdp_version", key)
    else:
        reason = "FSDP without fsdp_version: 1 or 2, as the release of axolotl has it"
        config.unusable(leaf, reason, key)
    state_fsdp_words(config, words)
    state_fsdp(config.sheet, block, version, ("fsdp_config",))
    add_defaults(config.sheet, _FULLY_SHARDED)


# Layers named, or drawn anew every few steps.
_PARTIAL = ("unfrozen_parameters", "lisa_n_layers")


def _adapter(config: Config) -> None:
    leaf, adapter = "model.adapter", config.get("adapter")
    if isinstance(adapter, str) and adapter:
        config.state(leaf, adapter.lower(), "adapter")
    elif partial := [key for key in _PARTIAL if config.get(key)]:
        note = f"{partial[0]}: some layers are trained"
        config.derive(leaf, "freeze", note, partial[0])
    else:
        config.default(leaf, "none", "no adapter is set: all weights are trained")
    state_bits(config)
    if config.get("gptq") is None and "model_quantization_config" not in config:
        note = "neither load_in_4bit nor load_in_8bit is set: weights in 16 bits"
        default_bits(config, config.get("base_model"), note)


def _role(config: Config) -> None:
    """Group rewards before adapters, adapters before preferences, else fine-tuning."""
    rl, adapter = config.get("rl"), config.get("adapter")
    is_group = isinstance(rl, str) and rl.lower() in {"grpo", "gdpo", "ebft"}
    is_new = config.switch("reinit_weights") is True
    source = "from new weights" if is_new else "on from the weights of base_model"
    role, data = "pretrain" if is_new else "continued", "pretraining_dataset"
    model, tuning = "reward_model", "all weights are trained on instruction datasets"
    config.first(
        "run.role",
        (is_group, "rl", f"rl: {rl}", "rl"),
        (adapter, "lora", f"adapter: {adapter}", "adapter"),
        (rl, "rl", "rl is set", "rl"),
        (config.switch(model) is True, "rl", f"{model} is set", model),
        (config.get(data), role, source, data),
        (config.get("datasets"), "sft", tuning, "datasets"),
    )


READER = Reader(_FORMAT, "config", detect, read, keys=("base_model",))
