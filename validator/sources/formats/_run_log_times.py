"""Times of logs as seconds since 1970 UTC, whatever form they have.

Numbers tell by their size whether they are seconds, milli-, micro- or nanoseconds. A
time without a zone is taken as UTC, and the log's clock is then `local`: its intervals
are right, its place in the day is not known.
"""

from datetime import UTC, datetime
from math import isfinite
from typing import Literal

from speccheck.validator.evidence.record import Record

ClockName = Literal["utc", "local", "none"]
# 1990 and 2100: what lies outside is no time of a log, but a duration or a count.
_EARLIEST, _LATEST = 631_152_000.0, 4_102_444_800.0
_UNITS = (1.0, 1e3, 1e6, 1e9)
_LONGEST = 40  # of a time


class Moment(Record):
    """When something was logged; without seconds, the log does not tell."""

    seconds: float | None
    clock: ClockName


NEVER = Moment(None, "none")


class Clock:
    """What all times of a log come to."""

    __slots__ = ("_names", "first", "last")

    def __init__(self) -> None:
        """Begin without any."""
        self._names: set[ClockName] = set()
        self.first: float | None = None
        self.last: float | None = None

    def note(self, moment: Moment) -> Moment:
        """Take one; returns it."""
        seconds = moment.seconds
        if seconds is not None:
            self._names.add(moment.clock)
            if self.first is None or seconds < self.first:
                self.first = seconds
            if self.last is None or seconds > self.last:
                self.last = seconds
        return moment

    @property
    def name(self) -> ClockName:
        """One time without a zone makes the clock local."""
        if not self._names:
            return "none"
        return "local" if "local" in self._names else "utc"


def moment_of(told: object) -> Moment:
    """The moment that a log means by a number or a text."""
    if isinstance(told, bool):
        return NEVER
    if isinstance(told, int | float):
        return _of_number(float(told)) if abs(told) < 1e30 else NEVER  # noqa: PLR2004
    if not isinstance(told, str) or len(told) > _LONGEST:
        return NEVER
    text = told.strip()
    try:
        return _of_number(float(text))
    except ValueError:
        return _of_text(text)


def _of_number(number: float) -> Moment:
    if isfinite(number):
        for unit in _UNITS:
            if _EARLIEST <= number / unit < _LATEST:
                return Moment(number / unit, "utc")
    return NEVER


def _of_text(text: str) -> Moment:
    """ISO 8601, also with a blank or slashes as nvidia-smi writes it."""
    text = text.replace("/", "-").replace(",", ".")
    for ending in (" UTC", " GMT"):
        if text.endswith(ending):
            text = text.removesuffix(ending) + "Z"
    try:
        found = datetime.fromisoformat(text)
        clock: ClockName = "local" if found.tzinfo is None else "utc"
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        seconds = found.timestamp()
    except (ValueError, OverflowError):
        return NEVER
    return Moment(seconds, clock) if _EARLIEST <= seconds < _LATEST else NEVER
