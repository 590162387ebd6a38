"""A run of which nobody recorded the energy.

Why it hurts: energy per result cannot be computed afterwards from power that was
sampled with gaps.

What passes: the energy counter of some GPU, with readings that grow.

What is unknown: a lint and a preflight may see one log of many; where the use is
certification the evidence is all there is, and it fails.

Where it does not apply: logs without any series of the hardware, outside of
certification.

Source: claims S1#30, S3#56; NVIDIA/dcgm-exporter etc/default-counters.csv.

Bad::

    gpu.power                              # sampled now and then

Good::

    DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION
"""

from speccheck.validator.evidence.measurement.telemetry import (
    MetricDictionary,
    Metrics,
    finite_of,
    series_of,
)
from speccheck.validator.models.telemetry import grown
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_OF_HARDWARE = frozenset({"accelerator", "errors", "energy"})


class Energy(Numbers):
    """What a counter counts as that no log holds."""

    absent_is: str


@rule(clause="ENER-001")
def energy_not_recorded(
    metrics: Metrics, dictionary: MetricDictionary, limit: Energy
) -> Verdicts:
    """Look for a counter of energy that moves."""
    series = [
        metric for metric in series_of(metrics, ["gpu.energy"]) if finite_of(metric)
    ]
    moving = [metric for metric in series if grown(finite_of(metric)) > 0]
    if moving:
        yield passed(at=[metric.values for metric in moving], measured=len(moving))
        return
    still = [metric for metric in series if finite_of(metric)[1:]]
    if still:
        yield fail(
            f"no counter of energy grows ({len(still)} read more than once)",
            at=still[0].values,
            measured=0,
            required="a counter that grows",
            cost="energy per result cannot be told afterwards",
        )
        return
    entries = [dictionary.entry(metric.metric.value) for metric in metrics.shown]
    is_of_hardware = any(entry and entry.group in _OF_HARDWARE for entry in entries)
    message = "no log holds two readings of the energy of the accelerators"
    if limit.absent_is == "fail" and metrics.shown:
        yield fail(
            message,
            at=metrics.count,
            measured="none",
            required="gpu.energy",
            cost="energy per result cannot be told afterwards",
        )
    elif is_of_hardware or not metrics.shown:
        yield unknown(
            f"{message}; give the logs of exporters too",
            missing=["gpu.energy"],
            at=metrics.count,
        )
