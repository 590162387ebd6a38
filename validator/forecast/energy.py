"""Energy of a plan: of one token and of the run, by the power limit of its GPUs.

Hosts, network and cooling are not counted: advice, and no substitute for a meter.
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast._job import of_sizes
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.forecast.step import step_forecast
from speccheck.validator.models.estimate import Estimate
from speccheck.validator.models.throughput import (
    JOULES_PER_KILOWATT_HOUR,
    energy_per_token,
    job_power,
    run_energy,
)

_SECONDS_PER_HOUR = 3_600


def energy_forecast(plan: TrainingPlan) -> Forecast:
    """Return the power of all GPUs, energy of one token and of the whole run."""
    sized = of_sizes(plan)
    return Forecast("energy", (_power(sized), _of_token(sized), _of_run(sized)))


def _power(plan: TrainingPlan) -> Quantity:
    watts, gpus = plan.value("cluster.power_watts"), plan.value("cluster.world_size")
    missing = tuple(leaf.name for leaf in (watts, gpus) if not leaf.is_known)
    if missing:
        return Quantity("power", "watts", None, missing, watts.note)
    note = f"{gpus.need():,} GPUs x {watts.need():,.0f} W limit"
    return Quantity("power", "watts", job_power(gpus.need(), watts.need()), (), note)


def _of_token(plan: TrainingPlan) -> Quantity:
    name, power = "energy_per_token", _power(plan)
    rate = step_forecast(plan).named("tokens_per_second")
    if power.estimate is None or rate.estimate is None:
        missing = tuple(dict.fromkeys((*power.missing, *rate.missing)))
        return Quantity(name, "joules", None, missing, rate.note)
    watts = power.estimate.value
    slow, fast = rate.estimate.lower, rate.estimate.upper
    estimate = energy_per_token(watts, rate.estimate.value)._replace(
        lower=energy_per_token(watts, fast).lower,
        upper=energy_per_token(watts, slow).upper,
    )
    note = f"{watts:,.0f} W / {rate.estimate.value:,.0f} tokens per second"
    return Quantity(name, "joules", estimate, (), note)


def _of_run(plan: TrainingPlan) -> Quantity:
    name, power = "run_energy", _power(plan)
    if power.estimate is None:
        return Quantity(name, "joules", None, power.missing, power.note)
    try:
        hours = _hours(plan)
    except MissingEvidence as lack:
        return Quantity(name, "joules", None, ("run.hours", lack.name), lack.reason)
    watts = power.estimate.value
    estimate = run_energy(hours.value, watts)._replace(
        lower=run_energy(hours.lower, watts).lower,
        upper=run_energy(hours.upper, watts).upper,
    )
    used = estimate.value / JOULES_PER_KILOWATT_HOUR
    note = f"{watts:,.0f} W x {hours.value:,.1f} h = {used:,.0f} kWh"
    return Quantity(name, "joules", estimate, (), note)


def _hours(plan: TrainingPlan) -> Estimate:
    """Return the hours as stated, or steps x seconds of a step."""
    stated = plan.value("run.hours").value
    if stated is not None:
        return Estimate(stated, stated, stated, "exact", "stated")
    steps = plan.value("run.steps").need()
    seconds = step_forecast(plan).named("step_seconds").need()
    return seconds.times(steps / _SECONDS_PER_HOUR)
