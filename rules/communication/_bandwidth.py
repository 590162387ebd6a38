"""How measured collectives are held to floors: the same way for all of them."""

from collections.abc import Iterator

from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.forecast.bandwidth import (
    Prospect,
    collective_of,
    is_of_gpus,
    prospect,
)
from speccheck.validator.forecast.collective_series import (
    Point,
    Series,
    series_of,
    shown,
)
from speccheck.validator.models.bus_bandwidth import GIGA
from speccheck.validator.models.expectation import Floors, shown_bytes
from speccheck.validator.rule import Verdict, fail, passed, unknown


class Held(Record):
    """A series at its best, and what it should have reached."""

    series: Series
    point: Point
    look: Prospect

    @property
    def at(self) -> list[Value[object]]:
        """The leaves that it rests on."""
        run = self.point.run
        return [run.bus_bytes_per_second, run.ranks]

    @property
    def said(self) -> str:
        """What was measured, on what."""
        return f"{self.series.title}: {shown(self.point)}"


def series_between_gpus(
    runs: CollectiveRuns, collectives: tuple[str, ...]
) -> Iterator[Series]:
    """Yield the runs of some collectives; none that hosts alone exchange."""
    for series in series_of(runs.each()):
        run = series.first
        is_judged = run.collective.is_known and collective_of(run) in collectives
        if is_judged and is_of_gpus(run):
            yield series


def against_floors(
    runs: CollectiveRuns,
    collectives: tuple[str, ...],
    about: Conditions,
    floors: Floors,
) -> Iterator[Verdict]:
    """Yield what is said of some collectives, of runs on the same machines together."""
    for series in series_between_gpus(runs, collectives):
        result = held(series, about, floors)
        yield below_floor(result, floors.fail) if isinstance(result, Held) else result


def held(series: Series, about: Conditions, floors: Floors) -> Held | Verdict:
    """Return a series beside its floors, or why there is none."""
    point = series.best(floors.least_bytes)
    if point is None:
        sizes = [
            number
            for number in series.first.size_bytes.or_else(())
            if number is not None
        ]
        largest = f"up to {shown_bytes(max(sizes))}" if sizes else "no size"
        return unknown(
            f"{series.title}: {largest} was measured; floors hold from "
            f"{shown_bytes(floors.least_bytes)} on",
            missing=[series.first.size_bytes.name],
            at=series.first.size_bytes,
        )
    try:
        look = prospect(point.run, about, point.size_bytes, floors)
    except MissingEvidence as missing:
        return unknown(
            f"{series.title}: {shown(point)}; what it should reach needs "
            f"{missing.name} ({missing.reason})",
            missing=[missing.name],
            at=point.run.bus_bytes_per_second,
        )
    result = Held(series, point, look)
    if look.reason:
        return unknown(
            f"{result.said}; no floor: {look.reason}", missing=(), at=result.at
        )
    return result


def below_floor(item: Held, fraction: float) -> Verdict:
    """Return a pass, a failure, or what keeps it open."""
    point, look = item.point, item.look
    low, high = look.lowest, look.highest
    least, most = low.fail_below or 0.0, high.fail_below or 0.0
    if point.bus < least:
        return fail(
            f"{item.said} is {point.bus / least * fraction:.0%} of {low.basis}; "
            f"required are {least / GIGA:.4g} GB/s, {fraction:.0%} of it"
            + _how_often(item),
            at=item.at,
            measured=round(point.bus / GIGA, 2),
            required=round(least / GIGA, 2),
            cost="a collective runs at the speed of its slowest member",
            remedy=_remedy(look),
        )
    if why := _doubt(item):
        return unknown(f"{item.said}; {why}", missing=(), at=item.at)
    if point.bus < most:
        return unknown(
            f"{item.said}: enough for {fraction:g} of {low.basis}, and not for "
            f"{fraction:g} of {high.basis}; open: {'; '.join(look.open)}",
            missing=[point.run.algorithm.name],
            at=item.at,
        )
    return passed(
        f"{item.said} is {point.bus / most * fraction:.2f} of {high.basis}",
        at=item.at,
        measured=round(point.bus / GIGA, 2),
        required=round(most / GIGA, 2),
    )


def _how_often(item: Held) -> str:
    repeats = item.series.repeats
    if repeats == 1:
        return "; one run: repeat it before a node is blamed"
    return f"; {repeats} runs"


def _remedy(look: Prospect) -> str:
    if not look.forced:
        return ""  # that of the clause
    return (
        f"Repeat without forcing the algorithm ({look.forced}): NCCL's own choice is "
        "faster on most fabrics. If that is too slow as well, bisect the nodes."
    )


def _doubt(item: Held) -> str:
    """Return why a measurement that reaches its floor is no proof that all is well."""
    point, look = item.point, item.look
    run = point.run
    if look.plausible is not None and point.bus > look.plausible:
        return (
            f"more than {look.plausible / GIGA:.4g} GB/s, which no published "
            "measurement comes near: ranks, size or units may be wrong"
        )
    if not run.is_complete.is_known:
        return "whether the run ended is not known"
    if not run.is_complete.value:
        return "the run did not end: repeat it"
    wrong = run.wrong_values.or_else(())
    if point.at < len(wrong) and wrong[point.at]:
        return f"{wrong[point.at]} wrong values: the figure means nothing"
    return ""
