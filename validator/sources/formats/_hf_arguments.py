"""What follows from the Trainer's arguments beyond one key for one leaf."""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._deepspeed import state_deepspeed
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    SHARDING_STAGES,
    fsdp_version,
    hand_to_deepspeed,
    state_fsdp,
    state_interval,
    state_liger,
    state_offload,
    state_optimizer_kernel,
    state_recompute,
)
from speccheck.validator.sources.mapping import (
    TabulatedDefault,
    add_defaults,
    boolean,
    derive_switch,
    fixed_defaults,
    integer_text,
    items,
    negation,
    number,
    placeholder,
    put,
    section,
    tabulated_defaults,
    text,
    without_place,
)
from speccheck.validator.sources.reader import FactSheet

Arguments = Mapping[str, object]

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


def _limit(value: object) -> object:
    """How many checkpoints are kept; null keeps all, which the plan writes as 0."""
    return 0 if value is None else integer_text(value)


def _saves(value: object) -> object:
    """Whether a strategy saves at all."""
    return value not in ("no", False)


_DEFAULTS = (
    TabulatedDefault(
        "per_device_train_batch_size", "batch.micro_batch_size", integer_text
    ),
    TabulatedDefault(
        "gradient_accumulation_steps", "batch.gradient_accumulation_steps", integer_text
    ),
    TabulatedDefault("max_grad_norm", "optimizer.clip_norm", number),
    TabulatedDefault("ddp_timeout", "communication.timeout_seconds", number),
    TabulatedDefault("save_only_model", "checkpoint.save_optimizer", negation),
    TabulatedDefault("load_best_model_at_end", "checkpoint.saves_best_model", boolean),
    TabulatedDefault("save_total_limit", "checkpoint.keep_last", _limit),
    TabulatedDefault("dataloader_num_workers", "data.workers", integer_text),
    TabulatedDefault("dataloader_pin_memory", "data.pin_memory", boolean),
    TabulatedDefault("full_determinism", "run.deterministic", boolean),
)
_SAVE_DEFAULTS = (
    TabulatedDefault("save_strategy", "checkpoint.enabled", _saves),
    TabulatedDefault("save_strategy", "checkpoint.interval_unit", text),
    TabulatedDefault("save_steps", "checkpoint.interval_steps", integer_text),
)
_DATA_PARALLEL_ONLY = fixed_defaults(
    "the Trainer runs data parallelism only, unless its launcher says otherwise",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.expert_parallel_size": 1,
    },
)
_RUNS_ON_TORCH = fixed_defaults(
    "transformers trains with PyTorch", {"run.uses_torch": True, "batch.mode": "fixed"}
)


def is_open_instruct(data: Arguments) -> bool:
    """Whether the file is for open-instruct, which has other defaults."""
    return not _OPEN_INSTRUCT_KEYS.isdisjoint(data)


def state_arguments(sheet: FactSheet, data: Arguments) -> None:
    """State the leaves that take several keys, or one key with several meanings."""
    steps = _steps(sheet, data)
    _saving(sheet, data, steps)
    _evaluation(sheet, data, steps)
    _logging(sheet, data, steps)
    _warmup(sheet, data)
    _engine(sheet, data)
    _adapter(sheet, data)
    _role(sheet, data)
    _kernels(sheet, data)


def state_defaults(sheet: FactSheet, data: Arguments) -> None:
    """State what holds where the file is silent, as far as every version agrees."""
    add_defaults(sheet, _RUNS_ON_TORCH)
    add_defaults(sheet, _DATA_PARALLEL_ONLY)
    if is_open_instruct(data):
        return
    add_defaults(sheet, tabulated_defaults("hf-trainer", _DEFAULTS, None, "trainer"))
    if data.get("deepspeed"):
        hand_to_deepspeed(sheet, ("deepspeed",))
    if data.get("save_strategy") in (None, "steps"):
        defaults = tabulated_defaults("hf-trainer", _SAVE_DEFAULTS, None, "trainer")
        add_defaults(sheet, defaults)
    if "logging_steps" not in data and "logging_strategy" not in data:
        reason = "logging_steps is not set: 500 in transformers, 10 in newer TRL"
        without_place(sheet, "telemetry.log_interval_steps", reason)


def _steps(sheet: FactSheet, data: Arguments) -> int | None:
    """The length of the run; 0 and below leave it to the epochs."""
    for key in ("max_steps", "max_train_steps"):
        steps = integer_text(data.get(key))
        if isinstance(steps, int) and steps > 0:
            sheet.state("run.steps", steps, (key,))
            return steps
    return None


def _saving(sheet: FactSheet, data: Arguments, steps: int | None) -> None:
    strategy = data.get("save_strategy")
    if (open_text := placeholder(strategy)) is not None:
        put(sheet, "checkpoint.enabled", open_text, ("save_strategy",))
    elif isinstance(strategy, str) or strategy is False:
        word = "no" if strategy is False else strategy.lower()
        at: KeyPath = ("save_strategy",)
        sheet.state("checkpoint.enabled", word != "no", at)
        unit = {"no": "never", "epoch": "epoch", "steps": "steps"}.get(word)
        if unit is not None:
            sheet.state("checkpoint.interval_unit", unit, at)
    if data.get("save_steps") is not None and strategy in (None, "steps"):
        leaf = "checkpoint.interval_steps"
        state_interval(sheet, leaf, data["save_steps"], steps, ("save_steps",))
    own = data.get("checkpointing_steps")
    if own is not None:  # open-instruct: a number, or the word epoch
        at = ("checkpointing_steps",)
        derive_switch(sheet, "checkpoint.enabled", "checkpointing_steps is set", at)
        if own == "epoch":
            sheet.state("checkpoint.interval_unit", "epoch", at)
        else:
            sheet.state("checkpoint.interval_unit", "steps", at)
            put(sheet, "checkpoint.interval_steps", integer_text(own), at)


