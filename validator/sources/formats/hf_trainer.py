"""Arguments of the Hugging Face Trainer and TRL, as a YAML or JSON file.

Also the files of alignment-handbook, open-r1 and open-instruct, whose keys extend them.
ms-swift hands the same keys on to the Trainer beside its own: they are read, but
neither the Trainer's defaults nor its loader are assumed. LLaMA-Factory has a loader
of its own and is not read here.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import ONE_OF_EACH, Config, defaults_of
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    SAVE_UNITS,
    attention,
    dtype,
    fsdp_version,
    hand_to_deepspeed,
    resume,
    sinks,
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
    TabulatedDefault,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    items,
    lower_text,
    mebibytes,
    negation,
    number,
    placeholder,
    section,
    tabulated_defaults,
    text,
    texts_for_values,
    without_place,
    words_loaded_as_false,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Reader,
    Reading,
    Reference,
    keyed_file,
)

_Arguments = Mapping[str, object]
# Keys of TRL's own argument classes, none of which TrainingArguments has.
TRL_KEYS = frozenset(
    {
        "use_peft",
        "lora_r",
        "lora_alpha",
        "load_in_4bit",
        "load_in_8bit",
        "attn_implementation",
        "torch_dtype",
        "max_seq_length",
        "max_length",
        "max_prompt_length",
        "max_completion_length",
        "packing",
        "num_generations",
        "dataset_name",
        "dataset_mixer",
        "dataset_mixture",
        "dataset_text_field",
        "beta",
        "loss_type",
        "reward_funcs",
    }
)
# `lora_enable` with `bits` is LLaVA's; `q_lora` is that of FastChat and Qwen.
_ADAPTER_SWITCHES = ("use_peft", "use_lora", "use_qlora", "lora_enable")
_FOUR_BIT_SWITCHES = ("use_qlora", "load_in_4bit", "q_lora")
_GROUP_KEYS = ("num_generations", "max_completion_length", "reward_funcs")
_PREFERENCE_KEYS = ("beta", "loss_type", "max_prompt_length")
_INSTRUCTION_KEYS = (
    "assistant_only_loss",
    "completion_only_loss",
    "chat_template",
    "dataset_text_field",
    "dataset_mixer",
    "dataset_mixer_list",
)
# open-instruct trains in a loop of its own; only some of its keys are the Trainer's.
_OPEN_INSTRUCT_KEYS = frozenset(
    {
        "with_tracking",
        "checkpointing_steps",
        "use_slow_tokenizer",
        "dataset_mix_dir",
        "hf_metadata_dataset",
        "keep_last_n_checkpoints",
        "dataset_mixer_list",
    }
)
_FORMAT = "hf-trainer"
_COMMON_KEYS = frozenset(
    {
        "per_device_train_batch_size",
        "learning_rate",
        "num_train_epochs",
        "gradient_accumulation_steps",
        "output_dir",
        "bf16",
        "logging_steps",
        "lr_scheduler_type",
    }
)
# At least one of these: the others are in many frameworks.
_OWN_KEYS = frozenset(
    {
        "per_device_train_batch_size",
        "per_device_eval_batch_size",
        "num_train_epochs",
        "lr_scheduler_type",
        "save_strategy",
        "eval_strategy",
        "evaluation_strategy",
        "gradient_checkpointing_kwargs",
        "dataloader_num_workers",
        "report_to",
    }
)
_FOREIGN_KEYS = frozenset(
    {
        # LLaMA-Factory, and the schema of its version 1
        "stage",
        "finetuning_type",
        "template",
        "cutoff_len",
        "dataset_dir",
        "model_class",
        "dist_config",
        "kernel_config",
        "sample_backend",
        # axolotl, accelerate, DeepSpeed, Hydra configurations
        "base_model",
        "distributed_type",
        "train_micro_batch_size_per_gpu",
        "_target_",
        "_component_",
        "trainer",
    }
)
_FEWEST_COMMON_KEYS = 3
_MS_SWIFT_KEYS = frozenset({"tuner_type", "train_type", "attn_impl", "use_ray"})
# Of TrainingArguments, as every program around the Trainer has them.
TRAINING_ARGUMENTS: Fields = {
    "per_device_train_batch_size": ("batch.micro_batch_size", integer_text),
    "gradient_accumulation_steps": ("batch.gradient_accumulation_steps", integer_text),
    "bf16": ("precision.bf16", boolean),
    "fp16": ("precision.fp16", boolean),
    "tf32": ("precision.tf32", boolean),
    "torch_compile": ("kernels.compiled", boolean),
    "optim": ("optimizer.name_of_optimizer", lower_text),
    "learning_rate": ("optimizer.learning_rate", number),
    "adam_beta1": ("optimizer.beta1", number),
    "adam_beta2": ("optimizer.beta2", number),
    "weight_decay": ("optimizer.weight_decay", number),
    "max_grad_norm": ("optimizer.clip_norm", number),
    "lr_scheduler_type": ("optimizer.schedule", lower_text),
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
    "dataloader_persistent_workers": ("data.persistent_workers", boolean),
    "dataloader_drop_last": ("data.drop_last", boolean),
    "group_by_length": ("data.group_by_length", boolean),
    "streaming": ("data.streaming", boolean),
    "ignore_data_skip": ("data.resumable", negation),
    "data_seed": ("data.seed", integer_text),
    "report_to": ("telemetry.sinks", sinks),
    "include_tokens_per_second": ("telemetry.throughput", boolean),
    "num_train_epochs": ("run.epochs", number),
    "seed": ("run.seed", integer_text),
    "full_determinism": ("run.deterministic", boolean),
}
_FIELDS: Fields = {
    **TRAINING_ARGUMENTS,
    "accelerator_config": {
        "gradient_accumulation_kwargs": {
            "sync_each_batch": ("communication.reduces_each_micro_batch", boolean)
        }
    },
    "max_seq_length": ("batch.sequence_length", integer_text),
    "max_length": ("batch.sequence_length", integer_text),
    # A field of programs that build on the Trainer: FastChat, LLaVA, VILA, Qwen-VL.
    "model_max_length": ("batch.sequence_length", integer_text),
    "packing": ("batch.packing", boolean),
    "torch_dtype": ("precision.parameter_dtype", dtype),
    "dtype": ("precision.parameter_dtype", dtype),
    "activation_offloading": ("memory.activation_offload", boolean),
    "attn_implementation": ("kernels.attention_backend", attention),
    "keep_last_n_checkpoints": ("checkpoint.keep_last", integer_text),
    "resume_from_checkpoint": ("checkpoint.resume", resume),
    "dataset_streaming": ("data.streaming", boolean),
    "model_name_or_path": ("model.name_of_model", text),
    "num_generations": ("run.generations_per_prompt", integer_text),
    "trust_remote_code": ("security.trusts_remote_code", boolean),
}


def detect(document: Document) -> float:
    """Recognise it by keys of TrainingArguments, without keys of a look-alike."""
    data = section(document.data)
    common = len(_COMMON_KEYS.intersection(data))
    if common < _FEWEST_COMMON_KEYS or _OWN_KEYS.isdisjoint(data):
        return 0.0
    return 0.0 if _is_foreign(data) else min(0.95, 0.5 + 0.06 * common)


def _is_foreign(data: object) -> bool:
    return not _FOREIGN_KEYS.isdisjoint(section(data))


def read(document: Document) -> Reading:
    """Return what the file states, and the Trainer's defaults for what it does not."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    config = Config(sheet, data)
    state_arguments(config)
    sheet.derive("run.framework", "transformers", "arguments of its Trainer", ())
    if not _MS_SWIFT_KEYS.isdisjoint(data):
        return Reading(sheet, references=_references(sheet, data))
    state_defaults(config)
    catalogue = keys_of_format(_FORMAT)
    keyed = keyed_file(document, _FORMAT, catalogue)
    loaded_as = words_loaded_as_false(
        document, ("save_strategy", "eval_strategy", "evaluation_strategy"), fatal=True
    )
    # TRL's parser converts texts: it hands them to argparse as defaults
    # (trl/scripts/utils.py, set_defaults_with_config). parse_yaml_file does not.
    if TRL_KEYS.isdisjoint(data) and not _is_open_instruct(data):
        loaded_as += texts_for_values(keyed.keys, catalogue, _may_be_fatal)
    return Reading(
        sheet,
        keyed._replace(loaded_as=loaded_as),
        _variables(sheet, data.get("env")),
        _references(sheet, data),
    )


