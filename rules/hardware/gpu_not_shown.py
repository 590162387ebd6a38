"""A GPU that the driver counts and does not show.

Why it hurts: it no longer answers by its own name; a job that counts on all GPUs does
not start.

What passes: as many GPUs shown as counted.

Where it does not apply: a look at one GPU, or at less than half of them, which somebody
asked for so (nvidia-smi -i).

Source: nvidia-smi -q -x, attached_gpus.

Bad::

    nvidia-smi -q    # Attached GPUs: 8, and seven of them follow

Good::

    nvidia-smi -q    # Attached GPUs: 8, and eight of them follow
"""

from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-001")
def gpu_not_shown(gpus: Gpus, driver: Driver) -> Verdicts:
    """Judge the GPUs that are shown against the driver's count."""
    counted = driver.gpus_attached
    shown = len(gpus.shown)
    if not counted.is_known or 2 * shown <= counted.need():
        return
    if shown >= counted.need():
        yield passed(at=counted, measured=shown, required=counted.value)
        return
    yield fail(
        f"the driver counts {counted.value} GPUs and shows {shown}; it must show all",
        at=counted,
        measured=shown,
        required=counted.value,
        cost="a job that counts on all GPUs does not start",
        remedy="Take the capture anew if it was cut; else reboot once, read the kernel "
        "log, and drain the node and replace the GPU if it stays away.",
        action="ISOLATE",
    )
