"""A GPU that is lost, or that its driver wants to be reset.

Why it hurts: the first call of the job that reaches this GPU fails, and with it all
ranks. A job that starts without it has a rank too many.

What passes: a GPU that answers each call and of which the driver asks nothing.

Where it does not apply: nowhere; a driver too old to tell what it asks for is judged by
its answers alone.

Source: nvml.h, return codes 15 and 16, field 230 (recovery action).

Bad::

    nvidia-smi -q -d RESET_STATUS   # GPU Recovery Action: Reset

Good::

    nvidia-smi -q -d RESET_STATUS   # GPU Recovery Action: None
"""

from speccheck.validator.evidence.node.fault_codes import NO_RECOVERY, RECOVERY_ACTIONS
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Verdicts, fail, passed, rule

_WHAT_TO_DO = {
    "FIX_CONFIG": "Restart nvidia-imex on all trays of the domain.",
    "RESET_GPU": "Drain the node, then nvidia-smi --gpu-reset -i N, and read it again.",
    "REBOOT": "Drain the node and reboot it; replace the GPU if it comes back so.",
}


@rule(clause="HW-020")
def gpu_needs_recovery(gpu: Gpu) -> Verdicts:
    """Judge by the answers of the driver and by what it asks for."""
    lost, reset, value = gpu.is_lost, gpu.needs_reset, gpu.recovery_action
    if lost.value:
        yield fail(
            "the driver has lost the GPU: calls return 15; each must be answered",
            at=lost,
            cost="the job dies on its first call to this GPU",
            remedy=_WHAT_TO_DO["REBOOT"],
            action="REBOOT",
        )
        return
    if value.or_else(NO_RECOVERY) != NO_RECOVERY:
        words, action = RECOVERY_ACTIONS.get(
            value.need(), (f"recovery {value.value}, which is not known here", "REBOOT")
        )
        yield fail(
            f"the driver asks for {words}; it must ask for nothing",
            at=value,
            measured=value.value,
            required=NO_RECOVERY,
            remedy=_WHAT_TO_DO[action],
            action=action,
        )
        return
    if reset.value:
        yield fail(
            "the GPU waits for a reset: calls return 16; each must be answered",
            at=reset,
            remedy=_WHAT_TO_DO["RESET_GPU"],
            action="RESET_GPU",
        )
        return
    at = [lost, reset]
    if value.status != "not_supported":
        at.append(value)  # type: ignore[arg-type]
    for leaf in at:
        leaf.need()
    yield passed(at=at)
