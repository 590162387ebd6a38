"""The form that all forecasts have, so that reports show any of them."""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.estimate import Estimate

Unit = Literal[
    "bytes",
    "seconds",
    "share",
    "count",
    "flops",
    "flops_per_second",
    "tokens",
    "tokens_per_second",
    "bytes_per_second",
    "joules",
    "watts",
]


class Quantity(Record):
    """One predicted number of a plan.

    Attributes:
        name: whole words, `activations`, `exposed_communication`.
        unit: of the estimate.
        estimate: None where leaves are missing.
        missing: names of the leaves that would give it.
        note: the arithmetic, with the numbers of this plan, or why there is none.

    """

    name: str
    unit: Unit
    estimate: Estimate | None = None
    missing: tuple[str, ...] = ()
    note: str = ""

    def need(self) -> Estimate:
        """Return the estimate; raises MissingEvidence with the first leaf missing."""
        if self.estimate is None:
            name = self.missing[0] if self.missing else self.name
            raise MissingEvidence(name, self.note)
        return self.estimate


class Forecast(Record):
    """The quantities of one subject, such as memory, in the order to show them.

    Attributes:
        limit: what the whole is held against, such as the capacity of a GPU, if any.
        whole: the name of the quantity that others add up to, where there is one.
        parts: their names; empty where all of its unit that stand before it do.

    """

    subject: str
    quantities: tuple[Quantity, ...]
    limit: Quantity | None = None
    whole: str = "total"
    parts: tuple[str, ...] = ()

    def named(self, name: str) -> Quantity:
        """Return the quantity of that name.

        Raises KeyError for one that is not there.
        """
        for quantity in self.quantities:
            if quantity.name == name:
                return quantity
        raise KeyError(name)

    def sum(self) -> Quantity | None:
        """Return the quantity that others add up to."""
        return next(
            (quantity for quantity in self.quantities if quantity.name == self.whole),
            None,
        )

    def addends(self) -> tuple[Quantity, ...]:
        """Return what adds up to it."""
        whole = self.sum()
        if whole is None:
            return ()
        before = self.quantities[: self.quantities.index(whole)]
        names = self.parts or tuple(quantity.name for quantity in before)
        return tuple(
            quantity
            for quantity in self.quantities
            if quantity.name in names and quantity.unit == whole.unit
        )
