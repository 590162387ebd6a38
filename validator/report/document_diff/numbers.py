"""Numbers of two documents: which of them moved, and by how much.

A number moved where the median of one is outside what the other was seen to reach, or
where the two are further apart than machines of either are from each other. Below one
percent nothing is said, and of single readings, which show no range, below five.
"""

from collections.abc import Hashable, Iterator, Mapping

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.document_diff.compared import Difference

_LEAST, _LEAST_OF_ONE = 0.01, 0.05


class ComparedNumber(Record):
    """One quantity. low, high: between which it was seen, of several readings.

    spread: between machines, as a share; None where it is not known.
    """

    name: str
    unit: str
    readings: int
    median: float
    low: float
    high: float
    spread: float | None = None

    def reaches(self, value: float) -> bool:
        """Return whether it was seen to be as large and as small as that."""
        return self.low <= value <= self.high


def differing_numbers(
    a: Mapping[Hashable, ComparedNumber], b: Mapping[Hashable, ComparedNumber]
) -> Iterator[Difference]:
    """Yield what differs between two documents' numbers, the most moved first.

    Args:
        a: by the conditions under which they can be compared.
        b: of the other document.

    """
    both = [_between(a[key], b[key]) for key in a if key in b]
    yield from sorted(both, key=lambda item: -abs(item.by or 0.0))
    for key, number in a.items():
        if key not in b:
            difference = Difference("numbers", number.name, "went", number.median, None)
            yield difference._replace(unit=number.unit)
    for key, number in b.items():
        if key not in a:
            difference = Difference("numbers", number.name, "came", None, number.median)
            yield difference._replace(unit=number.unit)


def _between(a: ComparedNumber, b: ComparedNumber) -> Difference:
    by = (b.median - a.median) / abs(a.median) if a.median else None
    reason = _moved(a, b, by)
    return Difference(
        "numbers" if reason else "varying",
        a.name,
        "rose" if b.median > a.median else "fell" if b.median < a.median else "changed",
        a.median,
        b.median,
        by,
        a.unit,
        reason or "within the spread",
    )


def _moved(a: ComparedNumber, b: ComparedNumber, by: float | None) -> str:
    """Return why a number counts as another one; empty where it does not."""
    if by is None:
        return "was 0" if b.median else ""
    apart = abs(by)
    if min(a.readings, b.readings) <= 1:
        text = f"single readings, more than {_LEAST_OF_ONE:.0%} apart"
        return text if apart > _LEAST_OF_ONE else ""
    known = [value for value in (a.spread, b.spread) if value is not None]
    if apart > _LEAST and not (a.reaches(b.median) and b.reaches(a.median)):
        return "outside what the other one was seen to reach"
    if apart > _LEAST and known and apart > max(known):
        return f"more than machines differ, {max(known):.1%}"
    return ""
