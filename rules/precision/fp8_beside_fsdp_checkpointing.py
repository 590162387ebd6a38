"""fp8 beside the activation checkpointing of FSDP.

Why it hurts: each layer casts and scales its weights once more for the repeated forward
pass; fp8 then often takes longer than bf16.

What passes: fp8 without it.

Where it does not apply: no fp8; other frameworks.

Source: axolotl utils/schemas/validation.py (check_fp8_config), read in the wheel of
0.19.0.

Bad::

    fp8: true
    fsdp_config:
      activation_checkpointing: true

Good::

    fp8: true
    fsdp_config:
      activation_checkpointing: false
"""

from speccheck.validator.evidence.plan import Precision
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_KEYS = ("activation_checkpointing", "fsdp_activation_checkpointing")


@rule(
    clause="PREC-022",
    confidence="advisory",
    frameworks=("axolotl",),
    about=("precision.fp8",),
)
def fp8_beside_fsdp_checkpointing(precision: Precision, stated: StatedKeys) -> Verdicts:
    """Judge the switch of FSDP's own block where products run in fp8."""
    if not precision.fp8.value:
        return
    keys = [
        key
        for file in stated.files
        for key in file.keys
        if key.path[0] == "fsdp_config" and key.path[-1] in _KEYS
    ]
    on = [key.place for key in keys if key.value is True]
    if on:
        yield fail(
            "fp8 is on beside the activation checkpointing of FSDP",
            at=[*on, precision.fp8],
            measured="on",
            required="off",
            cost="weights are cast twice in each layer: often slower than bf16",
            remedy="Turn it off in fsdp_config, or train in bf16.",
        )
    elif keys:
        yield passed(at=[*(key.place for key in keys), precision.fp8])
