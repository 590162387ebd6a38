"""A collective timeout so long that a hang never ends the job.

Why it hurts: after a hang every GPU of the job waits, and is paid for, until a person
looks. Nothing in the log says that training has stopped.

What passes: a timeout of at most the limit, also where it must outlast hours of
tokenising on rank 0.

Where it does not apply: debug runs, and jobs of one GPU.

Source: public fine-tuning recipes set ddp_timeout to 180,000,000 s, which is 5.7 years,
so that tokenising on rank 0 does not end the job.

Bad::

    ddp_timeout: 180000000

Good::

    ddp_timeout: 14400     # tokenising takes up to three hours
"""

from speccheck.validator.evidence.plan import Cluster, Communication, Run
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class LongestTimeout(Numbers):
    """From where on a timeout ends nothing."""

    timeout_max: float  # seconds


@rule(clause="FT-023", about=("communication.timeout_seconds",))
def watchdog_in_effect_off(
    communication: Communication, cluster: Cluster, run: Run, limit: LongestTimeout
) -> Verdicts:
    """Judge the timeout of collectives, without regard to what it must outlast."""
    if run.role.value == "debug" or cluster.world_size.or_else(2) <= 1:
        return
    timeout = communication.timeout_seconds
    seconds = timeout.need()
    if seconds <= limit.timeout_max:
        yield passed(at=timeout, measured=seconds, required=limit.timeout_max)
        return
    yield fail(
        f"the collective timeout is {seconds:,.0f} s ({duration(seconds)}): a hang "
        f"holds every GPU until a person looks; at most {limit.timeout_max:,.0f} s are "
        f"enough for hours of tokenising",
        at=timeout,
        measured=seconds,
        required=limit.timeout_max,
        cost="the whole job stands still, and nothing ends it",
    )
