"""fp8 on a GPU that does not have it.

Why it hurts: fp8 products need tensor cores of compute capability 8.9, block-scaled
formats (MXFP8, NVFP4) those of 10.0. Transformer Engine and torchao stop on older GPUs.

What passes: fp8 from 8.9 on, block-scaled formats from 10.0 on.

Where it does not apply: fp8 is off.

Source: NVIDIA/TransformerEngine transformer_engine/pytorch/quantization.py
(check_fp8_support, check_mxfp8_support).

Bad::

    # A100, compute capability 8.0
    --fp8-format hybrid

Good::

    # H100, compute capability 9.0
    --fp8-format hybrid --fp8-recipe delayed
"""

from speccheck.rules.precision._capability import capability, dotted
from speccheck.validator.evidence.plan import Cluster, Precision
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_BLOCK_SCALED = ("mxfp8", "mxfp4", "nvfp4")


class Support(Numbers):
    """The first compute capabilities with fp8 and with block-scaled formats."""

    fp8_cc: float
    mxfp_cc: float


@rule(clause="PREC-006")
def fp8_without_hardware_support(
    precision: Precision, cluster: Cluster, limit: Support
) -> Verdicts:
    """Judge the format against the GPU."""
    recipe = precision.fp8_recipe
    is_block_scaled = any(name in recipe.or_else("") for name in _BLOCK_SCALED)
    least = capability(limit.mxfp_cc if is_block_scaled else limit.fp8_cc)
    what = f"the fp8 recipe {recipe.value}" if is_block_scaled else "fp8"
    generation = cluster.compute_capability.need()
    at = (precision.fp8, recipe, cluster.compute_capability)
    text, required = dotted(generation), dotted(least)
    if generation >= least:
        yield passed(at=at, measured=text, required=required)
        return
    yield fail(
        f"{what} needs compute capability {required}, and the GPU has {text}",
        at=at,
        measured=text,
        required=required,
        cost="the run stops when the first fp8 layer is built",
        remedy="Use bf16 on this GPU.",
    )
