"""The idle share of a pipeline: p stages, m micro-batches, v chunks on each stage.

A stage waits while p - 1 micro-batches, each 1 / v of its work, fill and drain the
pipeline. Source: Narayanan et al. 2021 (arXiv:2104.04473) section 2.2.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, exactly, within

_SOURCE = "bubble law, Narayanan et al. 2021 (arXiv:2104.04473)"
_EQUAL_STAGES = "equal stages, no exposed communication, one-forward-one-backward"
# Six published readings of strong scaling lie within it (throughput.csv).
_SCALING_BAND = 0.03


class Pipeline(Record):
    """A schedule: stages, micro-batches of a step, model chunks on each stage."""

    stages: int
    micro_batches: int
    chunks: int = 1


def idle_share(pipeline: Pipeline) -> Estimate:
    """Idle time in the time of the step: (p - 1) / (v m + p - 1)."""
    waits = pipeline.stages - 1
    work = pipeline.chunks * pipeline.micro_batches
    return exactly(waits / (work + waits), _SOURCE)._replace(valid=_EQUAL_STAGES)


def idle_over_ideal(pipeline: Pipeline) -> Estimate:
    """Idle time over the time without it: (p - 1) / (v m)."""
    work = pipeline.chunks * pipeline.micro_batches
    return exactly((pipeline.stages - 1) / work, _SOURCE)._replace(valid=_EQUAL_STAGES)


def scaled_throughput(
    measured: float, pipeline: Pipeline, micro_batches: int
) -> Estimate:
    """Throughput of one GPU when the same batch is spread over more of them.

    Each then has other `micro_batches` than the pipeline that was measured.
    """
    before = idle_over_ideal(pipeline).value
    after = idle_over_ideal(pipeline._replace(micro_batches=micro_batches)).value
    value = measured * (1 + before) / (1 + after)
    return within(value, _SCALING_BAND, _SOURCE, _EQUAL_STAGES)
