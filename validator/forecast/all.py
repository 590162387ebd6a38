"""All forecasts of one plan: each function here that gives a Forecast."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.quantity import Forecast, Quantity

Predict = Callable[[TrainingPlan], Forecast]

# In the order to show them; others follow by name.
_ORDER = ("memory", "step", "communication", "energy", "checkpointing", "recovery")


def forecasts(plan: TrainingPlan) -> tuple[Forecast, ...]:
    """Return what the models say of a plan, subject by subject.

    A model that breaks on odd numbers (no rank, no layer) says so in its own place.
    """
    return tuple(_forecast(subject, predict, plan) for subject, predict in subjects())


def _forecast(subject: str, predict: Predict, plan: TrainingPlan) -> Forecast:
    try:
        return predict(plan)
    except MissingEvidence as missing:
        lack = Quantity(subject, "count", None, (missing.name,), missing.reason)
    except (ArithmeticError, ValueError) as error:
        note = f"the values of the plan allow no prediction: {error}"
        lack = Quantity(subject, "count", note=note)
    return Forecast(subject, (lack,))


@cache
def subjects() -> tuple[tuple[str, Predict], ...]:
    """Return the forecasts that there are, by walking this package."""
    result = dict(_subjects())
    ordered = [name for name in _ORDER if name in result]
    ordered += sorted(result.keys() - set(ordered))
    return tuple((name, result[name]) for name in ordered)


def _subjects() -> Iterator[tuple[str, Predict]]:
    for entry in sorted(os.listdir(os.path.dirname(__file__))):
        name, dot, suffix = entry.partition(".")
        if dot and suffix == "py" and not name.startswith("_"):
            module = import_module(f"{__package__}.{name}")
            for var in vars(module).values():
                if _is_forecast(var, module.__name__):
                    yield name, var


def _is_forecast(result: object, module: str) -> bool:
    """Return whether it is a function of that module that predicts a whole subject."""
    name = getattr(result, "__name__", "")
    is_own = getattr(result, "__module__", "") == module
    if not is_own or name.startswith("_") or not name.endswith("_forecast"):
        return False
    return getattr(result, "__annotations__", {}).get("return") is Forecast
