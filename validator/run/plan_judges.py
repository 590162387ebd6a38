"""The judges of a run: one for each way in which settings ask to judge its plans."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from speccheck.validator.editions.edition import Edition
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.evidence.record import Record
from speccheck.validator.run.plan_judge import JudgedPlan, OfAllPlans, PlanJudge
from speccheck.validator.sources.joining.grouping import PlanFiles

if TYPE_CHECKING:
    from speccheck.validator.engine.edition_in_use import SecondEdition
    from speccheck.validator.run.shadow_edition import Second
    from speccheck.validator.run.waivers.apply import Silence
    from speccheck.validator.run.waivers.baseline import Baseline

# What a plan is about, the first that it has: its settings file is that of this one.
_ROLES = (
    "config",
    "launcher",
    "engine",
    "model",
    "environment",
    "measurement",
    "node",
)


def names_of(group: PlanFiles) -> tuple[str, ...]:
    """The files of a plan, the one that it is about first.

    Whichever order they were given in: it must not decide which settings count.
    """
    ranked = sorted((_ROLES.index(file.role), file.status.path) for file in group.files)
    return tuple(dict.fromkeys(path for _, path in ranked))


def settled(request: Request, group: PlanFiles) -> Request:
    """What is asked of a plan by the settings closest to it."""
    if request.for_files is None:
        return request
    return request.judging_by(request.for_files(names_of(group)))


class Silenced(Record):
    """What silenced failures of plans; judge: by which they were judged, the last."""

    silence: "Silence"
    numbers: tuple[int, ...]
    judge: PlanJudge


class PlanJudges:
    """Judges plan after plan, each by its own settings."""

    def __init__(
        self,
        request: Request,
        *,
        proposes: bool = True,
        baseline: "Baseline | None" = None,
    ) -> None:
        """Load what all plans need.

        Args:
            request: what is judged, and how.
            proposes: whether changes are sought that mend what fails.
            baseline: that of all plans, whatever settings say.

        """
        self._request = request
        self._proposes = proposes
        self._of_all = OfAllPlans(baseline)
        self.of_run = PlanJudge(request, proposes=proposes, shared=self._of_all)
        self._judges: dict[Judging, PlanJudge] = {request.judging: self.of_run}
        self._judged: list[PlanJudge] = []  # of each plan in turn
        self._second: "Second | None" = None  # noqa: UP037 - imported below, seldom
        if request.warned is not None:
            from speccheck.validator.run import shadow_edition  # noqa: PLC0415 - seldom

            self._second = shadow_edition.Second(request)

    @property
    def edition(self) -> Edition:
        """The edition of the run."""
        return self.of_run.edition

    @property
    def second(self) -> "SecondEdition | None":
        """What came of the edition that only warns, where there is one."""
        return None if self._second is None else self._second.told

    @property
    def unsought(self) -> int:
        """Plans for whose failures no change was sought."""
        return self._of_all.unsought

    @property
    def warnings(self) -> tuple[str, ...]:
        """What settings and command line say in vain."""
        said = (one for judge in self._judges.values() for one in judge.warnings)
        return tuple(dict.fromkeys(said))

    def __call__(self, group: PlanFiles) -> JudgedPlan:
        """Judge the plan that these files make together."""
        judge = self.of(group)
        self._judged.append(judge)
        if self._second is None:
            return judge(group)
        evidence = assemble(group.files, judge.request.context)
        judged = judge.judged(group, evidence)
        return self._second.beside(judged, group, evidence, judge)

    def silenced(self) -> Iterator[Silenced]:
        """What silenced failures, each with the plans that it was asked about."""
        for policy, silence in self._of_all.silences.items():
            judges = {
                number: judge
                for number, judge in enumerate(self._judged)
                if judge.request.policy == policy
            }
            # Plans before the first file with waivers hold nothing of what is asked.
            numbers = tuple(judges)[len(judges) - len(silence.plans) :]
            if numbers:
                yield Silenced(silence, numbers, judges[numbers[-1]])

    def of(self, group: PlanFiles) -> PlanJudge:
        """The judge by the settings of a plan; raises what `PlanJudge` raises."""
        if self._request.for_files is None:
            return self.of_run
        judging = self._request.for_files(names_of(group))
        judge = self._judges.get(judging)
        if judge is None:
            request = self._request.judging_by(judging)
            judge = PlanJudge(request, proposes=self._proposes, shared=self._of_all)
            self._judges[judging] = judge
        return judge
