"""How values, quantities and parts of machines are worded in every report."""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from speccheck.validator.report.style import counted

if TYPE_CHECKING:
    from speccheck.validator.forecast.quantity import Quantity

_GPU = "GPU "
_OPEN = "-i N"  # as remedies name a GPU of any number
_LONGEST_NAMES = 140  # characters of a folded list of nodes


def folded_subjects(subjects: Iterable[str]) -> str:
    """Return the names in their order; those that end in a number share a beginning."""
    numbers: dict[str, list[int]] = {}
    for subject in dict.fromkeys(subjects):
        start, _, end = subject.rpartition(" ")
        if start and end.isdecimal():
            numbers.setdefault(start, []).append(int(end))
        else:
            numbers.setdefault(subject, [])
    return "; ".join(
        f"{start} {ranges(number)}" if number else start
        for start, number in numbers.items()
    )


def with_numbers(text: str, subjects: Iterable[str]) -> str:
    """Return a command for a GPU (`-i N`) as one for these GPUs (`-i 3,4`)."""
    numbers = dict.fromkeys(
        subject.removeprefix(_GPU) for subject in subjects if subject.startswith(_GPU)
    )
    return text.replace(_OPEN, f"-i {','.join(numbers)}") if numbers else text


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers as ranges: `0-3, 6`."""
    number_lists: list[list[int]] = []
    for number in sorted(numbers):
        if number_lists and number == number_lists[-1][-1] + 1:
            number_lists[-1].append(number)
        else:
            number_lists.append([number])
    return ", ".join(
        str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
        for numbers in number_lists
    )


_EXACT = 2**53  # floats beyond it are no exact whole numbers


def shown_names(hosts: Sequence[str], *, full: bool, most: int = _LONGEST_NAMES) -> str:
    """Return a folded list of nodes, cut to a line or two, or to `most`."""
    from speccheck.validator.node.host_names import fold  # noqa: PLC0415 - of fleets

    names = fold(hosts)
    if full or len(names) <= most:
        return names
    count = counted(len(hosts), "node")
    room = max(1, most - len(count) - len(",...] ()"))
    cut = names[:room].rpartition(",")[0] or names[:room]
    closing = "]" if cut.count("[") > cut.count("]") else ""
    return f"{cut},...{closing} ({count})"


def written(value: object) -> str:
    """Return a value as people write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        value = int(value)
    if isinstance(value, int) and abs(value) >= 10_000:  # noqa: PLR2004 - readable
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        between = "." if all(isinstance(item, int) for item in value) else ", "
        return between.join(map(written, value))
    return str(value)


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


def amount(value: float, unit: str, beside: float | None = None) -> str:
    """Return a number with its unit: `61.3 GB`, `12 min`, `3.2%`.

    beside: a number whose multiple of the unit is taken, to be compared with.
    """
    if not isfinite(value):
        return "no bound"
    digits, word = _scaled(value, unit, beside)
    return f"{digits}{'' if word == '%' else ' '}{word}".rstrip()


def _scaled(value: float, unit: str, beside: float | None = None) -> tuple[str, str]:
    if unit == "share":
        return _digits(100 * value), "%"
    for size, word in _STEPS.get(unit, ()):
        if abs(value if beside is None else beside) >= size:
            return _digits(value / size), word
    return _digits(value), _PLAIN[unit]


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WRITTEN_OUT else f"{value:.3g}"


def best(quantity: "Quantity", beside: float | None = None) -> str:
    """Return the value alone; of a lower bound that it is one."""
    estimate = quantity.estimate
    if estimate is None:
        return "not known"
    if estimate.kind == "lower_bound":
        return _at_least(estimate.lower, quantity.unit, beside)
    return amount(estimate.value, quantity.unit, beside)


def _at_least(value: float, unit: str, beside: float | None = None) -> str:
    if value <= 0:
        return "no lower bound"
    return f"at least {amount(value, unit, beside)}"


def bounds(quantity: "Quantity") -> str:
    """Return the range of a quantity, empty where it is a single number."""
    estimate, unit = quantity.estimate, quantity.unit
    if estimate is None or estimate.lower == estimate.upper:
        return ""
    if estimate.kind == "lower_bound":
        return (
            f"at most {amount(estimate.upper, unit)}"
            if isfinite(estimate.upper)
            else ""
        )
    if not isfinite(estimate.upper):
        return _at_least(estimate.lower, unit)
    low, word = _scaled(estimate.lower, unit)
    high = amount(estimate.upper, unit)
    if not estimate.lower:
        return f"0 to {high}"
    if high.endswith(f"{'' if word == '%' else ' '}{word}"):
        return f"{low} to {high}"
    return f"{amount(estimate.lower, unit)} to {high}"


def in_words(name: str, unit: str = "") -> str:
    """Return the name of a quantity as a text, without the unit that its number has."""
    words = name.split("_")
    if len(words) > 1 and words[-1] == unit:
        words.pop()
    return " ".join(words)
