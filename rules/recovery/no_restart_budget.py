"""Nothing starts the job again after a fault.

Why it hurts: torchrun restarts nothing by default. The first fault ends the job, its
place in the queue is lost, and the cluster waits for a person.

What passes: restarts by the launcher, a requeue by the scheduler, a restart policy of
the job controller, or restarts inside the processes.

Where it does not apply: jobs below the size class of the clause; plans that do not
show how the job is launched stay unknown, and so do those that tell nothing of their
length: benchmarks of a few minutes are started again by hand.

Source: pytorch torch/distributed/run.py (--max-restarts, default 0); Slurm --requeue.

Bad::

    #SBATCH --no-requeue
    srun torchrun --nnodes=64 --max-restarts=0 train.py

Good::

    #SBATCH --requeue
    srun torchrun --nnodes=64 --max-restarts=3 train.py
"""

from speccheck.validator.evidence.finding import Fix, to_rename, to_set
from speccheck.validator.evidence.mending import combined, place_of
from speccheck.validator.evidence.plan import Checkpoint, Recovery, Run
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_RESTARTING_POLICIES = frozenset({"always", "onfailure", "exitcode"})


class RestartLimit(Numbers):
    """The least number of restarts."""

    min_restarts: int


@rule(clause="FT-005")
def no_restart_budget(
    recovery: Recovery, checkpoint: Checkpoint, run: Run, limit: RestartLimit
) -> Verdicts:
    """Judge the ways in which a job can start again; one is enough."""
    restarts, policy = recovery.max_restarts, recovery.restart_policy
    by_launcher = restarts.or_else(0) >= limit.min_restarts
    by_policy = policy.or_else("").lower() in _RESTARTING_POLICIES
    ways = (
        (by_launcher, restarts),
        (recovery.requeue.value is True, recovery.requeue),
        (by_policy, policy),
        (recovery.in_process_restart.value is True, recovery.in_process_restart),
    )
    working = [leaf for works, leaf in ways if works]
    if working:
        yield passed(at=working)
        return
    restarts.need()
    length = (run.hours, run.steps, run.epochs, recovery.walltime_seconds)
    if not checkpoint.enabled.value and not any(value.is_known for value in length):
        run.hours.need()
    requeue = "no requeue" if recovery.requeue.is_known else "no requeue asked for"
    yield fail(
        f"{restarts.need()} restarts by the launcher and {requeue}: the first fault "
        f"ends the job; at least {limit.min_restarts} restart is needed",
        at=[restarts, recovery.requeue, policy, *_related(recovery)],
        measured=restarts.need(),
        required=limit.min_restarts,
        cost="the cluster waits for a person, and the place in the queue is lost",
        fix=_fix(recovery, limit),
    )


def _related(recovery: Recovery) -> list[Value[str]]:
    """Return the launcher, where its default number of restarts has no place."""
    return [] if recovery.max_restarts.places else [recovery.launcher]


def _fix(recovery: Recovery, limit: RestartLimit) -> Fix | None:
    """Propose one way to start again where a file rules it out, the scheduler first.

    A job that does not resume begins anew, over what it has saved.
    """
    place = place_of(recovery.requeue, "--no-requeue")
    if place is not None:
        return combined("write --requeue", [to_rename(place, "--requeue")])
    place = place_of(recovery.max_restarts, "--max-restarts", "--max_restarts")
    if place is None:
        return None
    says = f"set {place.key} to {limit.min_restarts}"
    return combined(says, [to_set(place, limit.min_restarts)])
