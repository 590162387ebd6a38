"""Prefetching or persistent workers without any worker process.

Why it hurts: both belong to worker processes. The loader refuses them when there are
none, after the model has been loaded; and with no workers, loading stops the GPU.

What passes: at least one worker, or neither setting.

Where it does not apply: the number of workers is not known.

Source: huggingface/transformers training_args.py (TrainingArguments.__post_init__);
pytorch torch/utils/data/dataloader.py.

Bad::

    dataloader_num_workers: 0
    dataloader_prefetch_factor: 4

Good::

    dataloader_num_workers: 8
    dataloader_prefetch_factor: 4
"""

from speccheck.validator.evidence.plan import Data
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", about=("data.prefetch_factor", "data.persistent_workers"))
def prefetch_without_workers(data: Data) -> Verdicts:
    """Judge the settings of worker processes against their number."""
    prefetch, persistent = data.prefetch_factor, data.persistent_workers
    text_lists = [
        (name, leaf)
        for name, leaf, is_set in (
            ("a prefetch factor", prefetch, prefetch.is_known),
            ("persistent workers", persistent, persistent.value is True),
        )
        if is_set and leaf.status != "default"
    ]
    if not text_lists or not data.workers.is_known:
        return
    at = [*(leaf for _, leaf in text_lists), data.workers]
    if data.workers.need() > 0:
        yield passed(at=at, measured=data.workers.need())
        return
    names = " and ".join(name for name, _ in text_lists)
    yield fail(
        f"{names} with 0 loader workers: the loader refuses that",
        at=at,
        measured=0,
        required="at least 1",
        cost="the run stops when the loader is made; without workers the GPU waits for "
        "every batch",
        remedy="Use several workers, or drop the setting.",
    )
