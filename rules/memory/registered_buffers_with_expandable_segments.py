"""Registered communication buffers together with expandable segments.

Why it hurts: Megatron-core allocates registered buffers from a memory pool, which does
not work with expandable segments. It raises while the model is wrapped.

What passes: registered buffers with another allocator setting.

Where it does not apply: plans that register no buffers.

Source: megatron-core 0.14.0 to 0.16.1 distributed/distributed_data_parallel_config.py
(__post_init__ raises ValueError), read in the wheels. 0.13 does not ask: a warning.

Bad::

    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    torchrun pretrain_gpt.py --use-nccl-ub ...

Good::

    unset PYTORCH_CUDA_ALLOC_CONF
    torchrun pretrain_gpt.py --use-nccl-ub ...
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_VARIABLE = "PYTORCH_CUDA_ALLOC_CONF"
_KEYS = ("--use-nccl-ub", "nccl_ub")


@rule(
    clause="MEM-032",
    confidence="calibrated",
    frameworks=("megatron-lm", "megatron-bridge", "nemo1"),
    about=(_VARIABLE,),
)
def registered_buffers_with_expandable_segments(
    stated: StatedKeys, environment: Environment
) -> Verdicts:
    """Judge the allocator of a plan that registers buffers."""
    variable = environment.find(_VARIABLE)
    keys = [
        key
        for file in stated.files
        for key in file.keys
        if key.path and key.path[-1] in _KEYS and key.value is not False
    ]
    if variable is None or not keys:
        return
    at = [keys[0].place, variable.place]
    if variable.value is None:
        yield unknown(f"{_VARIABLE} is not known", missing=(_VARIABLE,), at=at)
        return
    if "expandable_segments:True" not in variable.value.split(","):
        yield passed(at=at)
        return
    yield fail(
        f"buffers are registered with NCCL, and {_VARIABLE} asks for expandable "
        "segments; from 0.14 on megatron-core takes only one of them",
        at=at,
        cost="the job stops while the model is wrapped",
        remedy="Remove expandable_segments:True, or the registration of buffers.",
    )
