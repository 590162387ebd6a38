"""The waivers of a run, judged by rules after all plans.

Of a waiver that silenced nothing is told only where the run can know: all that it might
cover was judged, and all files of the folder were at hand.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from speccheck.validator.engine.judges import OF_WAIVERS
from speccheck.validator.engine.locate import LocatedFinding, Location, locate
from speccheck.validator.engine.selection import names_of_rule
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.finding import (
    AppliedBaseline,
    AppliedWaiver,
    AppliedWaivers,
    Finding,
    Standing,
)
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import Place
from speccheck.validator.run.judging import JudgedPlan, WaivedPlans
from speccheck.validator.run.waivers.apply import Waivers
from speccheck.validator.run.waivers.entries import (
    Entry,
    InFiles,
    InLines,
    PlanFacts,
)
from speccheck.validator.sources.files import is_searched

if TYPE_CHECKING:
    from speccheck.validator.run.waivers.baseline import Baseline, BaselineEntry


_EXAMPLES = 3
_NEAR = 5  # lines between a comment and the one that may have been meant
_OPEN = {"unknown", "error"}
_DECIDED = {"pass", "fail"}


class RunCoverage:
    """What a run has seen: its files, its plans, and the rules that judged."""

    def __init__(
        self,
        waived: WaivedPlans,
        plans: Sequence[JudgedPlan],
        paths: Iterable[str],
    ) -> None:
        """Take a run that is over."""
        waivers, self.numbers, judges = waived
        judged = (plans[number] for number in self.numbers)
        self.plans: list[tuple[PlanFacts, JudgedPlan]] = [
            *zip(waivers.plans, judged, strict=True)
        ]
        self._waivers = waivers
        own = [waivers.baseline.path] if waivers.baseline is not None else []
        known = (*paths, *waivers.own_files, *own)
        self._files = {os.path.abspath(path) for path in known}
        self._folders = [
            os.path.abspath(argument)
            for argument in judges.request.arguments
            if os.path.isdir(argument)
        ]
        self._judging = {
            name for rule in judges.selected for name in names_of_rule(rule)
        }
        self._is_whole = cache(self._has_all_of)

    def has_whole(self, path: str) -> bool:
        """Return whether a file was read, and all others of its folder too."""
        whole = os.path.abspath(path)
        return whole in self._files and self._is_whole(os.path.dirname(whole))

    def _has_all_of(self, folder: str) -> bool:
        try:
            names = os.listdir(folder)
        except OSError:
            return False
        return all(
            os.path.join(folder, name) in self._files
            for name in names
            if is_searched(name)
        )

    def searched(self, folder: str) -> bool:
        """Return whether all below a folder was looked through."""
        return any(
            folder == text or folder.startswith(text.rstrip(os.sep) + os.sep)
            for text in self._folders
        )

    def outcomes(self, name: str, where: Sequence[int]) -> set[str] | None:
        """Return what was said of a rule or clause in these plans.

        None if not for sure.
        """
        if name not in self._judging:
            return None
        texts: set[str] = {
            finding.finding.outcome
            for index in where
            for finding in self.plans[index][1].findings
            if name in self._waivers.names_of(finding.finding)
        }
        return texts if _OPEN.isdisjoint(texts) else None

    def has_judged(self, names: Iterable[str], where: Sequence[int]) -> bool:
        """Return whether each that is named was decided in these plans."""
        for name in names:
            outcomes = self.outcomes(name, where)
            if outcomes is None or _DECIDED.isdisjoint(outcomes):
                return False
        return True

    def with_host(self, host: str) -> bool:
        """Return whether a machine was in the run."""
        return any(facts.host.lower() == host for facts, _ in self.plans)


def with_waivers_judged(
    waived: WaivedPlans, plans: Sequence[JudgedPlan], paths: Iterable[str]
) -> list[JudgedPlan]:
    """Return a run's plans, with the rules' verdicts on waivers of them."""
    waivers = waived.waivers
    seen = RunCoverage(waived, plans, paths)
    applied: dict[int, list[AppliedWaiver]] = {}
    for index, entry in enumerate(waivers.entries):
        where = [
            number
            for number, (facts, _) in enumerate(seen.plans)
            if entry.scope.concerns(facts)
        ]
        if where:
            applied_waiver = _applied(waivers, seen, index, where)
            applied.setdefault(seen.numbers[where[0]], []).append(applied_waiver)
    baselines: dict[int, AppliedBaseline] = {}
    if waivers.baseline is not None and plans:
        at, baseline = _applied_baseline(waivers.baseline, waivers, seen)
        baselines[seen.numbers[at]] = baseline
    result = list(plans)
    for number in sorted({*applied, *baselines}):
        evidence = AppliedWaivers(
            tuple(applied.get(number, ())),
            (baselines[number],) if number in baselines else (),
            waivers.today,
        )
        located_findings = tuple(_judged(evidence, waived))
        plan = result[number]
        result[number] = plan._replace(findings=(*plan.findings, *located_findings))
    return result


def _judged(applied: AppliedWaivers, waived: WaivedPlans) -> Iterator[LocatedFinding]:
    """Yield what the rules on waivers say, where they apply."""
    plan = TrainingPlan({})
    judge = waived.judges.of(plan, scopes=OF_WAIVERS)
    for finding in judge(Evidence({TrainingPlan: plan, AppliedWaivers: applied})):
        if finding.outcome != "not_applicable":
            yield LocatedFinding(finding, _locations(finding, waived.waivers))


def _locations(finding: Finding, waivers: Waivers) -> tuple[Location, ...]:
    if finding.outcome == "pass":
        return ()
    return tuple(
        waivers.locations.get(place) or locate(place, {}) for place in finding.places
    )


def _applied(
    waivers: Waivers, seen: RunCoverage, index: int, where: Sequence[int]
) -> AppliedWaiver:
    entry = waivers.entries[index]
    standing = _standing(waivers, seen, index, where)
    locked = (
        *(
            name.upper() if "-" in name else name
            for name in waivers.locked_names(entry)
        ),
        *waivers.locked.get(index, ()),
    )
    return AppliedWaiver(
        entry.waiver,
        entry.title,
        tuple(name.upper() if "-" in name else name for name in entry.names),
        standing,
        entry.faults,
        entry.days_left,
        tuple(dict.fromkeys(locked)),
        _beside(waivers, seen, entry, where) if standing == "idle" else 0,
    )


def _standing(
    waivers: Waivers, seen: RunCoverage, index: int, where: Sequence[int]
) -> Standing:
    entry = waivers.entries[index]
    if index in waivers.used:
        return "used"
    is_plain = entry.has_effect and not entry.faults and index not in waivers.locked
    if not is_plain or waivers.locked_names(entry) or not _has_all(seen, entry, where):
        return "open"
    return "idle" if seen.has_judged(entry.names, where) else "open"


def _has_all(seen: RunCoverage, entry: Entry, where: Sequence[int]) -> bool:
    """Return whether the run has seen all that a waiver may cover."""
    scope = entry.scope
    if isinstance(scope, InLines):
        return seen.has_whole(scope.file)
    covered = [
        file
        for number in where
        for file in seen.plans[number][0].files
        if scope.has_file(file)
    ]
    if not all(map(seen.has_whole, covered)):
        return False
    if scope.is_of_nodes:
        hosts = scope.hosts or ()
        return not scope.host_patterns and all(map(seen.with_host, hosts))
    return bool(scope.files) and all(
        _is_searched(seen, scope, file) for file in scope.files
    )


def _is_searched(seen: RunCoverage, scope: InFiles, pattern: str) -> bool:
    """Return whether every file that a pattern means was looked for."""
    if "/" not in pattern.removeprefix("./"):
        return seen.searched(scope.folder)
    parts = pattern.removeprefix("./").removeprefix("/").split("/")
    fixed: list[str] = []
    for part in parts[:-1]:
        if "*" in part or "?" in part:
            break
        fixed.append(part)
    folder = os.path.join(scope.folder, *fixed)
    if len(fixed) == len(parts) - 1 and not set("*?") & set(parts[-1]) and parts[-1]:
        return seen.has_whole(os.path.join(folder, parts[-1]))
    return seen.searched(os.path.normpath(folder))


def _beside(
    waivers: Waivers, seen: RunCoverage, entry: Entry, where: Sequence[int]
) -> int:
    """Return the nearest line on which what is named fails and is not waived."""
    scope = entry.scope
    if not isinstance(scope, InLines) or entry.waiver.place.span is None:
        return 0
    stands = entry.waiver.place.span.line
    lines = [
        place.line
        for number in where
        for finding in seen.plans[number][1].findings
        if finding.finding.outcome == "fail" and not finding.finding.waiver
        if not set(entry.names).isdisjoint(waivers.names_of(finding.finding))
        for place in finding.locations
        if place.file == scope.file and place.line
    ]
    nearest = min(lines, key=lambda line: (abs(line - stands), line), default=0)
    return nearest if nearest and abs(nearest - stands) <= _NEAR else 0


def _applied_baseline(
    baseline: "Baseline", waivers: Waivers, seen: RunCoverage
) -> tuple[int, AppliedBaseline]:
    """Return the baseline, and the plan that it concerns first."""
    fixed = [(known, count, at) for known, count, at in fixed_entries(waivers, seen)]
    first = min((at for *_, at in fixed), default=0)
    used = sum((baseline.known & baseline.met).values())
    return first, AppliedBaseline(
        Place(baseline.path, "findings"),
        sum(baseline.known.values()),
        used,
        sum(count for _, count, _ in fixed),
        tuple(_example(known) for known, *_ in fixed[:_EXAMPLES]),
        tuple(
            sorted(
                {known.clause for known in baseline.locked if known in baseline.known}
            )
        ),
    )


def _example(known: "BaselineEntry") -> str:
    place = known.places[0]
    where = f"{place.file} {place.key}".strip()
    return f"{known.rule or known.clause} at {where}"


def fixed_entries(
    waivers: Waivers, seen: RunCoverage
) -> Iterator[tuple["BaselineEntry", int, int]]:
    """Yield entries of the baseline that this run has judged and not met.

    Gives each with how often, and the first plan that holds its file.
    """
    baseline = waivers.baseline
    if baseline is None:
        return
    by_file: dict[str, list[int]] = {}
    for number, (facts, _) in enumerate(seen.plans):
        for file in facts.files:
            by_file.setdefault(os.path.abspath(file), []).append(number)
    for known, count in baseline.gone():
        paths = [
            os.path.normpath(os.path.join(baseline.folder, place.file))
            for place in known.places
            if place.file
        ]
        if not paths:
            continue
        where = by_file.get(paths[0], [])
        if not where or not all(map(seen.has_whole, paths)):
            continue
        # A value that is gone leaves a rule nothing to say.
        if seen.outcomes(known.rule.lower() or known.clause.lower(), where):
            yield known, count, where[0]
