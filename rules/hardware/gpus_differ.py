"""GPUs of different models or memory sizes in one node.

Why it hurts: frameworks give each rank the same share, so that the slowest and the
smallest GPU set speed and batch of all; a board that lost memory looks like this too.

What passes: one model and one memory size over all GPUs of the node.

Where it does not apply: a node with one GPU.

Source: NVIDIA/cluster-readiness-engine; microsoft/superbenchmark.

Bad::

    nvidia-smi -L   # seven NVIDIA H100 80GB HBM3 and one NVIDIA A100-SXM4-80GB

Good::

    nvidia-smi -L   # eight NVIDIA H100 80GB HBM3
"""

from collections import Counter

from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Distinct(Numbers):
    """The most different GPU models, or memory sizes, in one node."""

    max_distinct: int


@rule(clause="HW-001")
def gpus_differ(gpu: Gpu, gpus: Gpus, limit: Distinct) -> Verdicts:
    """Judge a GPU against what most GPUs of the node are."""
    each = gpus.each()
    if len(each) <= 1:
        return
    name, size = gpu.name, gpu.memory_total_bytes
    own = name.need()
    names = Counter(gpu.name.value for gpu in each if gpu.name.is_known)
    (usual, _), *_ = names.most_common()
    if len(names) > limit.max_distinct and own != usual:
        yield fail(
            f"a {own} beside {usual}; one model is required",
            at=name,
            measured=own,
            required=usual,
            remedy="Leave the node to jobs that expect this mix, or replace the GPU.",
            action="FIX_CONFIG",
        )
        return
    sizes = Counter(
        gpu.memory_total_bytes.value
        for gpu in each
        if gpu.name.value == own and gpu.memory_total_bytes.value is not None
    )
    total = size.need()
    if len(sizes) > limit.max_distinct and total < max(sizes):
        yield fail(
            f"{total:,} bytes of memory; peers of the same model have {max(sizes):,}",
            at=size,
            measured=total,
            required=max(sizes),
            remedy="See nvidia-smi -q -d MEMORY,ECC, -mig 0, reboot; replace the board "
            "if it stays smaller.",
            action="ISOLATE",
        )
        return
    yield passed(at=[name, size])
