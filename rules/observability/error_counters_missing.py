"""Counters of errors and throttling that nobody collects.

Why it hurts: without them a hardware fault looks like a fault of the program; stock
exporters leave most of them off.

What passes: of each kind - ECC, Xid, NVLink, throttling - one of its series.

What is unknown: a lint and a preflight may see one log of many; where the use is
certification the evidence is all there is, and a kind that is missing fails.

Where it does not apply: logs without any series of the hardware, outside of
certification: they are of the training loop.

Source: claim S3#55; NVIDIA/dcgm-exporter etc/default-counters.csv.

Bad::

    dcgm-exporter                          # the stock list of counters

Good::

    dcgm-exporter --collectors counters.csv   # with ECC, NVLink and violations
"""

from speccheck.validator.evidence.measurement.telemetry import MetricDictionary, Metrics
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_OF_HARDWARE = frozenset({"accelerator", "errors", "energy"})


class Counters(Numbers):
    """The series of each kind, and what a kind counts as that no log holds."""

    ecc: tuple[str, ...]
    xid: tuple[str, ...]
    nvlink: tuple[str, ...]
    throttling: tuple[str, ...]
    absent_is: str


@rule(clause="OBS-006")
def error_counters_missing(
    metrics: Metrics, dictionary: MetricDictionary, limit: Counters
) -> Verdicts:
    """Look for a series of each kind in all logs together."""
    there = {metric.metric.value for metric in metrics.each() if metric.metric.is_known}
    entries = [dictionary.entry(name) for name in there]
    is_all = limit.absent_is == "fail" and bool(there)
    is_of_hardware = any(entry and entry.group in _OF_HARDWARE for entry in entries)
    if not is_of_hardware and not is_all and there:
        return
    kinds = {
        "ECC": limit.ecc,
        "Xid": limit.xid,
        "NVLink errors": limit.nvlink,
        "throttling": limit.throttling,
    }
    missing = [kind for kind, names in kinds.items() if there.isdisjoint(names)]
    if not missing:
        yield passed(at=metrics.count, measured=len(kinds))
        return
    message = f"the logs hold no counter of {', '.join(missing)}"
    lacking = [kinds[text][0] for text in missing]
    if not is_all:
        yield unknown(
            f"{message}; give the logs of exporters too",
            missing=lacking,
            at=metrics.count,
        )
        return
    yield fail(
        f"{message}; one of each kind is required: {', '.join(lacking)}",
        at=metrics.count,
        measured=len(kinds) - len(missing),
        required=len(kinds),
        cost="a hardware fault looks like a fault of the program",
    )
