"""Too few worker processes for the input of a pretraining run.

Why it hurts: without workers each batch is read and prepared while the GPU waits. On
many nodes the slowest loader sets the pace of all.

What passes: the clause's number of workers for each GPU.

Where it does not apply: one node and fine-tuning, where most published files run well
without; torchtitan files that do not name the setting, which its older releases lack.

Source: engineering default; huggingface/transformers issue 20581 (ten times slower).

Bad::

    dataloader_num_workers: 0

Good::

    dataloader_num_workers: 4
"""

from speccheck.validator.evidence.plan import Data, Run
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_PRETRAINING = frozenset({"pretrain", "continued"})


class WorkerLimit(Numbers):
    """Workers of one rank."""

    workers_min: int


@rule(clause="DATA-001", confidence="advisory")
def too_few_loader_workers(data: Data, run: Run, limit: WorkerLimit) -> Verdicts:
    """Judge the worker processes of one rank."""
    if run.role.value not in _PRETRAINING:
        return
    workers = data.workers
    if run.framework.value == "torchtitan" and workers.status == "default":
        return
    count = workers.need()
    if count >= limit.workers_min:
        yield passed(at=workers, measured=count, required=limit.workers_min)
        return
    yield fail(
        f"{count} loader worker{'' if count == 1 else 's'} for each GPU; "
        f"{limit.workers_min} keep it fed",
        at=workers,
        measured=count,
        required=limit.workers_min,
        cost="the GPU waits while each batch is prepared",
    )
