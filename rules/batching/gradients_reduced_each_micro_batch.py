"""Gradients that are reduced with each micro-batch of a step.

Why it hurts: only their sum counts. Reducing them with each of the accumulated
micro-batches sends the same bytes several times.

What passes: one reduction, with the last micro-batch of a step.

Where it does not apply: no accumulation, or one data-parallel rank; engines of which
neither is known.

Source: huggingface/accelerate utils/dataclasses.py (sync_each_batch); OLMo config
(DDPGradSyncMode).

Bad::

    gradient_accumulation_steps: 16
    accelerator_config: {gradient_accumulation_kwargs: {sync_each_batch: true}}

Good::

    gradient_accumulation_steps: 16
"""

from speccheck.validator.evidence.plan import Batch, Communication
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="BATCH-004",
    confidence="advisory",
    about=("communication.reduces_each_micro_batch",),
)
def gradients_reduced_each_micro_batch(
    communication: Communication, batch: Batch
) -> Verdicts:
    """Judge when gradients are reduced."""
    each, steps = (
        communication.reduces_each_micro_batch,
        batch.gradient_accumulation_steps,
    )
    at = [each, steps]
    if not each.need():
        yield passed(at=at)
        return
    yield fail(
        f"gradients are reduced with each of {steps.need()} micro-batches of a step; "
        "the last one is enough",
        at=at,
        measured=steps.need(),
        required=1,
        cost=f"{steps.need()} times the gradient traffic",
        remedy="Reduce with the last micro-batch only, unless memory for whole "
        "gradients is missing.",
    )
