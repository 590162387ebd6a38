"""All weights trained in fp32 without mixed precision.

Why it hurts: fp32 products use a small part of the tensor cores, and weights,
activations and traffic are twice as large. The same run takes several times the GPU
hours.

What passes: bf16, fp16 or fp8 compute, or weights held in a 16-bit format.

Where it does not apply: adapters, reinforcement learning, debugging, trials. A format
that no file states is left open where trainers set it in code; Megatron-LM takes it
from its command line alone, and computes in fp32 without --bf16.

Source: NVIDIA H100 data sheet: dense bf16 989 TFLOPS, TF32 495, fp32 67; Micikevicius
et al. 2018 (arXiv:1710.03740).

Bad::

    bf16: false
    fp16: false

Good::

    bf16: true
"""

from speccheck.validator.evidence.plan import Parallelism, Precision, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_HALF = ("bf16", "fp16", "fp8")


@rule(clause="PREC-001")
def training_in_full_precision(
    precision: Precision, parallelism: Parallelism, run: Run
) -> Verdicts:
    """Judge the stated compute format."""
    compute, weights = precision.compute_dtype, precision.parameter_dtype
    if precision.fp8.value or weights.value in _HALF:
        yield passed(at=[precision.fp8, weights])
        return
    if run.is_trial:
        return
    text = compute.need()
    if text != "fp32":
        yield passed(at=compute, measured=text)
        return
    is_megatron = run.framework.value == "megatron-lm" and (
        parallelism.engine.value == "megatron"
    )
    if not compute.places and not is_megatron:
        yield unknown(
            f"fp32 by default ({compute.note}); a trainer may set another in code",
            missing=(compute.name,),
        )
        return
    yield fail(
        "training computes in fp32, without mixed precision",
        at=[compute, precision.bf16, precision.fp16]
        if compute.places
        else run.framework,
        measured=text,
        required="bf16, fp16 or fp8",
        cost="matrix products run at a fraction of tensor-core speed, with twice the "
        "memory and traffic",
    )