def _references(sheet: FactSheet, data: Mapping[str, object]) -> tuple[Reference, ...]:
    return tuple(
        Reference(target, sheet.place((key,)), is_opened=True)
        for key in ("deepspeed", "fsdp_config")
        if isinstance(target := data.get(key), str) and target
    )


def _may_be_fatal(path: KeyPath) -> bool | None:
    """Return that some parser, which is not known, may convert the text at the top."""
    return False if len(path) == 1 else None


def _variables(sheet: FactSheet, block: object) -> tuple[Variable, ...]:
    """Return the variables of an `env` block, which TRL sets before it trains."""
    return tuple(
        Variable(name, str(value), sheet.place(("env", name)), str(value))
        for name, value in section(block).items()
    )


def _limit(value: object) -> object:
    """Return how many checkpoints are kept; null keeps all, 0 in the plan."""
    return 0 if value is None else integer_text(value)


def _saves(value: object) -> object:
    """Return whether a strategy saves at all."""
    return value not in ("no", False)


_DEFAULTS = (
    *defaults_of(
        _FIELDS,
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        "max_grad_norm",
        "ddp_timeout",
        "save_only_model",
        "load_best_model_at_end",
    ),
    TabulatedDefault("save_total_limit", "checkpoint.keep_last", _limit),
    *defaults_of(
        _FIELDS,
        "dataloader_num_workers",
        "dataloader_pin_memory",
        "full_determinism",
    ),
)
_SAVE_DEFAULTS = (
    TabulatedDefault("save_strategy", "checkpoint.enabled", _saves),
    TabulatedDefault("save_strategy", "checkpoint.interval_unit", text),
    TabulatedDefault("save_steps", "checkpoint.interval_steps", integer_text),
)
_DATA_PARALLEL_ONLY = fixed_defaults(
    "the Trainer runs data parallelism only, unless its launcher says otherwise",
    ONE_OF_EACH,
)
_RUNS_ON_TORCH = fixed_defaults(
    "transformers trains with PyTorch", {"run.uses_torch": True, "batch.mode": "fixed"}
)


