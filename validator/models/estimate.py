"""A predicted number: its best value, its bounds, where it comes from, how sure."""

from typing import Literal

from speccheck.validator.evidence.record import Record

EstimateKind = Literal["exact", "calibrated", "lower_bound", "advisory"]


class Estimate(Record):
    """What a model says of one quantity, in the unit that its owner names.

    Attributes:
        value: the best guess.
        lower: never more than a published reading within `valid`; `upper` never less.
            They are infinite where nothing bounds the quantity.
        kind: exact is an identity or a count; calibrated lies within a band that tests
            hold on published rows; of lower_bound only `lower` means anything;
            advisory is for reading alone. Only exact values and lower bounds may give
            errors.
        source: the formula's or the rows' origin.
        valid: the range in which `kind` holds, in words; empty for anywhere.

    """

    value: float
    lower: float
    upper: float
    kind: EstimateKind
    source: str
    valid: str = ""

    def __add__(self, other: object) -> "Estimate":
        """Return the sum, bounds added up, as sure as the less sure of the two."""
        if not isinstance(other, Estimate):
            return NotImplemented
        ranks = _LEAST_SURE_LAST.index(self.kind), _LEAST_SURE_LAST.index(other.kind)
        return Estimate(
            self.value + other.value,
            self.lower + other.lower,
            self.upper + other.upper,
            _LEAST_SURE_LAST[max(ranks)],
            _joined(self.source, other.source),
            _joined(self.valid, other.valid),
        )

    def times(self, factor: float) -> "Estimate":
        """Return all of it times a positive number that is exactly known."""
        return self._replace(
            value=self.value * factor,
            lower=self.lower * factor,
            upper=self.upper * factor,
        )


_LEAST_SURE_LAST: tuple[EstimateKind, ...] = (
    "exact",
    "calibrated",
    "lower_bound",
    "advisory",
)


def exactly(value: float, source: str) -> Estimate:
    """Return a count or an identity."""
    return Estimate(value, value, value, "exact", source)


def within(value: float, share: float, source: str, valid: str = "") -> Estimate:
    """Return a calibrated value and the band of `share` on both sides of it."""
    low, high = value * (1 - share), value * (1 + share)
    return Estimate(value, low, high, "calibrated", source, valid)


def _joined(first: str, second: str) -> str:
    """Return both texts, with what they share once."""
    if not second or second == first:
        return first
    parts = [*first.split("; "), *second.split("; ")]
    return "; ".join(dict.fromkeys(part for part in parts if part))
