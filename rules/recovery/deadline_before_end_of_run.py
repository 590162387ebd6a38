"""A deadline of a Kubernetes job before the end of its run.

Why it hurts: at activeDeadlineSeconds the controller ends all pods and marks the job as
failed. No retry and no requeue follows, whatever the budget says.

What passes: a deadline behind the expected run time.

Where it does not apply: the length of the run is not known; Slurm, whose jobs come in
chains.

Source: Kubernetes documentation of Job (activeDeadlineSeconds takes precedence over
backoffLimit).

Bad::

    activeDeadlineSeconds: 86400      # of a run of three days

Good::

    activeDeadlineSeconds: 345600
"""

from speccheck.validator.evidence.plan import Recovery, Run
from speccheck.validator.forecast.plan_facts import run_seconds
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Verdicts, fail, passed, rule

_KEY = "activeDeadlineSeconds"


@rule(clause="FT-030", about=("recovery.walltime_seconds",))
def deadline_before_end_of_run(recovery: Recovery, run: Run) -> Verdicts:
    """Judge run time <= deadline."""
    deadline, length = recovery.walltime_seconds, run_seconds(run)
    if not any(place.key.endswith(_KEY) for place in deadline.places):
        return
    if length is None or not deadline.is_known:
        return
    seconds = deadline.need()
    at = [deadline, run.hours, run.steps, run.step_seconds]
    if length <= seconds:
        yield passed(at=at, measured=length, required=seconds)
        return
    yield fail(
        f"the job is ended for good after {duration(seconds)}, and the run takes "
        f"{duration(length)}",
        at=at,
        measured=seconds,
        required=length,
        cost="the controller ends all pods and starts nothing again",
        remedy=f"Raise {_KEY} above {length:,.0f}, or delete it.",
    )