def _is_open_instruct(data: _Arguments) -> bool:
    """Return whether the file is for open-instruct, which has other defaults."""
    return not _OPEN_INSTRUCT_KEYS.isdisjoint(data)


def state_arguments(config: Config) -> None:
    """State the leaves that take several keys, or one key with several meanings."""
    steps = _steps(config)
    _saving(config, steps)
    _evaluation_and_logs(config, steps)
    _warmup(config)
    _engine(config)
    _adapter(config)
    for role, keys in (
        ("rl", _GROUP_KEYS),
        ("lora", _ADAPTER_SWITCHES),
        ("rl", _PREFERENCE_KEYS),
        ("sft", _INSTRUCTION_KEYS),
    ):
        if role == "lora":
            texts = [key for key in keys if config.switch(key) is True]
        else:
            texts = [key for key in keys if config.get(key) is not None]
        if texts:
            config.derive("run.role", role, f"{texts[0]} is set", texts[0])
            break
    for key in ("gradient_checkpointing", "activation_checkpointing"):
        state_recompute(config, key)
    state_optimizer_kernel(config, "optim")
    state_liger(config, "use_liger_kernel", "use_liger")


def state_defaults(config: Config) -> None:
    """State what holds where the file is silent, as far as every version agrees."""
    sheet = config.sheet
    add_defaults(sheet, _RUNS_ON_TORCH)
    add_defaults(sheet, _DATA_PARALLEL_ONLY)
    if _is_open_instruct(config.data):
        return
    add_defaults(sheet, tabulated_defaults("hf-trainer", _DEFAULTS, None, "trainer"))
    if config.get("deepspeed"):
        hand_to_deepspeed(sheet, ("deepspeed",))
    if config.get("save_strategy") in (None, "steps"):
        defaults = tabulated_defaults("hf-trainer", _SAVE_DEFAULTS, None, "trainer")
        add_defaults(sheet, defaults)
    if "logging_steps" not in config and "logging_strategy" not in config:
        reason = "logging_steps is not set: 500 in transformers, 10 in newer TRL"
        without_place(sheet, "telemetry.log_interval_steps", reason)


