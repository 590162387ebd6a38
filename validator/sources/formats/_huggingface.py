"""What the Hugging Face trainers share: FSDP blocks, intervals, words for kernels.

Sources: transformers/training_args.py and trainer.py at 4.57.1 and 5.23.0,
accelerate/utils/dataclasses.py and commands/launch.py at 16cb6eb.
"""

import re
from collections.abc import Iterable, Mapping
from math import ceil

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._config import Config
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    boolean,
    integer_text,
    items,
    lower_text,
    one_of,
    placeholder,
    section,
    weak_default,
)
from speccheck.validator.sources.reader import FactSheet

FULL_SHARD = 3
SHARD_GRAD_OP = 2
# Names and numbers of torch.distributed.fsdp.ShardingStrategy; hybrid strategies shard
# within a group and replicate over groups.
SHARDING_STAGES: dict[str, object] = {
    "full_shard": 3,
    "shard_grad_op": 2,
    "no_shard": 0,
    "hybrid_shard": 3,
    "hybrid_shard_zero2": 2,
    "1": 3,
    "2": 2,
    "3": 0,
    "4": 3,
    "5": 2,
}
_STATE_DICTS: dict[str, object] = {
    "full_state_dict": "full",
    "sharded_state_dict": "sharded",
    "local_state_dict": "local",
}
_ATTENTION = (
    ("flash", "flash"),
    ("sdpa", "sdpa"),
    ("flex", "flex"),
    ("eager", "eager"),
    ("xformers", "fused"),
)
DTYPES: dict[str, object] = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
    "bf16": "bf16",
    "fp16": "fp16",
    "fp32": "fp32",
}
# When a Trainer saves, and what the plan calls it.
SAVE_UNITS = {"no": "never", "epoch": "epoch", "steps": "steps"}
_SECOND_VERSION = 2
_PREFETCH = "communication.overlap_parameter_gather"
_HANDED_TO_DEEPSPEED = frozenset(
    {"batch.micro_batch_size", "batch.gradient_accumulation_steps"}
)

dtype = one_of(DTYPES)


def attention(value: object) -> object:
    """Return the kind of attention, also of names such as `kernels-community/...`."""
    word = lower_text(value)
    if isinstance(word, str):
        return next((name for part, name in _ATTENTION if part in word), word)
    return word


def state_recompute(config: Config, key: str) -> None:
    """State a switch for checkpointing whole layers.

    Off is weak: FSDP's own checkpointing may be on, here or in the launcher's file.
    """
    leaf, switch = "memory.recompute_mode", boolean(config.get(key))
    if switch is False:
        weak_default(config.sheet, leaf, "none", f"{key}: false", config.at(key))
    elif switch is True:
        config.state(leaf, "full", key)
    else:
        config.put(leaf, key, boolean)


def state_liger(config: Config, *keys: str) -> None:
    """State what the Liger kernels replace, by the switch that turns all of them on."""
    for key in keys:
        if config.switch(key) is True:
            note = "Liger replaces normalization and cross-entropy by fused kernels"
            config.turn("kernels.fused_normalization", note, key)
            config.turn("kernels.fused_cross_entropy", note, key)


def state_bits(config: Config) -> None:
    """State the bits of quantized weights, by bitsandbytes' switches."""
    for key, bits in (("load_in_4bit", 4), ("load_in_8bit", 8)):
        if config.switch(key) is True:
            config.derive("model.quantized_bits", bits, f"{key}: true", key)


_QUANTIZED = re.compile(
    r"(?i)gptq|awq|bnb|nf4|fp4|fp8|int[48]|[248]-?bit|gguf|hqq|aqlm"
)


def default_bits(config: Config, model: object, note: str) -> None:
    """State that weights are loaded whole, unless the model's name says otherwise."""
    if isinstance(model, str) and not _QUANTIZED.search(model):
        config.default("model.quantized_bits", 16, note)


def state_fsdp_words(config: Config, words: Iterable[str]) -> None:
    """State the options of the key `fsdp`."""
    for word in words:
        if word in SHARDING_STAGES:
            leaf, stage = "parallelism.sharding_stage", SHARDING_STAGES[word]
            config.derive(leaf, stage, f"fsdp: {word}", "fsdp")
        elif word == "offload":
            state_offload(config.sheet, config.at("fsdp"), is_on=True)


def resume(value: object) -> object:
    """Return whether a restart takes the newest checkpoint; a path is a fixed one."""
    switch = boolean(value)
    if isinstance(switch, bool):
        return switch
    if lower_text(value) == "latest":
        return True
    if isinstance(value, str) and placeholder(value) is None:
        return Unusable("a fixed path: it may not be the newest checkpoint")
    return switch


def sinks(value: object) -> object:
    """Return the places that `report_to` names, as one word or a list of them."""
    unusable = placeholder(value)
    if unusable is not None:
        return unusable
    names = [value] if isinstance(value, str) else items(value)
    words = tuple(name for name in names if isinstance(name, str) and name != "none")
    if "all" in words:
        return Unusable("all: whatever is installed where the job runs")
    if not isinstance(value, str | list):
        return Unusable(f"{value!r:.60} names no sink")
    return words


