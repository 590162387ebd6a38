"""Error correction of GPU memory switched off.

Why it hurts: a flipped bit in weights or gradients is neither corrected nor counted;
the run goes on with a number that nobody computed.

What passes: error correction on, now and after the next reboot.

Where it does not apply: boards without it, and workstation boards that are delivered
with it off.

Source: NVIDIA/DCGM error 55; NVML nvmlDeviceGetEccMode.

Bad::

    nvidia-smi -q -d ECC   # Current: Disabled

Good::

    nvidia-smi -q -d ECC   # Current: Enabled
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Boards(Numbers):
    """Parts of names of boards that are delivered with error correction off."""

    shipped_without: tuple[str, ...]


@rule(clause="HW-022")
def error_correction_off(gpu: Gpu, boards: Boards) -> Verdicts:
    """Judge the mode of now and the one after the next reboot."""
    now, later = gpu.ecc_is_on, gpu.ecc_is_on_after_reboot
    if now.status == later.status == "not_supported":
        return
    if any(part in gpu.name.or_else("") for part in boards.shipped_without):
        return
    if now.value is False:
        wants = "comes on with the next reset" if later.value else "must be on"
        yield fail(
            f"error correction is off; it {wants}",
            at=now,
            measured="off",
            required="on",
            cost="wrong results without a sign of it",
            action="RESET_GPU" if later.value else "FIX_CONFIG",
        )
        return
    if later.value is False:
        yield fail(
            "error correction is on, but goes off with the next reboot; it must stay",
            at=later,
            measured="off after reboot",
            required="on",
            action="FIX_CONFIG",
        )
        return
    now.need()
    later.need()
    yield passed(at=[now, later])
