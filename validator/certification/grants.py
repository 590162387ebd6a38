"""Which level each track has, and what stands between it and the next.

A level of a track needs every must of the track up to that level to pass or not to
apply, and as much of its musts and shoulds judged as the edition asks. What denies a
track denies itself alone.
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.certification.results import LEVELS, ClauseResult
from speccheck.validator.editions.edition import Edition
from speccheck.validator.evidence.record import Record

_JUDGED = frozenset({"pass", "fail", "waived"})
_SHOWN = frozenset({"pass", "waived"})
_HOLDS = frozenset({"pass", "waived", "not_applicable"})
_WORDS = {
    "fail": "fails",
    "unknown": "is not known",
    "error": "could not be judged: a bug of speccheck",
}


class Obstacle(Record):
    """What denies a level, and all above it, whatever the clauses come to.

    tracks: of which it does; empty for all of them.
    """

    level: str
    reason: str
    tracks: tuple[str, ...] = ()


class Denial(Record):
    """Why a track does not have a level.

    clause: empty where none is to blame. outcome: of the clause; `coverage` where too
    little was judged, empty for what denies every track.
    """

    level: str
    clause: str
    outcome: str
    reason: str


class Grant(Record):
    """The level of a track.

    Attributes:
        level: the highest that it has; None for none.
        highest: the highest of which a clause applies.
        required, passed, not_applicable: musts and shoulds up to `highest`.
        coverage: the judged share of those that apply; None where none does.
        denied: what stands before the next level.

    """

    track: str
    level: str | None
    highest: str
    required: int
    passed: int
    not_applicable: int
    coverage: float | None
    denied: tuple[Denial, ...]

    def reaches(self, level: str) -> bool:
        """Whether nothing of it that applies up to that level is denied."""
        found = [one for one in self.denied if one.outcome != "not_applicable"]
        return all(one.level > level for one in found)


def grants(
    edition: Edition,
    results: Sequence[ClauseResult],
    floor: float,
    obstacles: Sequence[Obstacle] = (),
) -> list[Grant]:
    """The level of each track of an edition.

    Args:
        edition: with the tracks.
        results: of all clauses that are required.
        floor: the share of applicable musts and shoulds that must be judged.
        obstacles: to levels of every track.

    """
    tracks = sorted({name for one in edition.clauses.values() for name in one.tracks})
    return [
        _grant(
            track,
            [one for one in results if track in one.clause.tracks],
            floor,
            [one for one in obstacles if not one.tracks or track in one.tracks],
        )
        for track in tracks
    ]


def _grant(
    track: str,
    results: Sequence[ClauseResult],
    floor: float,
    obstacles: Sequence[Obstacle],
) -> Grant:
    weighed = [one for one in results if one.level != "may"]
    held: str | None = None
    denied: tuple[Denial, ...] = ()
    there = [one for one in LEVELS if _applicable(weighed, one)]
    for level in there:
        upto = [one for one in weighed if one.clause.certification_level <= level]
        denied = tuple(_denials(level, upto, floor, obstacles))
        if denied:
            break
        if not any(o.outcome in _SHOWN for o in _applicable(weighed, level)):
            told = "nothing that it asks for at this level was seen to hold"
            denied = (Denial(level, "", "coverage", told),)
            break
        held = level
    if not there:
        denied = (Denial(LEVELS[0], "", "not_applicable", "nothing of it applies"),)
    return Grant(
        track,
        held,
        there[-1] if there else LEVELS[0],
        len(weighed),
        sum(one.outcome == "pass" for one in weighed),
        sum(one.outcome == "not_applicable" for one in weighed),
        coverage(weighed),
        denied,
    )


def _applicable(results: Sequence[ClauseResult], level: str) -> list[ClauseResult]:
    """The clauses of exactly that level which apply."""
    return [
        one
        for one in results
        if one.clause.certification_level == level and one.outcome != "not_applicable"
    ]


def coverage(results: Sequence[ClauseResult]) -> float | None:
    """The judged share of what applies; None where nothing does."""
    applicable = [one for one in results if one.outcome != "not_applicable"]
    if not applicable:
        return None
    return sum(one.outcome in _JUDGED for one in applicable) / len(applicable)


def _denials(
    level: str,
    upto: Sequence[ClauseResult],
    floor: float,
    obstacles: Sequence[Obstacle],
) -> Iterator[Denial]:
    for obstacle in obstacles:
        if obstacle.level <= level:
            yield Denial(level, "", "", obstacle.reason)
    for one in upto:
        if one.level == "must" and one.outcome not in _HOLDS:
            yield Denial(level, one.clause.id, one.outcome, _reason(one))
    share = coverage(upto)
    if share is not None and share < floor:
        judged = f"{share:.0%} of what applies was judged, at least {floor:.0%} must be"
        yield Denial(level, "", "coverage", judged)


def _reason(result: ClauseResult) -> str:
    """What the first finding says that makes the clause what it is."""
    for one in result.judged:
        finding = one.finding
        is_it = finding.outcome == result.outcome and not finding.waiver
        # A must that only advice speaks against is not known, though a rule failed.
        is_doubt = result.outcome == "unknown" and finding.outcome == "fail"
        if is_it or is_doubt:
            where = f"{one.specimen}: " if one.specimen else ""
            subject = f"{finding.subject}: " if finding.subject else ""
            return f"{where}{subject}{finding.message}"
    return _WORDS[result.outcome]
