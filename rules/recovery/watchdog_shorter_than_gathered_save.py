"""A collective timeout that ends before a gathered save does.

Why it hurts: one rank writes the whole model, the others wait for it in the next
collective. Their watchdog ends first and kills the job, healthy as it is, at each save.

What passes: a timeout above the stated time of the save.

Where it does not apply: asynchronous and sharded saves; plans that do not state how
long a save takes, of which watchdog_shorter_than_estimated_save speaks.

Source: public issues torchtune 2093, DeepSpeed 7533 and accelerate 2912.

Bad::

    checkpoint: {format: full, save_seconds: 900}
    communication: {timeout_seconds: 600}

Good::

    checkpoint: {format: full, save_seconds: 900}
    communication: {timeout_seconds: 1800}
"""

from math import ceil

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Checkpoint, Communication
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="FT-020", about=("checkpoint.save_seconds",))
def watchdog_shorter_than_gathered_save(
    checkpoint: Checkpoint, communication: Communication, stated: StatedKeys
) -> Verdicts:
    """Judge the timeout against the stated time of a blocking, gathered save."""
    is_off = checkpoint.enabled.value is False or checkpoint.asynchronous.value is True
    if is_off or checkpoint.format.value != "full":
        return
    timeout, save = communication.timeout_seconds, checkpoint.save_seconds
    at = [timeout, save, checkpoint.format]
    if timeout.need() > save.need():
        yield passed(at=at, measured=timeout.need(), required=save.need())
        return
    yield fail(
        f"the other ranks wait {timeout.need():,.0f} s at most, but one rank writes "
        f"for {save.need():,.0f} s",
        at=at,
        measured=timeout.need(),
        required=save.need(),
        cost="each save ends the healthy job",
        remedy=f"Save sharded or asynchronously, or set the timeout to "
        f"{2 * save.need():,.0f} s.",
        fix=rewritten(timeout, ceil(2 * save.need()), stated),
    )
