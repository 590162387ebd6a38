"""Whether a global batch is somebody's number or the product of the others."""

from speccheck.validator.evidence.plan import Batch


def states_no_total(batch: Batch) -> bool:
    """Return whether the plan's global batch is only the product it derives from.

    A total that was worked out of other keys, as by an interpolation, is a statement;
    the product of micro-batch, accumulation and ranks has the places of all of them.
    """
    total, steps = batch.global_batch_size, batch.gradient_accumulation_steps
    if total.status == "default" or not total.places:
        return True
    is_built_on = steps.is_known and set(steps.places) <= set(total.places)
    return total.status == "derived" and is_built_on
