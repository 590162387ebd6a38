"""Who took it upon himself that a requirement does not hold, why and for how long."""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place

# comment: beside the setting. waiver: an entry of the waivers file. baseline: a finding
# of before speccheck was adopted. setting: per-file-ignores.
WaiverKind = Literal["comment", "waiver", "baseline", "setting"]


class Waiver(Record):
    """What silences a failure: the verdict is kept, and every report says both.

    place: where the waiver itself stands. until: the last day on which it holds, a date
    of UTC (2027-01-31), empty for no end.
    """

    kind: WaiverKind
    place: Place
    reason: str = ""
    until: str = ""
    owner: str = ""
    ticket: str = ""


_MARK = "speccheck:"


def may_hold_waivers(text: str) -> bool:
    """Whether `speccheck:` follows the sign of a comment anywhere in a text.

    A first look, at each file of a run: what is a comment, its language says.
    """
    at = text.find(_MARK)
    while at >= 0:
        before = text[max(0, at - 20) : at].rstrip(" \t")
        if before.endswith(("#", "//", "*")):
            return True
        at = text.find(_MARK, at + 1)
    return False
