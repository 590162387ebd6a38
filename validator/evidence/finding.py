"""What a run says of one clause at one place, with what mends it or silences it.

A finding may carry a fix (edits of files) and a waiver; a proposal is settings that
were tried in its stead, and applied waivers are what became of all waivers of a run.
"""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place

# comment: beside the setting. waiver: an entry of the waivers file. baseline: a finding
# of before speccheck was adopted. setting: per-file-ignores.
WaiverKind = Literal["comment", "waiver", "baseline", "setting"]


class Waiver(Record):
    """What silences a failure: the verdict is kept, and every report says both.

    Attributes:
        place: where the waiver itself stands.
        until: the last day on which it holds, a date of UTC (2027-01-31); empty for no
            end.

    """

    kind: WaiverKind
    place: Place
    reason: str = ""
    until: str = ""
    owner: str = ""
    ticket: str = ""


_MARK = "speccheck:"


def may_hold_waivers(text: str) -> bool:
    """Return whether `speccheck:` follows the sign of a comment anywhere in a text.

    A first look, at each file of a run: what is a comment, its language says.
    """
    at = text.find(_MARK)
    while at >= 0:
        before = text[max(0, at - 20) : at].rstrip(" \t")
        if before.endswith(("#", "//", "*")):
            return True
        at = text.find(_MARK, at + 1)
    return False


Scalar = str | int | float | bool | None


class Change(Record):
    """One edit of one file, symbolic like every place.

    Attributes:
        kind: set: the value at the place becomes `value`. remove: the key goes with its
            value, a variable with its assignment, a flag with its argument. rename: the
            key, variable or flag becomes `name`; its value stays. add: `name` is set to
            `value` beside the key at the place, which shows the level and the style.

    """

    kind: Literal["set", "remove", "rename", "add"]
    place: Place
    value: Scalar = None
    name: str = ""


# same meaning: the program reads what it has read, written as it wants it. only value:
# it refuses what stands there and takes this alone. log only: nothing but what it logs
# becomes different.
SafeBecause = Literal["", "same meaning", "only value", "log only"]


class Fix(Record):
    """Edits that belong together: all of them are made, or none.

    Attributes:
        says: the change in a line, for people.
        changes: the edits.
        because: why it can break nothing; empty for what its owner has to decide.
        caution: a comment of the file that speaks against it, with its line.

    """

    says: str
    changes: tuple[Change, ...]
    because: SafeBecause = ""
    caution: str = ""

    @property
    def is_safe(self) -> bool:
        """Whether it is made without being asked for: never where something goes."""
        return (
            bool(self.because)
            and not self.caution
            and all(change.kind != "remove" for change in self.changes)
        )


def to_set(place: Place, value: Scalar) -> Change:
    """Set another value at a place."""
    return Change("set", place, value)


def to_remove(place: Place) -> Change:
    """Remove a key, variable or flag with its value."""
    return Change("remove", place)


def to_rename(place: Place, name: str) -> Change:
    """Give a key, variable or flag another name; it keeps its value."""
    return Change("rename", place, name=name)


def to_add(beside: Place, name: str, value: Scalar) -> Change:
    """Set a key, variable or flag beside another that stands already."""
    return Change("add", beside, value, name)


class PlacedEdit(Record):
    """What stands from one place to another becomes `text`; the end is excluded.

    Lines and columns count from 1, columns in code points.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


Level = Literal["error", "warning", "info"]
ClauseLevel = Literal["must", "should", "may"]
Outcome = Literal["pass", "fail", "unknown", "not_applicable", "error"]
# What is to be done with a machine, the gentlest first.
Action = Literal["MONITOR", "FIX_CONFIG", "RESET_GPU", "REBOOT", "ISOLATE", "SUPPORT"]


class Finding(Record):
    """A verdict with its clause, level and remedy.

    Attributes:
        rule: empty where a clause was decided without a rule.
        level: what the finding weighs when its outcome is fail.
        note: where values come from that no file states.
        subject: the part of a node that is judged, such as `GPU 3`.
        action: what is to be done with that part.
        waiver: silences a failure, which stays one.
        fix: the change of files that mends it.
        hosts: the nodes that a finding on a fleet is about.
        is_loosened: it fails by the edition's own number, and not by one that somebody
            put in its place, as `note` says.
        edition: the second one of a run that gave the finding; empty for the edition of
            the run.

    """

    clause: str
    title: str
    clause_level: ClauseLevel
    rule: str
    level: Level
    outcome: Outcome
    message: str
    places: tuple[Place, ...] = ()
    measured: str | float | None = None
    required: str | float | None = None
    cost: str = ""
    remedy: str = ""
    missing: tuple[str, ...] = ()
    note: str = ""
    confidence: str = "exact"
    subject: str = ""
    action: Action | None = None
    waiver: Waiver | None = None
    fix: Fix | None = None
    hosts: tuple[str, ...] = ()
    is_loosened: bool = False
    edition: str = ""


class ProposedSetting(Record):
    """One value to change: the leaf, and the keys of the files that state it.

    keys: empty where no file has a key that holds the value of the leaf as it is.
    """

    leaf: str
    before: object  # None where it is not known
    after: object
    keys: tuple[Place, ...] = ()


class Proposal(Record):
    """Settings under which a failed rule no longer fails, and no new error appears.

    Attributes:
        settings: what to change, the fewest that were found.
        verified: the rule holds then, and no new error appears.
        because: the numbers, of what holds or of what cannot be judged.
        missing: the leaves that would let it be judged, where it cannot be.
        errors: rules that fail then, and that a smaller job need not meet.
        warnings: rules that fail then, as no error, and did not before.
        what_if: the values to set, as `--what-if` takes them.

    """

    settings: tuple[ProposedSetting, ...]
    verified: bool
    because: str
    missing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    what_if: tuple[str, ...] = ()


Standing = Literal["used", "idle", "open"]


class AppliedWaiver(Record):
    """One waiver and its effect in a run.

    Attributes:
        title: what messages call it.
        names: rules and clauses that it names.
        standing: used: it silenced a failure. idle: all that it could silence was
            judged and holds. open: this run cannot tell, or it had no effect otherwise.
        faults: what of it cannot be understood.
        days_left: to its last day in UTC; below zero when that is over, None without.
        locked: what it names that nothing may silence.
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
    """A baseline and its effect in a run.

    Attributes:
        fixed: entries that were judged and hold, some of them as `examples`.
        locked: clauses of entries that nothing may silence.

    """

    place: Place
    entries: int
    used: int
    fixed: int
    examples: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()


class AppliedWaivers:
    """The waivers and baselines of a run, and the date of UTC that counts as today."""

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
