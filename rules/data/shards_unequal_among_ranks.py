"""Shards of a data set that do not divide among the ranks that read them.

Why it hurts: a loader gives each worker of each rank whole shards. Where they do not
come out even, some workers read one shard more: ranks end at different steps and the
others wait for them, or the loader drops or repeats the rest without a word.

What passes: as many shards as a multiple of data-parallel ranks times workers.

Where it does not apply: the number of shards is not stated; one data-parallel rank.
Loaders that cut shards between ranks do without, hence advice.

Source: torch.utils.data IterableDataset documentation (sharding over workers).

Bad::

    data: {shards: 1000, workers: 4}            # 64 data-parallel ranks

Good::

    data: {shards: 1024, workers: 4}
"""

from speccheck.validator.evidence.plan import Data, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="DATA-004", confidence="advisory", about=("data.shards",))
def shards_unequal_among_ranks(data: Data, parallelism: Parallelism) -> Verdicts:
    """Judge shards % (ranks x workers) = 0."""
    shards = data.shards
    if not shards.is_known:
        return
    ranks, workers = parallelism.data_parallel_size, data.workers
    each = max(workers.need(), 1)
    readers = ranks.need() * each
    at = [shards, ranks, workers]
    rest = shards.need() % readers
    if not rest:
        yield passed(at=at, measured=shards.need(), required=readers)
        return
    yield fail(
        f"{shards.need():,} shards for {ranks.need():,} ranks x {each} workers = "
        f"{readers:,} readers: {rest:,} shards are left over",
        at=at,
        measured=shards.need(),
        required=f"a multiple of {readers}",
        cost="ranks end at different steps, or data is dropped or read twice",
        remedy=f"Cut the data set into {-(-shards.need() // readers) * readers:,} "
        f"shards.",
    )
