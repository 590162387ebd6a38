"""GPU memory whose spare rows or pages are nearly used up.

Why it hurts: the fault after the last spare row cannot be repaired, and it comes in
the middle of a run.

What passes: corrected errors, remapped rows, retired pages and banks with few spare
rows within the limits of the clause. What a board does not have is not judged.

Where it does not apply: a GPU that counts none of these.

Source: Azure/azurehpc-health-checks, facebookresearch/gcm; histograms of sound boards
in NVIDIA/k8s-test-infra.

Bad::

    nvidia-smi -q -d ROW_REMAPPER   # Bank Remap Availability: None 1 bank(s)

Good::

    nvidia-smi -q -d ROW_REMAPPER   # Bank Remap Availability: Max 2560 bank(s)
"""

from speccheck.rules.hardware._leaves import needed, short_banks, supported
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Wear(Numbers):
    """The most repairs of GPU memory before it counts as worn, one limit a kind.

    low_banks_max: memory banks with few spare rows left.
    """

    corrected_max: int
    remapped_max: int
    retired_max: int
    low_banks_max: int


@rule(clause="HW-023")
def memory_wearing_out(gpu: Gpu, limit: Wear) -> Verdicts:
    """Judge each count that the board has."""
    pages = gpu.retired_pages_single_bit, gpu.retired_pages_double_bit
    counts = (
        (
            gpu.ecc_corrected_volatile,
            limit.corrected_max,
            "corrected memory errors since the driver was loaded",
        ),
        (
            gpu.remapped_rows_uncorrectable,
            limit.remapped_max,
            "rows remapped for uncorrectable errors",
        ),
        (pages[0], limit.retired_max, "pages retired for single-bit errors"),
        (pages[1], limit.retired_max, "pages retired for double-bit errors"),
    )
    is_worn = False
    for leaf, most, what in counts:
        if leaf.or_else(0) > most:
            is_worn = True
            yield fail(
                f"{leaf.value:,} {what}; at most {most:,} should be",
                at=leaf,
                measured=leaf.value,
                required=most,
                action="MONITOR",
            )
    banks = gpu.remap_banks
    few, none = short_banks(banks)
    low = few + none
    if low > limit.low_banks_max:
        is_worn = True
        yield fail(
            f"{low:,} banks of memory have few or no spare rows ({none:,} none); "
            f"at most {limit.low_banks_max} should",
            at=banks,
            measured=low,
            required=limit.low_banks_max,
            cost="the next fault in such a bank cannot be repaired",
            action="ISOLATE" if none else "MONITOR",
        )
    at = *(leaf for leaf, _, _ in counts), banks
    if supported(*at) and not is_worn:
        yield passed(at=list(needed(*at)))
