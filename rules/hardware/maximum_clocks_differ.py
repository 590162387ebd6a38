"""GPUs of one model with different highest clocks.

Why it hurts: a board with another VBIOS or of another bin never reaches the clocks of
its peers, and is the straggler of each step.

What passes: one highest SM clock and one highest memory clock over the GPUs of each
model.

Where it does not apply: a node with one GPU of a model.

Source: Azure/azurehpc-health-checks; nvidia-smi -q captures in NVIDIA/k8s-test-infra.

Bad::

    nvidia-smi --query-gpu=clocks.max.sm   # 1980 MHz on seven, 1755 MHz on one

Good::

    nvidia-smi --query-gpu=clocks.max.sm   # 1980 MHz on all
"""

from collections import Counter

from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Clocks(Numbers):
    """How many different values there may be."""

    max_distinct: int


@rule(clause="HW-029")
def maximum_clocks_differ(gpu: Gpu, gpus: Gpus, limit: Clocks) -> Verdicts:
    """Judge a GPU against those of its model."""
    model = gpu.name.need()
    peers = [gpu for gpu in gpus.each() if gpu.name.value == model]
    if len(peers) <= 1:
        return
    numbers = []
    for clock, what, all_clocks in (
        (
            gpu.sm_clock_maximum_mhz,
            "SM clock",
            [peer.sm_clock_maximum_mhz for peer in peers],
        ),
        (
            gpu.memory_clock_maximum_mhz,
            "memory clock",
            [peer.memory_clock_maximum_mhz for peer in peers],
        ),
    ):
        mine = clock.need()
        known = Counter(clock.value for clock in all_clocks if clock.value is not None)
        usual, _ = known.most_common(1)[0]
        if len(known) > limit.max_distinct and mine < max(known):
            numbers.append(clock)
            yield fail(
                f"the highest {what} is {mine:,} MHz; peers of the node reach "
                f"{max(known):,} MHz, {usual:,} MHz is usual",
                at=clock,
                measured=mine,
                required=max(known),
                action="FIX_CONFIG",
            )
    if not numbers:
        yield passed(at=[gpu.sm_clock_maximum_mhz, gpu.memory_clock_maximum_mhz])
