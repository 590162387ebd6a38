"""Predictions of published readings by group, and how far off they are.

A module of `bench/predictions` says what the models make of one ground-truth file: its
`predictions()` gives a row for each reading.
"""

import hashlib
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from predictions.prediction import Prediction

_MODULES = Path(__file__).resolve().parent / "predictions"


class Group(NamedTuple):
    """Rows that are predicted in the same way, and how far off the predictions are.

    Errors are (predicted - published) / published in percent, of the rows that have
    both; None where no row does.
    """

    table: str
    name: str
    rows: tuple[Prediction, ...]

    @property
    def errors(self) -> tuple[float, ...]:
        """The errors, in the order of the rows."""
        result = (row.error_percent for row in self.rows)
        return tuple(value for value in result if value is not None)

    @property
    def mean_error(self) -> float | None:
        """The mean with its sign: which way the model leans."""
        return _mean(self.errors)

    @property
    def mean_absolute_error(self) -> float | None:
        """MAPE: how far off it is on the whole."""
        return _mean([abs(error) for error in self.errors])

    @property
    def bands(self) -> tuple[float, ...]:
        """The largest errors that tests allow, each once."""
        numbers = {row.band_percent for row in self.rows}
        return tuple(sorted(value for value in numbers if value is not None))

    @property
    def out_of_band(self) -> tuple[Prediction, ...]:
        """Rows that are further off than the tests allow."""
        return tuple(row for row in self.rows if is_out_of_band(row))

    @property
    def under_lower_bound(self) -> tuple[Prediction, ...]:
        """Rows whose reading undercuts what is said to be a lower bound."""
        return tuple(row for row in self.rows if is_under_lower_bound(row))

    @property
    def over_upper_bound(self) -> tuple[Prediction, ...]:
        """Rows whose reading exceeds what is said to be an upper bound."""
        return tuple(row for row in self.rows if is_over_upper_bound(row))


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def is_out_of_band(row: Prediction) -> bool:
    """Return whether a row is further off than the tests allow."""
    error, band = row.error_percent, row.band_percent
    return error is not None and band is not None and abs(error) > band


def is_under_lower_bound(row: Prediction) -> bool:
    """Return whether the reading undercuts the lower bound."""
    if row.published is None or row.lower is None:
        return False
    return row.published < row.lower


def is_over_upper_bound(row: Prediction) -> bool:
    """Return whether the reading exceeds the upper bound."""
    if row.published is None or row.upper is None:
        return False
    return row.published > row.upper


def collect() -> tuple[Prediction, ...]:
    """Return what all modules of `bench/predictions` predict, module by module."""
    predictions: list[Prediction] = []
    for path in sorted(_MODULES.glob("*.py")):
        module = import_module(f"predictions.{path.stem}")
        # A module without it holds what others share.
        predictions.extend(getattr(module, "predictions", tuple)())
    return tuple(predictions)


def grouped(predictions: Iterable[Prediction]) -> tuple[Group, ...]:
    """Return the groups by table, both in the order in which they first come."""
    tables: dict[str, dict[str, list[Prediction]]] = {}
    for row in predictions:
        tables.setdefault(row.table, {}).setdefault(row.group, []).append(row)
    return tuple(
        Group(table, name, tuple(rows))
        for table, groups in tables.items()
        for name, rows in groups.items()
    )


def digest(predictions: Iterable[Prediction]) -> str:
    """Return what the plot is drawn of, in short.

    It stands in the plot, so that a test can hold the plot to the models without
    drawing it.
    """
    text = "\n".join(
        f"{row.table} {row.group} {row.published:.5g} {row.predicted:.5g}"
        for row in predictions
        if row.published is not None and row.predicted is not None
    )
    return hashlib.sha256(text.encode()).hexdigest()
