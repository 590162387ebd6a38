"""How far an interval is from the best one, beyond doubt."""

from math import isfinite

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.forecast.checkpointing import time_between_failures
from speccheck.validator.forecast.saving import interval, stall
from speccheck.validator.models.checkpointing import (
    optimal_interval_seconds,
    useful_share,
)


class Distance(Record):
    """An interval against the best one, with the save and the failures that make it so.

    In seconds; lost is the share of the run that the distance costs.
    """

    interval: float
    best: float
    save: float
    mtbf: float
    lost: float
    is_assumed: bool


def surely_too_long(plan: TrainingPlan, longest_save: float) -> Distance:
    """Compare the interval with the longest that could be best.

    longest_save: taken where nothing bounds the time of a save.
    """
    stands_still = stall(plan).estimate
    is_bounded = stands_still is not None and isfinite(stands_still.upper)
    save = stands_still.upper if stands_still and is_bounded else longest_save
    mtbf = time_between_failures(plan).need()
    is_assumed = not is_bounded or mtbf.upper > mtbf.value
    return _distance(plan, save, mtbf.upper, is_assumed=is_assumed)


def surely_too_short(plan: TrainingPlan) -> Distance | None:
    """Compare it with the shortest that could be best; None for an unknown save."""
    stands_still = stall(plan).estimate
    if stands_still is None:
        return None
    mtbf = time_between_failures(plan).need()
    is_assumed = mtbf.lower < mtbf.value
    return _distance(plan, stands_still.lower, mtbf.lower, is_assumed=is_assumed)


def _distance(
    plan: TrainingPlan, save: float, mtbf: float, *, is_assumed: bool
) -> Distance:
    every = interval(plan).need().value
    best = optimal_interval_seconds(save, mtbf)
    lost = useful_share(best, save, mtbf) - useful_share(every, save, mtbf)
    return Distance(every, best, save, mtbf, lost, is_assumed)


def surely_off(
    plan: TrainingPlan, factor: float, loss_max: float, longest_save: float
) -> Distance | None:
    """Return how far off the interval is, if by more than a factor and a loss."""
    long, short = surely_too_long(plan, longest_save), surely_too_short(plan)
    if long.interval > long.best * factor and long.lost > loss_max:
        return long
    is_short = short is not None and short.interval * factor < short.best
    return short if short is not None and is_short and short.lost > loss_max else None
