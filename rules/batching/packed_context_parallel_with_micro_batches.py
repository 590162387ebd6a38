"""Packed sequences under context parallelism with more than one sample at once.

Why it hurts: ring attention takes the packed samples of a micro-batch as one long row.
Axolotl refuses more than one row for each rank.

What passes: micro_batch_size 1 with sample_packing and a context-parallel size above 1.

Where it does not apply: no packing, no context parallelism, other frameworks.

Source: axolotl utils/schemas/validation.py (check_context_parallel_size); a requirement
of ring-flash-attn.

Bad::

    sample_packing: true
    context_parallel_size: 2
    micro_batch_size: 2

Good::

    sample_packing: true
    context_parallel_size: 2
    micro_batch_size: 1
    gradient_accumulation_steps: 2
"""

from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.mending import combined, rewritten
from speccheck.validator.evidence.plan import Batch, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-006", frameworks=("axolotl",), about=("batch.packing",))
def packed_context_parallel_with_micro_batches(
    batch: Batch, parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge the micro-batch where packing meets context parallelism."""
    context = parallelism.context_parallel_size
    if not batch.packing.value:
        return
    if context.or_else(1) <= 1:
        return
    micro = batch.micro_batch_size.need()
    at = (batch.micro_batch_size, context, batch.packing)
    if micro == 1:
        yield passed(at=at, measured=micro, required=1)
        return
    yield fail(
        f"micro-batch {micro} with packing and context-parallel size {context.value}; "
        "ring attention takes one packed row",
        at=at,
        measured=micro,
        required=1,
        cost="the validator refuses the file at start-up",
        remedy=f"Set micro_batch_size to 1 and multiply gradient_accumulation_steps by "
        f"{micro}.",
        fix=_fix(batch, stated),
    )


def _fix(batch: Batch, stated: StatedKeys) -> Fix | None:
    """Propose single rows and as many more steps, so that the batch stays."""
    micro, steps = batch.micro_batch_size, batch.gradient_accumulation_steps
    fix = rewritten(micro, 1, stated)
    more = rewritten(steps, micro.need() * steps.or_else(1), stated)
    if fix is None or more is None:
        return None
    return combined(f"{fix.says}, {more.says}", (*fix.changes, *more.changes))
