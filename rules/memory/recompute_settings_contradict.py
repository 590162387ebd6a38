"""Recomputation settings of Megatron-LM that exclude or need each other.

Why it hurts: selective recomputation takes neither a method nor a number of layers;
full recomputation needs both. Megatron-LM raises while the model is configured.

What passes: selective alone; full with a method and a number of layers.

Where it does not apply: other frameworks; no recomputation.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args) and
megatron/core/transformer/transformer_config.py (__post_init__), since core 0.4.

Bad::

    --recompute-granularity selective --recompute-method uniform

Good::

    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
"""

from speccheck.validator.evidence.plan import Memory, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-006", frameworks=("megatron-lm",))
def recompute_settings_contradict(memory: Memory, parallelism: Parallelism) -> Verdicts:
    """Judge mode, method and number of layers together."""
    if parallelism.engine.value == "deepspeed":
        return
    mode, method, layers = (
        memory.recompute_mode,
        memory.recompute_method,
        memory.recompute_layers,
    )
    extra = [value for value in (method, layers) if value.is_known]
    if mode.value == "selective" and extra:
        names = " and ".join(_FLAGS[value.name] for value in extra)
        yield fail(
            f"selective recomputation is set with {names}, which only full "
            "recomputation takes",
            at=[*extra, mode],
            cost="Megatron-LM raises while the model is configured",
            remedy=f"Remove {names}, or set --recompute-granularity full.",
        )
    elif mode.value == "full" and len(extra) < len(_FLAGS):
        absent = [value for value in (method, layers) if not value.is_known]
        unclear = [value for value in absent if value.places or value.note]
        if unclear:
            unclear[0].need()
        names = " and ".join(_FLAGS[value.name] for value in absent)
        yield fail(
            f"full recomputation is set without {names}",
            at=[mode, *extra],
            cost="Megatron-LM raises while the model is configured",
            remedy="Add --recompute-method uniform --recompute-num-layers 1, or set "
            "--recompute-granularity selective.",
        )
    elif mode.value in {"full", "selective"}:
        yield passed(at=[mode, *extra])


_FLAGS = {
    "memory.recompute_method": "--recompute-method",
    "memory.recompute_layers": "--recompute-num-layers",
}
