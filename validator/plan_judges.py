"""The judges of a run: one for each way in which settings ask to judge its plans."""

from speccheck.validator.plan_judge import JudgedPlan, PlanJudge, Sought
from speccheck.validator.request import Judging, Request
from speccheck.validator.sources.joining.grouping import PlanFiles
from speccheck.validator.spec.edition import Edition

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


class PlanJudges:
    """Judges plan after plan, each by its own settings."""

    def __init__(self, request: Request, *, proposes: bool = True) -> None:
        """Load what all plans need.

        Args:
            request: what is judged, and how.
            proposes: whether changes are sought that mend what fails.

        """
        self._request = request
        self._proposes = proposes
        self._sought = Sought()
        self._of_run = PlanJudge(request, proposes=proposes, sought=self._sought)
        self._judges: dict[Judging, PlanJudge] = {request.judging: self._of_run}

    @property
    def edition(self) -> Edition:
        """The edition of the run."""
        return self._of_run.edition

    @property
    def unsought(self) -> int:
        """Plans for whose failures no change was sought."""
        return self._sought.unsought

    @property
    def warnings(self) -> tuple[str, ...]:
        """What settings and command line say in vain."""
        said = (one for judge in self._judges.values() for one in judge.warnings)
        return tuple(dict.fromkeys(said))

    def __call__(self, group: PlanFiles) -> JudgedPlan:
        """Judge the plan that these files make together."""
        return self.of(group)(group)

    def of(self, group: PlanFiles) -> PlanJudge:
        """The judge by the settings of a plan; raises what `PlanJudge` raises."""
        if self._request.for_files is None:
            return self._of_run
        judging = self._request.for_files(names_of(group))
        judge = self._judges.get(judging)
        if judge is None:
            request = self._request.judging_by(judging)
            judge = PlanJudge(request, proposes=self._proposes, sought=self._sought)
            self._judges[judging] = judge
        return judge
