"""A run whose log tells no throughput.

Why it hurts: a job that runs at half its speed looks like one that runs well. Without
tokens per second, or the utilisation of the GPUs, nobody sees the waste.

What passes: a series of tokens or of model FLOPS per second, or of model FLOPS
utilisation, with a finite value.

What is unknown: a lint and a preflight may see one log of many; where the use is
certification the evidence is all there is, and it fails.

Where it does not apply: plans without a log that say themselves what they log; small
jobs, as the profiles have it.

Source: pytorch/torchtitan torchtitan/components/metrics.py; NVIDIA/Megatron-LM
megatron/training/training.py.

Bad::

    {"step": 10, "train.loss": 2.31}

Good::

    {"step": 10, "train.loss": 2.31, "train.mfu": 0.43}
"""

from speccheck.validator.evidence.measurement.telemetry import (
    MetricDictionary,
    Metrics,
    names_in,
)
from speccheck.validator.evidence.plan import Telemetry
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Throughput(Numbers):
    """What a throughput counts as that no log holds."""

    absent_is: str


@rule(clause="OBS-007")
def throughput_not_in_log(
    metrics: Metrics,
    telemetry: Telemetry,
    dictionary: MetricDictionary | None,
    limit: Throughput,
) -> Verdicts:
    """Look for a throughput in all logs together."""
    if not metrics.count.is_known and telemetry.throughput.is_known:
        return
    there = names_in(metrics)
    wanted = (
        [metric_entry.id for metric_entry in dictionary.of_clause("OBS-007")]
        if dictionary
        else []
    )
    texts = [text for text in wanted if text in there]
    if texts:
        yield passed(at=metrics.count, measured=", ".join(texts))
        return
    message = "no log holds a throughput or the utilisation of model FLOPS"
    if limit.absent_is == "fail" and there:
        yield fail(
            message,
            at=metrics.count,
            measured="none",
            required=" or ".join(wanted),
            cost="a job at half its speed looks like any other",
        )
    else:
        yield unknown(message, missing=wanted or ["metrics"], at=metrics.count)
