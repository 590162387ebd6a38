"""What makes a finding the same finding in the next run, wherever its lines moved."""

import hashlib
from collections.abc import Iterator

from speccheck.validator.engine.locate import LocatedFinding, Location
from speccheck.validator.engine.paths import path_within
from speccheck.validator.evidence.record import Record
from speccheck.validator.run.judging import JudgedPlan


class Identity(Record):
    """Rule, clause, part of a machine, and the keys of the files; no line, no value.

    places: file and key, the file as seen from the root of the project.
    turn: which one of those that are alike otherwise, from 0 on.
    """

    rule: str
    clause: str
    subject: str
    places: tuple[tuple[str, str], ...]
    turn: int = 0

    @property
    def fingerprint(self) -> str:
        """128 bits in hexadecimal digits."""
        parts = (self.rule, self.clause, self.subject, str(self.turn))
        flat = (part for place in self.places for part in place)
        text = "\0".join((*parts, *flat))
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def identified(
    plan: JudgedPlan, root: str
) -> Iterator[tuple[LocatedFinding, Identity]]:
    """Yield the failed and broken findings of a plan, each with its identity."""
    turns: dict[Identity, int] = {}
    for located in plan.findings:
        if located.finding.outcome not in {"fail", "error"}:
            continue
        identity = _identity(located, plan, root)
        turn = turns.get(identity, 0)
        turns[identity] = turn + 1
        yield located, identity._replace(turn=turn)


def _identity(located: LocatedFinding, plan: JudgedPlan, root: str) -> Identity:
    finding = located.finding
    places = [(seen_from(at.file, root), at.key) for at in located.locations]
    if not places:
        places = [(seen_from(plan.files[0].path, root), "")]
    unique = tuple(dict.fromkeys(places))
    return Identity(finding.rule, finding.clause, finding.subject, unique)


def seen_from(path: str, root: str) -> str:
    """Return a file as seen from the project's root; as it is called if outside."""
    return path_within(path, root) or path.replace("\\", "/")


def written_at(location: Location) -> str:
    """Return what a file says at a place, without secrets; empty without a position."""
    start = location.column - 1
    return location.text[start : start + location.length] if location.line else ""
