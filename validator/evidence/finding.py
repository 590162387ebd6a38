"""What a run says of one clause at one place."""

from typing import Literal

from speccheck.validator.evidence.fix import Fix
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.evidence.waiver import Waiver

Level = Literal["error", "warning", "info"]
ClauseLevel = Literal["must", "should", "may"]
Outcome = Literal["pass", "fail", "unknown", "not_applicable", "error"]
# What is to be done with a machine, the gentlest first.
Action = Literal["MONITOR", "FIX_CONFIG", "RESET_GPU", "REBOOT", "ISOLATE", "SUPPORT"]


class Finding(Record):
    """A verdict with its clause, level and remedy.

    `level` is what the finding weighs when its outcome is fail; `rule` is empty where a
    clause was decided without a rule. `note` tells where values come from that no file
    states. `subject` is the part of a node that is judged, such as `GPU 3`, `action`
    what is to be done with it. `waiver` silences a failure, which stays one; `fix` is
    the change of files that mends it. `hosts` are the nodes that a finding on a fleet
    is about. `is_loosened`: it fails by the edition's own number, and not by one that
    somebody put in its place, as `note` says. `edition` is the second one of a run that
    gave the finding; empty for the edition of the run.
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
