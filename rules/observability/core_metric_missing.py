"""A run whose logs lack metrics that every run should have.

Why it hurts: without the same few series in every run, a slow or sick one cannot be
compared with the others, nor explained.

What passes: each core metric with at least one finite value in any of the logs that are
given together. What the dictionary names as stand-ins counts where all of them are
there: the gradient norm with the noise scale for the variance of gradients. Used and
total (or free) memory are the pressure. Latency between nodes is asked for on several
nodes only.

What is unknown: a lint and a preflight may see one log of many - that of a training
framework or of MLPerf, without the exporter's - so that what is missing may be
elsewhere. Where the use is certification the evidence is all there is, and it fails.

Where it does not apply: nowhere; without series the clause is undecided.

Source: claim S2#38; NVIDIA/dcgm-exporter etc/default-counters.csv.

Bad::

    {"metric": "train.loss", ...}                  # the loss alone

Good::

    DCGM_FI_DEV_GPU_UTIL, DCGM_FI_DEV_FB_USED, ... # and train.gradient.variance
"""

from speccheck.validator.evidence.measurement.telemetry import (
    MetricDictionary,
    Metrics,
    names_in,
)
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_BETWEEN_NODES = "net.internode.latency"
_USED = "gpu.memory.used"
# Stock exporters of DCGM show what is used and what is free.
_PARTS = {
    "gpu.memory.pressure": ((_USED, "gpu.memory.total"), (_USED, "gpu.memory.free"))
}


class Core(Numbers):
    """The metrics, and what one counts as that no log holds."""

    core_metrics: tuple[str, ...]
    absent_is: str


@rule(clause="OBS-001")
def core_metric_missing(
    metrics: Metrics, cluster: Cluster, dictionary: MetricDictionary, limit: Core
) -> Verdicts:
    """Look for each core metric in all logs together."""
    there = names_in(metrics)
    nodes = {metric.node.value for metric in metrics.each() if metric.node.is_known}
    among = max(cluster.nodes.or_else(0), len(nodes))
    missing: list[str] = []
    stood_in: list[str] = []
    for name in limit.core_metrics:
        sets = _PARTS.get(name) or (dictionary.stand_ins(name),)
        instead = next((set_ for set_ in sets if there.issuperset(set_)), sets[0])
        if name in there or (name == _BETWEEN_NODES and among == 1):
            continue
        if instead and there.issuperset(instead):
            stood_in.append(f"{' and '.join(instead)} for {name}")
            continue
        hint = f" (or {' with '.join(instead)})" if instead else ""
        missing.append(f"{name}{hint}")
    if not missing:
        text = f"by stand-ins: {'; '.join(stood_in)}" if stood_in else ""
        yield passed(text, at=metrics.count, measured=len(limit.core_metrics))
        return
    lacking = tuple(item.partition(" ")[0] for item in missing)
    if lacking == (_BETWEEN_NODES,) and not among:
        cluster.nodes.need()
    message = (
        f"the logs hold {len(limit.core_metrics) - len(missing)} of "
        f"{len(limit.core_metrics)} core metrics; missing: {', '.join(missing)}"
    )
    if limit.absent_is == "fail" and there:
        yield fail(
            message,
            at=metrics.count,
            measured=len(limit.core_metrics) - len(missing),
            required=len(limit.core_metrics),
            cost="slow and sick runs cannot be compared",
        )
    else:
        yield unknown(
            f"{message}; give the logs of exporters too",
            missing=lacking,
            at=metrics.count,
        )
