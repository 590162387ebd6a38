"""A job with a time limit that does not resume from its own checkpoints.

Why it hurts: the scheduler ends the job in the middle of the run. The next job of the
chain starts again from step 0 and overwrites what was reached.

What passes: a restart continues from the newest checkpoint.

Where it does not apply: debug runs and benchmarks of under 200 steps, jobs within the
limit of the clause, and plans that leave resuming to the training script.

Source: NVIDIA/NeMo nemo/utils/exp_manager.py (resume_if_exists); Slurm --time.

Bad::

    recovery: {walltime_seconds: 14400}
    checkpoint: {enabled: true, resume: false}

Good::

    recovery: {walltime_seconds: 14400}
    checkpoint: {enabled: true, resume: true}
"""

from speccheck.validator.evidence.mending import place_of, switched
from speccheck.validator.evidence.plan import Checkpoint, Recovery, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.models.units import duration, hours_in
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class SaveLimit(Numbers):
    """The length from which a run must save."""

    max_unsaved: float  # hours


# These start from the beginning where no checkpoint is there yet.
_IF_THERE_IS_ONE = ("resume_if_exists", "auto_resume_from_checkpoints")


@rule(clause="CKPT-001", confidence="advisory", about=("recovery.walltime_seconds",))
def no_resume_in_limited_job(
    checkpoint: Checkpoint,
    recovery: Recovery,
    run: Run,
    stated: StatedKeys,
    limit: SaveLimit,
) -> Verdicts:
    """Judge resuming under a wall-time limit."""
    walltime, resume = recovery.walltime_seconds, checkpoint.resume
    if run.is_trial or not walltime.is_known:
        return
    if hours_in(walltime.need()) <= limit.max_unsaved or not resume.is_known:
        return
    if resume.status == "default":
        return
    if resume.need():
        yield passed(at=[resume, walltime])
        return
    yield fail(
        f"the job is ended after {duration(walltime.need())} and the next one does not "
        f"resume",
        at=[resume, walltime],
        measured="off",
        required="on",
        cost="each job of the chain starts again from step 0",
        remedy="Resume from the newest checkpoint of the same folder.",
        fix=switched(resume, stated, on=True)
        if place_of(resume, *_IF_THERE_IS_ONE)
        else None,
    )
