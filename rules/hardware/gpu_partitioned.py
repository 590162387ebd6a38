"""Multi-instance mode on a GPU that is to train with others.

Why it hurts: an instance of a partitioned GPU has no peer access and a part of its
memory; collectives over several GPUs fail at the start.

What passes: the mode is off, now and after the next reset.

Where it does not apply: GPUs that cannot be partitioned.

Source: oracle-quickstart/oci-hpc; NVIDIA MIG user guide (no peer-to-peer between
instances).

Bad::

    nvidia-smi -q   # MIG Mode, Current: Enabled

Good::

    nvidia-smi -q   # MIG Mode, Current: Disabled
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-025")
def gpu_partitioned(gpu: Gpu) -> Verdicts:
    """Judge the mode of now, and a change that waits."""
    on, pending = gpu.mig_is_on, gpu.mig_is_pending
    if on.status == "not_supported":
        return
    is_on = on.need()
    waits = bool(pending.value) if is_on else pending.need()
    if not is_on and not waits:
        yield passed(at=[on, pending])
        return
    what = "is on" if is_on else "comes on with the next reset"
    if is_on and waits:
        what = "is on until the next reset"
    yield fail(
        f"multi-instance mode {what}; it must be off for training over several GPUs",
        at=on if is_on else pending,
        measured="on",
        required="off",
        action="RESET_GPU" if is_on and waits else "FIX_CONFIG",
    )
