"""A restart that begins the data from the start.

Why it hurts: after each fault the run sees the first samples again and may never see
the last ones: training is biased, and no one can reproduce it.

What passes: a loader whose position is saved with the checkpoint.

Where it does not apply: fine-tuning, whose epochs are short, and runs that save
nothing, which no restart continues.

Source: transformers training_args.py (ignore_data_skip); torchdata StatefulDataLoader.

Bad::

    ignore_data_skip: true

Good::

    ignore_data_skip: false
"""

from speccheck.validator.evidence.plan import Checkpoint, Data
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="DATA-002", needs=("data.resumable",))
def data_order_not_restored(data: Data, checkpoint: Checkpoint) -> Verdicts:
    """Judge whether the loader's position survives a restart."""
    if checkpoint.enabled.is_known and checkpoint.enabled.value is False:
        return
    resumable = data.resumable
    if resumable.need():
        yield passed(at=resumable)
        return
    yield fail(
        "a resumed run begins the data from the start",
        at=resumable,
        measured="not restored",
        required="restored",
        cost="samples are repeated or never seen after each restart",
    )
