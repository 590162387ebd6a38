"""Delayed fp8 scaling in MaxText together with gradient accumulation.

Why it hurts: the scaling history of fp8 travels through the gradients and replaces the
old one after each step. Accumulation would sum the histories of the micro-batches, so
MaxText refuses the pair when it reads the file, on nodes that are allocated.

What passes: one micro-batch for each step, or a quantization whose scales are worked
out anew each time.

Where it does not apply: other frameworks, which keep the scales outside of the
gradients, and runs without fp8.

Source: AI-Hypercomputer/maxtext maxtext/configs/types.py
(set_derived_and_validate_values), 0.2.0 to 0.2.5. 0.1.0 has no such guard, and would
sum the histories.

Bad::

    quantization: fp8
    gradient_accumulation_steps: 4

Good::

    quantization: fp8
    gradient_accumulation_steps: 1
"""

from speccheck.validator.evidence.plan import Batch, Parallelism, Precision
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_DELAYED = ("fp8", "fp8_gpu", "nanoo_fp8", "te_fp8_delayedscaling")


@rule(clause="CONF-006", frameworks=("maxtext",))
def fp8_scaling_with_accumulation(
    precision: Precision, batch: Batch, parallelism: Parallelism
) -> Verdicts:
    """Judge the steps of accumulation where the scales have a history."""
    recipe, steps = precision.fp8_recipe, batch.gradient_accumulation_steps
    if recipe.value not in _DELAYED:
        return
    at = [recipe, steps]
    if parallelism.pipeline_parallel_size.or_else(1) > 1 < steps.need():
        yield unknown(
            "how many of the micro-batches are of the pipeline is not known",
            missing=[steps.name],
            at=at,
        )
        return
    if steps.need() <= 1:
        yield passed(at=at, measured=steps.value, required=1)
        return
    yield fail(
        f"quantization {recipe.value} keeps a history of scales, which cannot be "
        f"accumulated over {steps.value} micro-batches",
        at=[steps, recipe],
        measured=steps.value,
        required=1,
        cost="MaxText refuses the configuration at start-up, on allocated nodes",
        remedy="Set gradient_accumulation_steps to 1 and raise "
        "per_device_batch_size, or leave quantization empty.",
    )
