"""Memory that no remapping can mend, or an InfoROM that lost its records.

Why it hurts: on-chip memory (SRAM) has no spare rows; once its errors pass the
threshold of the driver, the board is due for replacement. A broken InfoROM has lost
the record of earlier faults, so that a bad board looks new.

What passes: no uncorrectable SRAM error since the driver was loaded, the threshold not
exceeded, no memory beyond repair, a valid InfoROM. What a board does not have says
nothing of it; at least one of these must be known.

Where it does not apply: a GPU that has none of the four.

Source: NVIDIA/DCGM errors 9 and 118.

Bad::

    nvidia-smi -q -d ECC    # SRAM Threshold Exceeded: Yes

Good::

    nvidia-smi -q -d ECC    # SRAM Threshold Exceeded: No
"""

from speccheck.rules.hardware._leaves import needed, supported
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_RETURN = "Drain the node and return the board."


class Faults(Numbers):
    """How many uncorrectable SRAM errors there may be."""

    faults_max: int


@rule(clause="HW-021")
def memory_beyond_repair(gpu: Gpu, limit: Faults) -> Verdicts:
    """Judge SRAM, memory that cannot be repaired, and the InfoROM."""
    exceeded, errors = gpu.sram_threshold_exceeded, gpu.sram_uncorrected_volatile
    unrepairable, inforom = gpu.memory_is_unrepairable, gpu.inforom_is_valid
    if exceeded.value:
        yield fail(
            "uncorrectable SRAM errors exceed the threshold of the driver",
            at=exceeded,
            remedy=_RETURN,
            action="ISOLATE",
        )
    elif errors.or_else(0) > limit.faults_max:
        yield fail(
            f"{errors.value:,} uncorrectable SRAM errors since the driver was loaded; "
            f"at most {limit.faults_max} may be",
            at=errors,
            measured=errors.value,
            required=limit.faults_max,
            remedy="Reset the GPU, run dcgmi diag -r 3, and return it if they recur.",
            action="RESET_GPU",
        )
    if unrepairable.value:
        yield fail(
            "the driver says that memory of the board cannot be repaired",
            at=unrepairable,
            remedy=_RETURN,
            action="ISOLATE",
        )
    if inforom.value is False:
        yield fail(
            "the InfoROM is corrupted: its checksum does not hold",
            at=inforom,
            cost="the history of memory faults is lost",
            remedy="Reboot once; return the board if the InfoROM stays invalid.",
            action="ISOLATE",
        )
    at = exceeded, errors, unrepairable, inforom
    if supported(*at) and not _is_bad(gpu, limit):
        yield passed(at=list(needed(*at)))


def _is_bad(gpu: Gpu, limit: Faults) -> bool:
    return bool(
        gpu.sram_threshold_exceeded.value
        or gpu.sram_uncorrected_volatile.or_else(0) > limit.faults_max
        or gpu.memory_is_unrepairable.value
        or gpu.inforom_is_valid.value is False
    )
