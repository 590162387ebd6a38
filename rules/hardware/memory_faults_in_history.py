"""Uncorrectable memory errors in the life of a GPU.

Why it hurts: it does not now. Errors that were repaired leave sound memory; a board
whose count grows from snapshot to snapshot is the one to retest.

What passes: no uncorrectable error over the life of the board, and no row remapped for
one.

Where it does not apply: a GPU that keeps no such counts.

Source: NVIDIA/DCGM error 132; oracle-quickstart/oci-hpc.

Bad::

    nvidia-smi -q -d ECC   # Aggregate, DRAM Uncorrectable: 3

Good::

    nvidia-smi -q -d ECC   # Aggregate, DRAM Uncorrectable: 0
"""

from speccheck.rules.hardware._leaves import needed, supported
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Faults(Numbers):
    """The most uncorrectable memory errors that need no second look."""

    faults_max: int


@rule(clause="HW-024")
def memory_faults_in_history(gpu: Gpu, limit: Faults) -> Verdicts:
    """Report what the board has counted over its life."""
    counts = (
        (gpu.ecc_uncorrected_aggregate, "uncorrectable memory errors"),
        (gpu.sram_uncorrected_aggregate, "uncorrectable SRAM errors"),
        (gpu.remapped_rows_uncorrectable, "rows remapped for uncorrectable errors"),
    )
    seen = [(leaf, what) for leaf, what in counts if leaf.or_else(0) > limit.faults_max]
    if seen:
        text = ", ".join(f"{leaf.value:,} {what}" for leaf, what in seen)
        yield fail(
            f"over its life the board has counted {text}",
            at=[leaf for leaf, _ in seen],
            measured=seen[0][0].value,
            required=limit.faults_max,
            action="MONITOR",
        )
        return
    at = tuple(leaf for leaf, _ in counts)
    if supported(*at):
        yield passed(at=list(needed(*at)))
