"""Waivers as they came out: what was silenced in a run, and what was not, and why."""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.evidence.waiver import Waiver

# used: it silenced a failure. idle: all that it could silence was judged and holds.
# open: this run cannot tell, or it had no effect for another reason.
Standing = Literal["used", "idle", "open"]


class AppliedWaiver(Record):
    """One waiver and what came of it.

    title: what messages call it. names: rules and clauses that it names. faults: what
    of it cannot be understood. days_left: up to its last day in UTC, below zero when
    that is over, None without one. locked: what it names that nothing may silence.
    beside: a line near it where it would have silenced something; 0 for none.
    """

    waiver: Waiver
    title: str
    names: tuple[str, ...]
    standing: Standing = "open"
    faults: tuple[str, ...] = ()
    days_left: int | None = None
    locked: tuple[str, ...] = ()
    beside: int = 0


class AppliedBaseline(Record):
    """A baseline and what came of it.

    fixed: entries that were judged and hold, with examples. locked: clauses of entries
    that nothing may silence.
    """

    place: Place
    entries: int
    used: int
    fixed: int
    examples: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()


class AppliedWaivers:
    """What concerns one plan, told once in a run.

    today: the date of UTC that counts as now.
    """

    __slots__ = ("baselines", "today", "waivers")
    scope = "waiver"

    def __init__(
        self,
        waivers: tuple[AppliedWaiver, ...],
        baselines: tuple[AppliedBaseline, ...] = (),
        today: str = "",
    ) -> None:
        """Take the waivers and baselines of a run that is over."""
        self.waivers = waivers
        self.baselines = baselines
        self.today = today