def _evaluation(sheet: FactSheet, data: Arguments, steps: int | None) -> None:
    strategy = data.get("eval_strategy", data.get("evaluation_strategy"))
    if strategy == "steps" and data.get("eval_steps") is not None:
        leaf = "checkpoint.evaluation_interval_steps"
        state_interval(sheet, leaf, data["eval_steps"], steps, ("eval_steps",))


def _logging(sheet: FactSheet, data: Arguments, steps: int | None) -> None:
    if data.get("logging_steps") is not None and data.get("logging_strategy") in (
        None,
        "steps",
    ):
        leaf = "telemetry.log_interval_steps"
        state_interval(sheet, leaf, data["logging_steps"], steps, ("logging_steps",))


def _warmup(sheet: FactSheet, data: Arguments) -> None:
    """`warmup_steps` below 1 is a ratio from transformers 5.0 on."""
    steps = data.get("warmup_steps")
    share = number(steps)
    if isinstance(share, float) and 0 < share < 1:
        sheet.state("optimizer.warmup_ratio", share, ("warmup_steps",))
    elif steps is not None:
        put(sheet, "optimizer.warmup_steps", integer_text(steps), ("warmup_steps",))
    least = section(data, "lr_scheduler_kwargs").get("min_lr")
    if least is not None:
        at = ("lr_scheduler_kwargs", "min_lr")
        put(sheet, "optimizer.minimum_learning_rate", number(least), at)


def _engine(sheet: FactSheet, data: Arguments) -> None:
    deepspeed = data.get("deepspeed")
    if deepspeed:
        note = "deepspeed is set"
        sheet.derive("parallelism.engine", "deepspeed", note, ("deepspeed",))
        if isinstance(deepspeed, dict):
            state_deepspeed(sheet, deepspeed, ("deepspeed",))
    words = _fsdp_words(data.get("fsdp"))
    if not words:
        return
    version = fsdp_version(data.get("fsdp_config"), "version", "fsdp_version")
    if isinstance(version, int):
        name = f"fsdp{version}"
        sheet.derive("parallelism.engine", name, "fsdp_config", ("fsdp_config",))
    else:
        reason = "fsdp without a version: FSDP1 before transformers 5, FSDP2 from there"
        sheet.unusable("parallelism.engine", reason, ("fsdp",))
    for word in words:
        if word in SHARDING_STAGES:
            stage = SHARDING_STAGES[word]
            sheet.derive(
                "parallelism.sharding_stage", stage, f"fsdp: {word}", ("fsdp",)
            )
        elif word == "offload":
            state_offload(sheet, ("fsdp",), is_on=True)
    state_fsdp(sheet, data.get("fsdp_config"), version, ("fsdp_config",))
    note = "fsdp shards fully unless another strategy is named"
    add_defaults(
        sheet, fixed_defaults(note, {"parallelism.sharding_stage": FULL_SHARD})
    )


def _fsdp_words(value: object) -> list[str]:
    """The options of `fsdp`: a text with blanks, a list, or a switch for full_shard."""
    if value is True:
        return ["full_shard"]
    words = value.split() if isinstance(value, str) else items(value)
    return [word.lower() for word in words if isinstance(word, str)]


def _adapter(sheet: FactSheet, data: Arguments) -> None:
    for key, bits in (("load_in_4bit", 4), ("load_in_8bit", 8)):
        if boolean(data.get(key)) is True:
            sheet.derive("model.quantized_bits", bits, f"{key}: true", (key,))
    for key in _ADAPTER_SWITCHES:
        if boolean(data.get(key)) is True:
            adapter = "qlora" if _is_four_bit(data) else "lora"
            sheet.derive("model.adapter", adapter, f"{key}: true", (key,))
            return
        if boolean(data.get(key)) is False:
            sheet.derive("model.adapter", "none", f"{key}: false", (key,))
            return


def _is_four_bit(data: Arguments) -> bool:
    return data.get("bits") in (4, "4") or any(
        boolean(data.get(key)) is True for key in _FOUR_BIT_SWITCHES
    )


def _role(sheet: FactSheet, data: Arguments) -> None:
    for role, keys in (
        ("rl", _GROUP_KEYS),
        ("lora", _ADAPTER_SWITCHES),
        ("rl", _PREFERENCE_KEYS),
        ("sft", _INSTRUCTION_KEYS),
    ):
        for key in keys:
            if data.get(key) is not None and (
                role != "lora" or boolean(data[key]) is True
            ):
                sheet.derive("run.role", role, f"{key} is set", (key,))
                return


def _kernels(sheet: FactSheet, data: Arguments) -> None:
    for key in ("gradient_checkpointing", "activation_checkpointing"):
        state_recompute(sheet, key, data.get(key), (key,))
    state_optimizer_kernel(sheet, data.get("optim"), ("optim",))
    state_liger(sheet, data, "use_liger_kernel", "use_liger")