def state_interval(config: Config, leaf: str, key: str, steps: object) -> None:
    """State an interval in steps; below 1 it is a share of the steps of the run."""
    share = config.number(key)
    if share is None or not 0 < share < 1:
        config.put(leaf, key, integer_text)
    elif isinstance(steps, int) and steps > 0:
        config.derive(leaf, ceil(share * steps), f"{share:g} of {steps:,} steps", key)
    else:
        config.unusable(leaf, f"{share:g} is a share of a run of unknown length", key)


def state_optimizer_kernel(config: Config, key: str) -> None:
    """State which of torch's AdamW kernels the name of an optimizer means."""
    name, leaf = config.get(key), "kernels.fused_optimizer"
    if not isinstance(name, str):
        return
    if name.endswith("_fused"):
        config.turn(leaf, name, key)
    elif name == "adamw_torch":
        config.turn(leaf, "adamw_torch: foreach, the default of torch's AdamW", key)


def hand_to_deepspeed(sheet: FactSheet, at: KeyPath) -> None:
    """Make batch defaults hold against DeepSpeed's file: the Trainer fills its "auto".

    A number in that file that differs from them stops the job (transformers/
    integrations/deepspeed.py, trainer_config_process).
    """
    for index, fact in enumerate(sheet.facts):
        if fact.name in _HANDED_TO_DEEPSPEED and fact.status == "default":
            note = f"{fact.note}; handed to DeepSpeed"
            places = (sheet.place(at),)
            sheet.facts[index] = fact._replace(
                status="derived", places=places, note=note
            )


def state_fsdp(sheet: FactSheet, block: object, version: object, at: KeyPath) -> None:
    """State an `fsdp_config` block, whose keys may begin with `fsdp_` or not.

    Args:
        sheet: takes the facts.
        block: the block; anything but a mapping states nothing.
        version: of FSDP, 1 or 2; anything else when it is not known.
        at: the path of the block.
    """
    config = Config(sheet, block, at)
    # The name of each key as the block has it.
    plain = {str(key).removeprefix("fsdp_"): str(key) for key in config.data}
    config.apply({plain[name]: field for name, field in _FSDP.items() if name in plain})
    for name in ("activation_checkpointing", "xla_fsdp_grad_ckpt"):
        if name in plain and config.switch(plain[name]) is True:
            config.state("memory.recompute_mode", "full", plain[name])
    for name in ("offload_params", "cpu_offload"):
        switch = config.switch(plain[name]) if name in plain else None
        if switch is not None:
            state_offload(sheet, config.at(plain[name]), is_on=switch)
    if version != _SECOND_VERSION:
        # FSDP1 gathers the next parameters early unless set otherwise; FSDP2 does.
        for name in ("backward_prefetch", "backward_prefetch_policy"):
            word = config.get(plain[name]) if name in plain else None
            if isinstance(word, str):
                leaf, is_early = _PREFETCH, word.upper() != "NO_PREFETCH"
                config.turn(leaf, word, plain[name], is_on=is_early)
    _stage(config, plain, version)


def _class_names(value: object) -> object:
    """Return one name, several with commas between them, or a list."""
    names = value.split(",") if isinstance(value, str) else items(value)
    result = tuple(str(name).strip() for name in names)
    if not result or not all(text.isidentifier() for text in result):
        return Unusable(f"{value!r:.60} names no class")
    return result


_POLICIES = {
    "transformer_based_wrap": "layers",
    "size_based_wrap": "size",
    "no_wrap": "none",
}
_FSDP: Fields = {
    "auto_wrap_policy": ("parallelism.wrap_policy", one_of(_POLICIES)),
    "state_dict_type": ("checkpoint.format", one_of(_STATE_DICTS)),
    "transformer_layer_cls_to_wrap": (
        "parallelism.wrapped_layer_classes",
        _class_names,
    ),
}


def state_offload(sheet: FactSheet, at: KeyPath, *, is_on: bool) -> None:
    """State that FSDP offloads parameters, gradients and optimizer step, or none."""
    device = "cpu" if is_on else "none"
    sheet.state("memory.parameter_offload_device", device, at)
    note = "FSDP keeps the optimizer where the parameters are"
    sheet.derive("memory.optimizer_offload_device", device, note, at)


def _stage(config: Config, plain: Mapping[str, str], version: object) -> None:
    """State the stage; `reshard_after_forward` is a switch in FSDP2, not in FSDP1."""
    leaf, strategy = "parallelism.sharding_stage", plain.get("sharding_strategy", "")
    reshard = plain.get("reshard_after_forward", "")
    if config.get(strategy) is not None and version != _SECOND_VERSION:
        config.put(leaf, strategy, one_of(SHARDING_STAGES))
        return
    switch = config.switch(reshard)
    if switch is not None:
        stage = FULL_SHARD if switch else SHARD_GRAD_OP
        kept = "freed after the forward pass" if switch else "kept until backward"
        config.derive(leaf, stage, f"parameters are {kept}", reshard)
    else:
        config.put(leaf, reshard, one_of(SHARDING_STAGES))


def fsdp_version(block: object, *keys: str) -> object:
    """Return the version that an `fsdp_config` block names, or None."""
    written = section(block)
    for key in keys or ("fsdp_version", "version"):
        if (value := written.get(key)) is not None:
            return integer_text(value)
    return None