def _steps(config: Config) -> int | None:
    """Return the length of the run; 0 and below leave it to the epochs."""
    for key in ("max_steps", "max_train_steps"):
        steps = config.whole(key)
        if steps is not None and steps > 0:
            config.state("run.steps", steps, key)
            return steps
    return None


def _saving(config: Config, steps: int | None) -> None:
    key, leaf, unit = "save_strategy", "checkpoint.enabled", "checkpoint.interval_unit"
    interval = "checkpoint.interval_steps"
    strategy = config.get(key)
    if (open_text := placeholder(strategy)) is not None:
        config.unusable(leaf, open_text.reason, key)
    elif isinstance(strategy, str) or strategy is False:
        word = "no" if strategy is False else strategy.lower()
        config.state(leaf, word != "no", key)
        if word in SAVE_UNITS:
            config.state(unit, SAVE_UNITS[word], key)
    if strategy in (None, "steps"):
        state_interval(config, interval, "save_steps", steps)
    key = "checkpointing_steps"
    own = config.get(key)
    if own is not None:  # open-instruct: a number, or the word epoch
        config.turn(leaf, f"{key} is set", key)
        config.state(unit, "epoch" if own == "epoch" else "steps", key)
        if own != "epoch":
            config.put(interval, key, integer_text)


def _evaluation_and_logs(config: Config, steps: int | None) -> None:
    older = config.get("evaluation_strategy")
    if config.get("eval_strategy", older) == "steps":
        leaf = "checkpoint.evaluation_interval_steps"
        state_interval(config, leaf, "eval_steps", steps)
    if config.get("logging_strategy") in (None, "steps"):
        leaf = "telemetry.log_interval_steps"
        state_interval(config, leaf, "logging_steps", steps)


def _warmup(config: Config) -> None:
    """State the warm-up; below 1 `warmup_steps` is a ratio from transformers 5.0 on."""
    share = config.number("warmup_steps")
    if share is not None and 0 < share < 1:
        config.state("optimizer.warmup_ratio", share, "warmup_steps")
    else:
        config.put("optimizer.warmup_steps", "warmup_steps", integer_text)
    config.put("optimizer.minimum_learning_rate", "lr_scheduler_kwargs.min_lr", number)


def _engine(config: Config) -> None:
    sheet, leaf = config.sheet, "parallelism.engine"
    deepspeed = config.get("deepspeed")
    if deepspeed:
        config.derive(leaf, "deepspeed", "deepspeed is set", "deepspeed")
        if isinstance(deepspeed, dict):
            state_deepspeed(sheet, deepspeed, ("deepspeed",))
    words = _fsdp_words(config.get("fsdp"))
    if not words:
        return
    key = "fsdp_config"
    version = fsdp_version(config.get(key), "version", "fsdp_version")
    if isinstance(version, int):
        config.derive(leaf, f"fsdp{version}", key, key)
    else:
        reason = "fsdp without a version: FSDP1 before transformers 5, FSDP2 from there"
        config.unusable(leaf, reason, "fsdp")
    state_fsdp_words(config, words)
    state_fsdp(sheet, config.get(key), version, (key,))
    note = "fsdp shards fully unless another strategy is named"
    add_defaults(
        sheet, fixed_defaults(note, {"parallelism.sharding_stage": FULL_SHARD})
    )


def _fsdp_words(value: object) -> list[str]:
    """Return the options of `fsdp`: a text with blanks, a list, or a switch."""
    if value is True:
        return ["full_shard"]
    words = value.split() if isinstance(value, str) else items(value)
    return [word.lower() for word in words if isinstance(word, str)]


def _adapter(config: Config) -> None:
    state_bits(config)
    is_four_bit = config.get("bits") in (4, "4") or any(
        config.switch(key) is True for key in _FOUR_BIT_SWITCHES
    )
    switches = {key: config.switch(key) for key in _ADAPTER_SWITCHES}
    stated = [key for key, switch in switches.items() if switch is not None]
    if stated:
        key = stated[0]
        note = f"{key}: {str(switches[key]).lower()}"
        adapter = "qlora" if is_four_bit else "lora"
        config.derive("model.adapter", adapter if switches[key] else "none", note, key)


READER = Reader(_FORMAT, "config", detect, read, keys=(*sorted(_OWN_KEYS),))
