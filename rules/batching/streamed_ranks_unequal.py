"""A streamed data set whose last, smaller batches are kept.

Why it hurts: shards of a stream hold different numbers of samples. Ranks that run out
first leave the collective, and the others wait for them until the watchdog ends the
job; a smaller batch biases the mean of the gradients.

What passes: drop_last; data sets of known length, whose samplers pad to equal shares.

Where it does not apply: one data-parallel rank.

Source: torch.utils.data IterableDataset and DistributedSampler documentation.

Bad::

    streaming: true
    dataloader_drop_last: false

Good::

    streaming: true
    dataloader_drop_last: true
"""

from speccheck.validator.evidence.mending import switched
from speccheck.validator.evidence.plan import Data
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="BATCH-007", confidence="advisory", needs=("data.drop_last",))
def streamed_ranks_unequal(data: Data, stated: StatedKeys) -> Verdicts:
    """Judge what happens to the last batches of the ranks."""
    drops = data.drop_last
    if drops.need():
        yield passed(at=drops)
        return
    if not data.streaming.need():
        yield passed("the sampler pads to equal shares", at=data.streaming)
        return
    yield fail(
        "the data set is streamed and the last, smaller batches are kept",
        at=[drops, data.streaming],
        measured="kept",
        required="dropped",
        cost="the rank with the shortest shard stops first and the others wait for it",
        remedy="Drop the last batch (dataloader_drop_last: true).",
        fix=switched(drops, stated, on=True),
    )
