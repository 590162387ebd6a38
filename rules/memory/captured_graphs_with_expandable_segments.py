"""CUDA graphs together with expandable segments.

Why it hurts: NCCL registers the buffers that a graph captures by their addresses, and
an expandable segment may map others there. Megatron-LM asserts against it; without the
assertion the run ends with an illegal memory access.

What passes: NCCL_GRAPH_REGISTER=0 beside graphs of Transformer Engine; another setting
of the allocator.

Where it does not apply: no graphs; no setting of the allocator. Graphs of Megatron-LM
itself are left open with expandable segments: releases and GPU generations differ.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args) and
megatron/core/transformer/cuda_graphs.py.

Bad::

    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    torchrun pretrain_gpt.py --cuda-graph-impl transformer_engine

Good::

    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export NCCL_GRAPH_REGISTER=0
    torchrun pretrain_gpt.py --cuda-graph-impl transformer_engine
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.finding import to_add
from speccheck.validator.evidence.mending import combined, variable_set
from speccheck.validator.evidence.stated_keys import StatedKey, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_ALLOCATOR, _REGISTER = "PYTORCH_CUDA_ALLOC_CONF", "NCCL_GRAPH_REGISTER"
_SETTING = "expandable_segments:True"
_ENGINE = "transformer_engine"


@rule(clause="MEM-032", frameworks=("megatron-lm",), about=(_ALLOCATOR,))
def captured_graphs_with_expandable_segments(
    stated: StatedKeys, environment: Environment
) -> Verdicts:
    """Judge the allocator of a plan that captures graphs."""
    variable = environment.find(_ALLOCATOR)
    key = _capturing(stated)
    if variable is None or variable.value is None or key is None:
        return
    register = environment.find(_REGISTER)
    at = [variable.place, key.place, *([register.place] if register else [])]
    if _SETTING not in variable.value:
        yield passed(at=at)
        return
    if key.value == "local" or (register is not None and register.value is None):
        yield unknown(
            f"whether graphs go with {_SETTING} depends on release and GPU",
            missing=("run.framework_version", "cluster.compute_capability"),
            at=at,
        )
        return
    if register is not None and register.value == "0":
        yield passed(at=at)
        return
    yield fail(
        f"{key.path[0]} captures CUDA graphs, and {_ALLOCATOR} asks for {_SETTING}; "
        f"together they need {_REGISTER}=0",
        at=at,
        measured=_SETTING,
        required=f"{_REGISTER}=0",
        cost="Megatron-LM stops at start-up, or with an illegal memory access later",
        fix=variable_set(register, "0")
        if register is not None
        else combined(
            f"add {_REGISTER}=0",
            [to_add(variable.place, _REGISTER, "0")],
        ),
    )


def _capturing(stated: StatedKeys) -> StatedKey | None:
    """Return the flag that surely turns graphs on, Transformer Engine's first."""
    stated_keys = [
        key
        for file in stated.files
        for key in file.keys
        if key.is_sure
        and key.path == ("--cuda-graph-impl",)
        and key.value in (_ENGINE, "local")
    ]
    return min(stated_keys, key=lambda key: key.value != _ENGINE, default=None)
