"""A management library that does not answer.

Why it hurts: a call that never returns waits for a GPU that the driver has lost hold
of. CUDA waits for it in the same way: the job hangs at start-up, and its processes
cannot be killed.

What passes: a library that started and answered each call within the time of the
clause.

Where it does not apply: nowhere; a machine without the library, or a probe that was
given less time than the clause allows for one call, is unknown.

Source: facebookresearch/gcm; leptonai/gpud; NVIDIA/gpu-monitoring-tools issue 46.

Bad::

    timeout 10 nvidia-smi; echo $?   # 124

Good::

    timeout 10 nvidia-smi; echo $?   # 0
"""

from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Patience(Numbers):
    """The seconds within which each call must be answered."""

    answer_seconds: float


@rule(clause="HW-093")
def management_library_stuck(driver: Driver, gpus: Gpus, limit: Patience) -> Verdicts:
    """Judge the longest wait for one call."""
    longest, status = driver.longest_answer_seconds, driver.management_library_status
    most = limit.answer_seconds
    if longest.or_else(0.0) >= most:
        call = f" ({longest.note})" if longest.note else ""
        yield fail(
            f"one call of the management library{call} took {longest.value:.0f} s or "
            f"did not return; each must be answered within {most:.0f} s",
            at=longest,
            measured=longest.value,
            required=most,
            cost="programs that use a GPU hang, and cannot be killed",
            remedy="Drain the node; see dmesg for Xid, and ps -eo stat,cmd for "
            "processes in state D; nvidia-smi -pm 1 where the driver starts that "
            "slowly; "
            "else reboot, and replace the GPU if it hangs again.",
            action="REBOOT",
        )
        return
    if status.need() == 0:
        if longest.status != "not_supported":  # what nvidia-smi prints has no times
            longest.need()
        gpus.each()
        yield passed(at=[longest, status], measured=longest.value)
