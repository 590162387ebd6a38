"""What checkpoints and failures cost a plan: the share of the run that is lost."""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.forecast.recovery import recovery_forecast
from speccheck.validator.forecast.saving import (
    STATED,
    interval,
    kept_checkpoints,
    sections,
    size,
    stall,
    write_time,
)
from speccheck.validator.models.checkpointing import (
    optimal_interval_seconds,
    useful_share,
)
from speccheck.validator.models.estimate import Estimate, EstimateKind, exactly
from speccheck.validator.models.failures import mean_time_between_failures
from speccheck.validator.models.units import duration, seconds_in

_DALY = "Daly 2006 (doi:10.1016/j.future.2004.11.016)"


def checkpoint_forecast(plan: TrainingPlan) -> Forecast:
    """Return the size, times, best interval and waste of the checkpoints of a plan.

    Names that reports and rules rely on, in this order: `size` and `stored` in bytes;
    `write_time`, `stall`, `interval`, `time_between_failures` and `optimum_interval` in
    seconds; `expected_waste` and `effective_share` of the run.
    """
    every, stands_still, failures = (
        interval(plan),
        stall(plan),
        time_between_failures(plan),
    )
    waste = _waste(plan, every, stands_still, failures)
    return Forecast(
        "checkpointing",
        (
            size(plan),
            _stored(plan),
            write_time(plan),
            stands_still,
            every,
            failures,
            optimum_interval(stands_still, failures),
            waste,
            _effective(waste),
        ),
    )


def optimum_interval(stall_time: Quantity, failures: Quantity) -> Quantity:
    """Return the interval that wastes least, by a save's stall and by the failures."""
    save, mtbf = stall_time.estimate, failures.estimate
    if save is None or mtbf is None:
        missing = _missing(stall_time, failures)
        return Quantity("optimum_interval", "seconds", missing=missing)
    estimate = Estimate(
        optimal_interval_seconds(save.value, mtbf.value),
        optimal_interval_seconds(save.lower, mtbf.lower),
        optimal_interval_seconds(save.upper, mtbf.upper),
        _kind(save, mtbf),
        _DALY,
        mtbf.valid,
    )
    note = f"a save of {duration(save.value)}, a failure every {duration(mtbf.value)}"
    return Quantity("optimum_interval", "seconds", estimate, note=note)


def time_between_failures(plan: TrainingPlan) -> Quantity:
    """Return seconds between two failures of the job: stated, or by the failure law."""
    name = "time_between_failures"
    stated, nodes = plan.value("cluster.job_mtbf_hours"), plan.value("cluster.nodes")
    if stated.value and stated.value > 0:
        seconds = seconds_in(stated.value)
        return Quantity(name, "seconds", exactly(seconds, STATED))
    if nodes.value is None or nodes.value <= 0:
        return Quantity(name, "seconds", missing=(nodes.name,))
    estimate = mean_time_between_failures(nodes.value)
    note = f"{nodes.value:,} nodes; state cluster.job_mtbf_hours where it was measured"
    return Quantity(name, "seconds", estimate, note=note)


def _waste(
    plan: TrainingPlan, every: Quantity, stall_time: Quantity, failures: Quantity
) -> Quantity:
    """Return the share of the run that saves, repeats or waits.

    Of a restart, the best value counts no more than what is sure.
    """
    save, mtbf, each = stall_time.estimate, failures.estimate, every.estimate
    if save is None or mtbf is None or each is None:
        missing = _missing(every, stall_time, failures)
        return Quantity("expected_waste", "share", missing=missing)
    restart = recovery_forecast(plan).named("total").estimate
    surely, at_most = (restart.lower, restart.upper) if restart else (0, float("inf"))
    estimate = Estimate(
        1 - useful_share(each.value, save.value, mtbf.value, surely),
        1 - useful_share(each.value, save.lower, mtbf.upper, surely),
        1 - useful_share(each.value, save.upper, mtbf.lower, at_most),
        _kind(save, mtbf),
        _DALY,
        mtbf.valid,
    )
    note = f"restarts counted with {duration(surely)}"
    return Quantity("expected_waste", "share", estimate, note=note)


def _effective(waste: Quantity) -> Quantity:
    """Return the rest: the effective training time ratio."""
    lost = waste.estimate
    if lost is None:
        return waste._replace(name="effective_share")
    kept = lost._replace(value=1 - lost.value, lower=1 - lost.upper)
    return Quantity("effective_share", "share", kept._replace(upper=1 - lost.lower))


def _stored(plan: TrainingPlan) -> Quantity:
    """Return the bytes of all checkpoints that are kept when the run ends."""
    try:
        kept = kept_checkpoints(*sections(plan))
        estimate = size(plan).need().times(kept)
    except MissingEvidence as lack:
        return Quantity("stored", "bytes", missing=(lack.name,))
    return Quantity("stored", "bytes", estimate, note=f"{kept:,} checkpoints")


def _kind(save: Estimate, mtbf: Estimate) -> EstimateKind:
    """Return the kind of the less sure of the two."""
    return (save + mtbf).kind


def _missing(*quantities: Quantity) -> tuple[str, ...]:
    """Return the leaves that lack, each once."""
    names = (
        name
        for quantity in quantities
        if not quantity.estimate
        for name in quantity.missing
    )
    return tuple(dict.fromkeys(names))
