"""A GPU farther from every adapter, or from its processors, than its siblings.

Why it hurts: its traffic crosses the host while that of the others does not, and each
collective waits for it.

What passes: each GPU as near to some adapter as the others, and the same processors
near all GPUs of a NUMA node.

Where it does not apply: machines on which no more than two in three GPUs share a
switch with an adapter: they were built so.

Source: NVIDIA/nccl docs, path types; nvidia-smi topo -m in NVIDIA/nccl issue 820.

Bad::

    nvidia-smi topo -m    # GPU5: SYS to each NIC, PXB for all others

Good::

    nvidia-smi topo -m    # PXB to two NICs in each row
"""

from collections import Counter

from speccheck.validator.evidence.node.fault_codes import SHARED_SWITCH
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule


@rule(clause="TOPO-005")
def gpu_unlike_siblings(gpus: Gpus) -> Verdicts:
    """Judge distances to adapters, then the processors of each NUMA node."""
    known = [gpu for gpu in gpus.shown if gpu.adapter_ancestors.is_known]
    near = [gpu for gpu in known if _nearest(gpu) <= SHARED_SWITCH]
    is_usual = len(near) > 2 * (len(known) - len(near))
    far = [gpu for gpu in known if gpu not in near] if is_usual else []
    odd = [*_odd_processors(gpus)]
    for gpu in far:
        yield fail(
            f"{gpu.title} shares no PCIe switch with an adapter; {len(near)} of its "
            "siblings do",
            at=gpu.adapter_ancestors,
            cost="GPUDirect of this GPU crosses the host, and each collective waits",
            remedy="Look for the adapter that is missing (ibstat, lspci), or sits in "
            "the wrong slot.",
            action="FIX_CONFIG",
        )
    yield from odd
    if near and not far and not odd:
        yield passed(at=[gpu.adapter_ancestors for gpu in known])


def _nearest(gpu: Gpu) -> int:
    levels = [level for level in gpu.adapter_ancestors.need() if level is not None]
    return min(levels, default=SHARED_SWITCH + 1)


def _odd_processors(gpus: Gpus) -> list[Verdict]:
    by_node: dict[int, list[Gpu]] = {}
    for gpu in gpus.shown:
        if gpu.numa_node.is_known and gpu.cpu_affinity.is_known:
            by_node.setdefault(gpu.numa_node.need(), []).append(gpu)
    result: list[Verdict] = []
    for node, members in by_node.items():
        usual, often = Counter(gpu.cpu_affinity.need() for gpu in members).most_common(
            1
        )[0]
        if 2 * often <= len(members):
            continue
        result.extend(
            fail(
                f"near {gpu.title} are said to be the processors "
                f"{gpu.cpu_affinity.value}; near its siblings of NUMA node {node} are "
                f"{usual}",
                at=[gpu.cpu_affinity, gpu.numa_node],
                cost="its rank is bound to processors of the other socket",
                action="FIX_CONFIG",
            )
            for gpu in members
            if gpu.cpu_affinity.value != usual
        )
    return result
