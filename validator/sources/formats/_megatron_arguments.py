"""What the arguments of one run of Megatron-LM state, and what their lack means."""

from collections.abc import Iterable

from speccheck.validator.sources.formats._megatron import (
    ABSENT,
    ABSENT_ENGINE,
    LEAVES,
    OF_DEEPSPEED,
    SWITCHES,
    SWITCHES_ENGINE,
    TABULATED,
    TABULATED_ENGINE,
)
from speccheck.validator.sources.formats._megatron_facts import state_combinations
from speccheck.validator.sources.formats._megatron_flags import Given, state_flag
from speccheck.validator.sources.mapping import (
    add_defaults,
    fixed_defaults,
    tabulated_defaults,
)
from speccheck.validator.sources.reader import Fact, FactSheet

_TABLE = "megatron-cli"
# Full recomputation needs these beside its own flag: they may be among hidden ones.
_PARTS = ("memory.recompute_method", "memory.recompute_layers")
# Flags with which Megatron-LM takes others from elsewhere (training/checkpointing.py
# load_args_from_checkpoint, training/yaml_arguments.py).
_ELSEWHERE = {
    "--use-checkpoint-args": "the checkpoint of --use-checkpoint-args",
    "--use-mp-args-from-checkpoint-args": "the checkpoint",
    "--yaml-cfg": "the file of --yaml-cfg",
}
_FIXED = (
    *fixed_defaults(
        "Megatron-LM has no Ulysses groups", {"parallelism.ulysses_size": 1}
    ),
    *fixed_defaults("Megatron-LM keeps every checkpoint", {"checkpoint.keep_last": 0}),
    *fixed_defaults("Megatron-LM runs on PyTorch", {"run.uses_torch": True}),
)


def state_arguments(sheet: FactSheet, given: Given, *, hidden: str = "") -> None:
    """State what the flags of one run say, and what those left out mean.

    Args:
        sheet: takes the facts.
        given: the flags.
        hidden: a text that may hold further flags.
    """
    for name, flag in given.items():
        leaf = LEAVES.get(name)
        is_ignored = name in OF_DEEPSPEED and "--deepspeed" in given
        if leaf is not None and not is_ignored:
            state_flag(sheet, leaf, flag)
    state_combinations(sheet, given, is_whole=not hidden)
    add_defaults(sheet, _absent(given))
    if hidden:
        reason = f"may be given in {hidden[:60]}"
        sheet.facts = [_open(fact, reason) for fact in sheet.facts]
        add_defaults(
            sheet, [Fact(leaf, None, "unknown", (), reason) for leaf in _PARTS]
        )
    add_defaults(sheet, _FIXED)


def given_elsewhere(names: Iterable[str]) -> str:
    """What may hold further arguments, by the flags of a run; empty for nothing."""
    return next((_ELSEWHERE[name] for name in names if name in _ELSEWHERE), "")


def _open(fact: Fact, reason: str) -> Fact:
    """A default is not known where a flag may be hidden."""
    if fact.status != "default":
        return fact
    return fact._replace(value=None, status="unknown", note=reason)


def _absent(given: Given) -> list[Fact]:
    """What the flags that are not given mean."""
    facts = list(tabulated_defaults(_TABLE, TABULATED))
    switches = dict(SWITCHES)
    absent = ABSENT
    if "--deepspeed" not in given:
        absent += ABSENT_ENGINE
        facts.extend(tabulated_defaults(_TABLE, TABULATED_ENGINE))
        switches.update(SWITCHES_ENGINE)
    for flag, leaf in switches.items():
        if flag not in given:
            facts.append(_fact(leaf, value=False, note=f"{flag} is not given"))
    facts.extend(_fact(name, value, note) for name, value, note in absent)
    if "--global-batch-size" not in given:
        note = "without --global-batch-size a step is one micro-batch on each rank"
        facts.append(_fact("batch.gradient_accumulation_steps", 1, note))
    if "--fp16" in given and "--deepspeed" not in given:
        note = "dynamic without --loss-scale"
        facts.append(_fact("precision.loss_scale", 0.0, note))
    return facts


def _fact(leaf: str, value: object, note: str) -> Fact:
    return Fact(leaf, value, "default", (), note)
