"""fp8 of torchao without compilation.

Why it hurts: scaling and casts of fp8 are element-wise passes over memory. Only the
compiler fuses them into the products; without it fp8 is often slower than bf16.

What passes: fp8 with torch.compile.

Where it does not apply: no fp8; fp8 of Transformer Engine, whose kernels are fused.

Source: axolotl utils/schemas/validation.py (check_fp8_config); torchtitan
components/quantization/float8.py ("Compile is required for high performance float8").

Bad::

    fp8: true
    torch_compile: false

Good::

    fp8: true
    torch_compile: true
"""

from speccheck.validator.evidence.plan import Kernels, Precision
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="PREC-021",
    confidence="advisory",
    frameworks=("axolotl", "torchtitan"),
    about=("precision.fp8",),
)
def fp8_without_compile(precision: Precision, kernels: Kernels) -> Verdicts:
    """Judge compilation where products run in fp8."""
    if not precision.fp8.value:
        return
    at = [precision.fp8, kernels.compiled]
    if kernels.compiled.need():
        yield passed(at=at)
        return
    yield fail(
        "fp8 is on and compilation is off",
        at=at,
        measured="off",
        required="on",
        cost="scaling and casts run as passes of their own, often slower than bf16",
    )
