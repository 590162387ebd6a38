"""A value of a GPU in whose place the driver gives an error.

Why it hurts: ERR! and Unknown Error stand where the GPU, its firmware or its bus no
longer answers. A job on it hangs, or dies with the first call.

What passes: values, or the word that this board has none (N/A).

Where it does not apply: captures that show hardly anything of a GPU, and snapshots of
probes that note each failed call at its own value.

Source: nvml.h, nvmlErrorString; NVIDIA/open-gpu-kernel-modules issue 387.

Bad::

    nvidia-smi    # ERR!   N/A  ERR!  in the row of GPU 3

Good::

    nvidia-smi    # N/A   41C    P0  in each row
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.models.units import numbered
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-020")
def reading_fails(gpu: Gpu) -> Verdicts:
    """Judge the values that could not be read."""
    failed = [text for text in gpu.readings_failed.or_else(()) if text]
    if failed:
        named = f"{failed[0].replace('_', ' ')} (of {numbered(len(failed), 'value')})"
        yield fail(
            f"the driver gives an error in place of {named}; it must give a value",
            at=gpu.readings_failed,
            measured=len(failed),
            required=0,
            cost="a job on this GPU hangs, or dies with its first call",
            action="RESET_GPU",
        )
        return
    if gpu.readings_failed.is_known:
        yield passed(at=gpu.readings_failed, measured=0, required=0)
