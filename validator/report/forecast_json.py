"""Forecasts as plain data for `speccheck-plan/1`; infinite bounds are null."""

from math import isfinite

from speccheck.validator.forecast.quantity import Forecast, Quantity


def forecast_data(forecast: Forecast) -> dict[str, object]:
    """One subject with its quantities and what the whole is held against."""
    return {
        "subject": forecast.subject,
        "quantities": [_quantity(one) for one in forecast.quantities],
        "whole": None if forecast.sum() is None else forecast.whole,
        "parts": [one.name for one in forecast.addends()],
        "limit": None if forecast.limit is None else _quantity(forecast.limit),
    }


def _quantity(quantity: Quantity) -> dict[str, object]:
    found = quantity.estimate
    return {
        "name": quantity.name,
        "unit": quantity.unit,
        "value": None if found is None else _finite(found.value),
        "lower": None if found is None else _finite(found.lower),
        "upper": None if found is None else _finite(found.upper),
        "kind": None if found is None else found.kind,
        "source": None if found is None else found.source,
        "valid": (found.valid or None) if found is not None else None,
        "missing": list(quantity.missing),
        "note": quantity.note or None,
    }


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None
