"""Predicted quantities as people read them: number, unit, range, how sure."""

from math import isfinite

from speccheck.validator.forecast.quantity import Quantity
from speccheck.validator.models.estimate import Estimate

_STEPS: dict[str, tuple[tuple[float, str], ...]] = {
    "bytes": ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")),
    "bytes_per_second": ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s")),
    "seconds": ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"), (1e-3, "ms")),
    "flops": ((1e24, "YFLOP"), (1e21, "ZFLOP"), (1e18, "EFLOP"), (1e15, "PFLOP")),
    "flops_per_second": ((1e18, "EFLOP/s"), (1e15, "PFLOP/s"), (1e12, "TFLOP/s")),
    "tokens": ((1e12, "T tokens"), (1e9, "B tokens"), (1e6, "M tokens")),
    "tokens_per_second": ((1e6, "M tokens/s"), (1e3, "k tokens/s")),
    "joules": ((3.6e12, "GWh"), (3.6e9, "MWh"), (3.6e6, "kWh"), (1e3, "kJ")),
    "watts": ((1e6, "MW"), (1e3, "kW")),
}
_PLAIN = {
    "bytes": "B",
    "bytes_per_second": "B/s",
    "seconds": "s",
    "share": "%",
    "count": "",
    "flops": "FLOP",
    "flops_per_second": "FLOP/s",
    "tokens": "tokens",
    "tokens_per_second": "tokens/s",
    "joules": "J",
    "watts": "W",
}
_WRITTEN_OUT = 1_000


def amount(value: float, unit: str) -> str:
    """A number with its unit: `61.3 GB`, `12 min`, `3.2%`."""
    if not isfinite(value):
        return "no bound"
    if unit == "share":
        return f"{_digits(100 * value)}%"
    for size, word in _STEPS.get(unit, ()):
        if abs(value) >= size:
            return f"{_digits(value / size)} {word}"
    return f"{_digits(value)} {_PLAIN[unit]}".rstrip()


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WRITTEN_OUT else f"{value:.3g}"


def best(quantity: Quantity) -> str:
    """The value alone; of a lower bound that it is one."""
    found = quantity.estimate
    if found is None:
        return "not known"
    if found.kind == "lower_bound":
        return f"at least {amount(found.lower, quantity.unit)}"
    return amount(found.value, quantity.unit)


def bounds(quantity: Quantity) -> str:
    """The range of a quantity, empty where it is a single number."""
    found = quantity.estimate
    if found is None or found.kind == "lower_bound" or found.lower == found.upper:
        return ""
    low, high = (amount(one, quantity.unit) for one in (found.lower, found.upper))
    if not isfinite(found.upper):
        return f"at least {low}"
    return f"{low} to {high}"


def confidence(found: Estimate) -> str:
    """How sure, and where."""
    word = found.kind.replace("_", " ")
    return f"{word} for {found.valid}" if found.valid else word


def in_words(name: str) -> str:
    """The name of a quantity as a text."""
    return name.replace("_", " ")
