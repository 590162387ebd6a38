"""What the Hugging Face trainers share: FSDP blocks, intervals, words for kernels.

Sources: transformers/training_args.py and trainer.py at 4.57.1 and 5.23.0,
accelerate/utils/dataclasses.py and commands/launch.py at 16cb6eb.
"""

from collections.abc import Mapping
from math import ceil

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    apply,
    boolean,
    derive_switch,
    integer_text,
    items,
    lower_text,
    number,
    one_of,
    placeholder,
    put,
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
_SECOND_VERSION = 2
_HANDED_TO_DEEPSPEED = frozenset(
    {"batch.micro_batch_size", "batch.gradient_accumulation_steps"}
)

dtype = one_of(DTYPES)


def attention(value: object) -> object:
    """The attention of `attn_implementation`, also of `kernels-community/...` names."""
    word = lower_text(value)
    if isinstance(word, str):
        return next((name for part, name in _ATTENTION if part in word), word)
    return word


def state_recompute(sheet: FactSheet, key: str, value: object, at: KeyPath) -> None:
    """State a switch for checkpointing whole layers.

    Off is weak: FSDP's own checkpointing may be on, here or in the launcher's file.
    """
    switch = boolean(value)
    if switch is False:
        note = f"{key}: false"
        weak_default(sheet, "memory.recompute_mode", "none", note, at)
    elif value is not None:
        mode = "full" if switch is True else switch
        put(sheet, "memory.recompute_mode", mode, at)


def state_liger(sheet: FactSheet, data: Mapping[str, object], *keys: str) -> None:
    """State what the Liger kernels replace, by the switch that turns all of them on."""
    for key in keys:
        if boolean(data.get(key)) is True:
            note = "Liger replaces normalization and cross-entropy by fused kernels"
            derive_switch(sheet, "kernels.fused_normalization", note, (key,))
            derive_switch(sheet, "kernels.fused_cross_entropy", note, (key,))


def resume(value: object) -> object:
    """Whether a restart takes the newest checkpoint; a path always names the same."""
    switch = boolean(value)
    if isinstance(switch, bool):
        return switch
    if lower_text(value) == "latest":
        return True
    if isinstance(value, str) and placeholder(value) is None:
        return Unusable("a fixed path: it may not be the newest checkpoint")
    return switch


def sinks(value: object) -> object:
    """The places that `report_to` names, as one word or a list of them."""
    found = placeholder(value)
    if found is not None:
        return found
    names = [value] if isinstance(value, str) else items(value)
    words = tuple(name for name in names if isinstance(name, str) and name != "none")
    if "all" in words:
        return Unusable("all: whatever is installed where the job runs")
    if not isinstance(value, str | list):
        return Unusable(f"{value!r:.60} names no sink")
    return words


def state_interval(
    sheet: FactSheet, leaf: str, value: object, steps: object, at: KeyPath
) -> None:
    """State an interval in steps; below 1 it is a share of the steps of the run."""
    share = number(value)
    if not isinstance(share, float) or not 0 < share < 1:
        put(sheet, leaf, integer_text(value), at)
    elif isinstance(steps, int) and steps > 0:
        note = f"{share:g} of {steps:,} steps"
        sheet.derive(leaf, ceil(share * steps), note, at)
    else:
        sheet.unusable(leaf, f"{share:g} is a share of a run of unknown length", at)


def state_optimizer_kernel(sheet: FactSheet, name: object, at: KeyPath) -> None:
    """Which of torch's AdamW kernels the name of an optimizer asks for."""
    if not isinstance(name, str):
        return
    if name.endswith("_fused"):
        derive_switch(sheet, "kernels.fused_optimizer", name, at)
    elif name == "adamw_torch":
        note = "adamw_torch: foreach, the default of torch's AdamW"
        derive_switch(sheet, "kernels.fused_optimizer", note, at)


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
    written = section(block)
    if not written:
        return
    plain = {str(key).removeprefix("fsdp_"): key for key in written}
    fields: Fields = {
        plain[name]: field for name, field in _FSDP.items() if name in plain
    }
    apply(sheet, written, fields, at)
    for name in ("activation_checkpointing", "xla_fsdp_grad_ckpt"):
        if name in plain and boolean(written[plain[name]]) is True:
            sheet.state("memory.recompute_mode", "full", (*at, plain[name]))
    _offload(sheet, written, plain, at)
    if version != _SECOND_VERSION:
        _prefetch(sheet, written, plain, at)
    _stage(sheet, written, plain, version, at)


def _class_names(value: object) -> object:
    """One name, several with commas between them, or a list."""
    names = value.split(",") if isinstance(value, str) else items(value)
    found = tuple(str(one).strip() for one in names)
    if not found or not all(one.isidentifier() for one in found):
        return Unusable(f"{value!r:.60} names no class")
    return found


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


def _offload(
    sheet: FactSheet, block: Mapping[str, object], plain: Mapping[str, str], at: KeyPath
) -> None:
    for name in ("offload_params", "cpu_offload"):
        switch = boolean(block.get(plain.get(name, name)))
        if isinstance(switch, bool):
            state_offload(sheet, (*at, plain[name]), is_on=switch)


def state_offload(sheet: FactSheet, at: KeyPath, *, is_on: bool) -> None:
    """FSDP offloads parameters, gradients and the optimizer step together, or none."""
    device = "cpu" if is_on else "none"
    sheet.state("memory.parameter_offload_device", device, at)
    note = "FSDP keeps the optimizer where the parameters are"
    sheet.derive("memory.optimizer_offload_device", device, note, at)


def _prefetch(
    sheet: FactSheet, block: Mapping[str, object], plain: Mapping[str, str], at: KeyPath
) -> None:
    """FSDP1 gathers the next parameters early unless told not to; FSDP2 always does."""
    for name in ("backward_prefetch", "backward_prefetch_policy"):
        word = block.get(plain.get(name, name))
        if isinstance(word, str):
            is_early = word.upper() != "NO_PREFETCH"
            leaf = "communication.overlap_parameter_gather"
            derive_switch(sheet, leaf, word, (*at, plain[name]), is_on=is_early)


def _stage(
    sheet: FactSheet,
    block: Mapping[str, object],
    plain: Mapping[str, str],
    version: object,
    at: KeyPath,
) -> None:
    """`reshard_after_forward` is a switch in FSDP2 and a strategy in FSDP1."""
    leaf = "parallelism.sharding_stage"
    strategy = block.get(plain.get("sharding_strategy", ""))
    reshard = block.get(plain.get("reshard_after_forward", ""))
    if strategy is not None and version != _SECOND_VERSION:
        place = (*at, plain["sharding_strategy"])
        put(sheet, leaf, one_of(SHARDING_STAGES)(strategy), place)
    elif reshard is not None:
        place = (*at, plain["reshard_after_forward"])
        switch = boolean(reshard)
        if isinstance(switch, bool):
            stage = FULL_SHARD if switch else SHARD_GRAD_OP
            kept = "freed after the forward pass" if switch else "kept until backward"
            sheet.derive(leaf, stage, f"parameters are {kept}", place)
        else:
            put(sheet, leaf, one_of(SHARDING_STAGES)(reshard), place)


def fsdp_version(block: object, *keys: str) -> object:
    """The version that an `fsdp_config` block names, or None."""
    written = section(block)
    for key in keys or ("fsdp_version", "version"):
        if (value := written.get(key)) is not None:
            return integer_text(value)
    return None
