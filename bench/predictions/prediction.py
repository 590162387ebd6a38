"""What a model predicts of a published reading: the form of all rows of accuracy."""

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

GROUND_TRUTH = Path(__file__).resolve().parents[2] / "fixtures" / "ground_truth"


class Prediction(NamedTuple):
    """One published row and what the project's model says of it, in the same unit.

    Attributes:
        table: name of the ground-truth file, without its ending.
        group: rows that one band holds for.
        id: of the row.
        published: the reading; None where only bounds were published.
        predicted: None where the model gives bounds alone.
        lower: never above the reading; upper never below it. None where not given.
        band_percent: largest error that the tests allow; None where it is no test row.

    """

    table: str
    group: str
    id: str
    unit: str
    published: float | None
    predicted: float | None
    lower: float | None = None
    upper: float | None = None
    band_percent: float | None = None

    @property
    def error_percent(self) -> float | None:
        """(predicted - published) / published; None where one of them is missing."""
        if not self.published or self.predicted is None:
            return None
        return 100 * (self.predicted - self.published) / self.published


def rows(table: str) -> Iterator[Mapping[str, str]]:
    """Yield the rows of `fixtures/ground_truth/<table>.csv`.

    An empty text is not stated.
    """
    path = GROUND_TRUTH / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


@cache
def _all_vectors() -> tuple[Mapping[str, Any], ...]:
    text = (GROUND_TRUTH / "vectors.yaml").read_text(encoding="utf-8")
    return tuple(yaml.load(text, Loader=yaml.CSafeLoader)["vectors"])


def vectors(function: str) -> tuple[Mapping[str, Any], ...]:
    """Return exact vectors of one function: id, inputs, expected, tolerance, source."""
    return tuple(row for row in _all_vectors() if row["function"] == function)
