"""What the findings of one node come to, as `speccheck preflight` would say it."""

from collections.abc import Sequence
from functools import cache

from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.report.summary import exit_of, summarize
from speccheck.validator.run.job_scale import JobScale
from speccheck.validator.run.plan_judge import JudgedPlan
from speccheck.validator.run.run import Run
from speccheck.validator.sources.files import FileStatus

_WORDS = {0: "go", 1: "no-go", 3: "inconclusive", 4: "bug"}
_FILE = FileStatus("node", "snapshot")


class NodeVerdict:
    """Tells the verdict on a node; can be handed to another process."""

    def __init__(self, use: str, fail_on: str) -> None:
        """Take the use of the profile, and the level from which on a failure counts."""
        self._use = use
        self._fail_on = fail_on

    def __call__(self, findings: Sequence[Finding]) -> str:
        """The word of the verdict: go, no-go, inconclusive or bug."""
        located = tuple(LocatedFinding(one, ()) for one in findings)
        plan = JudgedPlan((_FILE,), (), _nothing(), None, located)
        run = Run(load_edition(), self._use, (_FILE,), (plan,))
        return _WORDS[exit_of(run, summarize([plan]), self._fail_on).code]


@cache
def _nothing() -> JobScale:
    return JobScale(TrainingPlan({}))
