"""Global batch = micro-batch x accumulation x data-parallel ranks, after a change."""

from speccheck.validator.changes.what_if.draft import Draft
from speccheck.validator.changes.what_if.mesh import DATA
from speccheck.validator.evidence.value import Value

GLOBAL, MICRO, STEPS = (
    "batch.global_batch_size",
    "batch.micro_batch_size",
    "batch.gradient_accumulation_steps",
)


def rederive_batch(draft: Draft) -> None:
    """Keep the global batch, then the micro-batch; the accumulation follows.

    A change of the accumulation alone changes the global batch.
    """
    is_touched = draft.is_set(GLOBAL, MICRO, STEPS) or draft.changes(DATA)
    if not is_touched or draft.old("batch.mode") == "elastic":
        return
    if draft.is_set(STEPS):
        if not draft.is_set(GLOBAL):
            draft.keep(MICRO)
            draft.drop(GLOBAL)
        elif not draft.is_set(MICRO):
            draft.drop(MICRO)
    elif not (draft.old(GLOBAL) is None and not draft.is_set(GLOBAL)):
        _accumulate(draft)


def _accumulate(draft: Draft) -> None:
    """Drop the accumulation, so that it follows from the other three."""
    draft.keep(GLOBAL)
    draft.keep(MICRO)
    total, micro, ranks = draft.new(GLOBAL), draft.new(MICRO), draft.new(DATA)
    draft.drop(STEPS)
    if draft.new(STEPS) is None:
        reason = "the data-parallel ranks are not known"
        if ranks and micro and total:
            reason = f"{total:,} / ({micro} x {ranks:,} ranks) is no whole number"
        draft.say(Value(STEPS, note=reason))
    if total is not None and not draft.is_set(GLOBAL):
        kept = f"global batch {total:,}"
        if micro is not None and not draft.is_set(MICRO):
            kept += f" and micro-batch {micro}"
        follows = draft.new(STEPS)
        then = "cannot be worked out" if follows is None else f"follows: {follows}"
        draft.remarks.append(f"kept: {kept}; the accumulation {then}")
