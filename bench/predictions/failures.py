"""Time between failures and effective time: rows of failures.csv and ettr.csv."""

from collections.abc import Iterator, Mapping

from predictions.prediction import Prediction, rows
from speccheck.validator.models.checkpointing import useful_share
from speccheck.validator.models.failures import (
    FEWEST_NODES,
    FailureRate,
    effective_time_ratio,
    mean_time_between_failures,
)
from speccheck.validator.models.units import hours_in

GPUS_OF_NODE = 8
HOURS_OF_DAY = 24
FLEETS_OF_BOUNDS = frozenset({"rsc1", "rsc2"})
# The law with the fleet's own rate, and the usual rate against another fleet.
LAW_BAND, FLEET_BAND = 3.0, 10.0
# Published with two digits, as a share of the run.
RATIO_BAND = 0.5


def predictions() -> Iterator[Prediction]:
    """Yield the rows of both tables that say something of a job."""
    for row in rows("failures"):
        if row["kind"] == "mttf-check":
            yield _law(row)
        elif row["kind"] == "fleet" and row["gpus"]:
            yield _fleet(row)
    for row in rows("ettr"):
        share = effective_share(row)
        if share is not None:
            yield _effective(row, share)


def _law(row: Mapping[str, str]) -> Prediction:
    """Return M = 1 / (N r) with the rate that the fleet itself reports."""
    nodes, rate = _nodes(row), float(row["rate_per_node_day"])
    own = mean_time_between_failures(nodes, FailureRate(rate, rate, rate, ""))
    bounds = mean_time_between_failures(nodes)
    return Prediction(
        table="failures",
        group="law, own rate" if nodes >= FEWEST_NODES else "law, below its range",
        id=row["id"],
        unit="h",
        published=float(row["published_mttf_h"]),
        predicted=hours_in(own.value),
        lower=hours_in(bounds.lower),
        upper=hours_in(bounds.upper),
        band_percent=LAW_BAND if nodes >= FEWEST_NODES else None,
    )


def _fleet(row: Mapping[str, str]) -> Prediction:
    """Return the usual rate against what one fleet counted, or the rate that it states.

    No band for small jobs, nor for the two fleets that the bounds were taken from.
    """
    nodes = _nodes(row)
    usual = mean_time_between_failures(nodes)
    group = "usual rate" if nodes >= FEWEST_NODES else "usual rate, small jobs"
    if row["id"] in FLEETS_OF_BOUNDS:
        group = "usual rate, fleets of its bounds"
    if row["events"]:
        days = float(row["days"]) / float(row["events"])
    else:
        days = 1 / (nodes * float(row["rate_per_node_day"]))
    return Prediction(
        table="failures",
        group=group,
        id=row["id"],
        unit="h",
        published=days * HOURS_OF_DAY,
        predicted=hours_in(usual.value),
        lower=hours_in(usual.lower),
        upper=hours_in(usual.upper),
        band_percent=FLEET_BAND if group == "usual rate" else None,
    )


def _effective(row: Mapping[str, str], share: float) -> Prediction:
    """Return the prediction for a row; only some rows publish a number.

    Others have a bound.
    """
    is_number = row["relation"] == "eq"
    return Prediction(
        table="ettr",
        group=f"effective time, {row['model']}",
        id=row["id"],
        unit="share",
        published=float(row["published"]) if is_number else None,
        predicted=share,
        band_percent=RATIO_BAND if is_number else None,
    )


def effective_share(row: Mapping[str, str]) -> float | None:
    """Return what the row's model says of its run.

    None for a run without the inputs.
    """
    if row["model"] == "none":
        return None
    interval, save, restart = (
        float(row[text]) for text in ("interval_s", "write_s", "restart_s")
    )
    if row["model"] == "exact-exponential":
        return useful_share(interval, save, float(row["mttf_s"]), restart)
    rate = float(row["rate_per_node_day"])
    return effective_time_ratio(_nodes(row), rate, restart, interval, save)


def _nodes(row: Mapping[str, str]) -> int:
    return max(1, int(row["gpus"]) // GPUS_OF_NODE)
