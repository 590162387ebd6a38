"""A run with another release of NCCL than the one that is stated.

Why it hurts: the library of the image, of LD_LIBRARY_PATH or of LD_PRELOAD wins over
the one that was meant: known faults come back, and variables are read otherwise.

What passes: the log names the stated release.

Where it does not apply: nobody states a release.

Source: NVIDIA/nccl src/init.cc (NCCL version).

Bad::

    --nccl 2.27.7      and      NCCL version 2.21.5+cuda12.4

Good::

    --nccl 2.27.7      and      NCCL version 2.27.7+cuda12.9
"""

from speccheck.rules.communication._ran import one_verdict
from speccheck.validator.evidence.measurement.collective import (
    Communicator,
    Communicators,
)
from speccheck.validator.evidence.nccl_variables import release
from speccheck.validator.evidence.plan import Run
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule


@rule(clause="COMM-082")
def other_release_ran(communicators: Communicators, run: Run) -> Verdicts:
    """Compare the release of the log with the stated one."""
    yield from one_verdict(
        communicators, lambda communicator: _judged(communicator, run)
    )


def _judged(communicator: Communicator, run: Run) -> Verdict | None:
    stated = run.nccl_version
    if not stated.is_known or stated.status == "default":
        return None
    ran = communicator.nccl_version
    if set(stated.places) & set(ran.places):
        return None  # the log itself is all that tells it
    wanted, numbers = release(stated.need()), release(ran.need())
    if numbers[: len(wanted)] == wanted:
        return passed(at=[ran, stated], measured=ran.value, required=stated.value)
    return fail(
        f"NCCL {ran.value} ran; {stated.value} is stated",
        at=[ran, stated],
        measured=ran.value,
        required=stated.value,
        cost="faults and defaults of another release, which nobody looks for",
        remedy="Look which library the process loads: LD_DEBUG=libs, or "
        "grep nccl /proc/PID/maps; unset LD_PRELOAD.",
    )
