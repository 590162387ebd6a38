"""A GPU with memory rows that wait for a reset, or could not be replaced.

Why it hurts: the next access to the bad row kills the process or corrupts results, in
the middle of a run of many nodes.

What passes: no row waits to be remapped, none failed to be, and no uncorrectable error
was counted since the driver was loaded.

Where it does not apply: a GPU without error correction.

Source: NVIDIA GPU Memory Error Management, row remapping.

Bad::

    nvidia-smi -q -d ROW_REMAPPER    # Pending: Yes

Good::

    nvidia-smi -q -d ROW_REMAPPER    # Pending: No
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Faults(Numbers):
    """The most pending or failed row replacements of a GPU."""

    faults_max: int


@rule(clause="HW-002")
def memory_fault_pending(gpu: Gpu, limit: Faults) -> Verdicts:
    """Judge rows that wait, rows that failed, and uncorrectable errors."""
    pending, broken = gpu.remap_is_pending, gpu.remap_has_failed
    errors = gpu.ecc_uncorrected_volatile
    if pending.status == broken.status == errors.status == "not_supported":
        return
    if broken.value:
        yield fail(
            "a memory row failed to be remapped: no spare row is left in its bank",
            at=broken,
            cost="the next error in that row ends the job",
            remedy="Return the board: drain the node and replace the GPU.",
            action="ISOLATE",
        )
        return
    if pending.value:
        yield fail(
            "a memory row waits to be remapped",
            at=pending,
            cost="the next access to that row ends the job",
            remedy="Reset the GPU when it is idle: nvidia-smi --gpu-reset -i N.",
            action="RESET_GPU",
        )
        return
    if errors.or_else(0) > limit.faults_max:
        yield fail(
            f"{errors.value:,} uncorrectable memory errors since the driver was "
            f"loaded; at most {limit.faults_max} may be",
            at=errors,
            measured=errors.value,
            required=limit.faults_max,
            cost="results may be wrong without a sign of it",
            remedy="Drain the node, reset the GPU (nvidia-smi --gpu-reset -i N), and "
            "run dcgmi diag -r 3 before the next job; replace it if they recur.",
            action="RESET_GPU",
        )
        return
    at = [pending, broken, errors]
    for leaf in at:
        if leaf.status != "not_supported":
            leaf.need()
    yield passed(at=at, measured=0, required=limit.faults_max)
