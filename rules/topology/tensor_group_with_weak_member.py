"""A tensor-parallel group whose GPUs do not have equally many NVLink neighbours.

Why it hurts: each collective of the group runs at the speed of the member with the
fewest fast neighbours, in every layer.

What passes: every GPU of the node reaches equally many others over NVLink, or at least
all of a group do, as ranks lie on consecutive GPUs. Through switches all reach all.

Where it does not apply: no tensor parallelism, or one GPU. Groups larger than the node
are judged by other clauses.

Source: claim S2#37; the comparison is an engineering default.

Bad::

    GPU 0 to 3 reach 3 others over NVLink each, GPU 4 reaches one   # and TP 8

Good::

    GPU 0 to 7 reach 7 others each
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.node.fault_codes import PEER_OK
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.plan import Parallelism
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="TOPO-008", confidence="calibrated")
def tensor_group_with_weak_member(gpus: Gpus, parallelism: Parallelism) -> Verdicts:
    """Compare the GPUs of a node, then those of each group."""
    result = gpus.each()
    tensor = parallelism.tensor_parallel_size
    if len(result) <= 1 or tensor.value == 1:
        return
    counts = [_neighbours(gpu, len(result)) for gpu in result]
    at = [gpu.peer_nvlink_status for gpu in result]
    if len(set(counts)) == 1:
        yield passed(at=at[0], measured=counts[0])
        return
    size = tensor.need()
    if size > len(result):
        return
    weak = [group for group in _groups(counts, size) if len(set(group[1])) > 1]
    for first, group in weak:
        least = first + group.index(min(group))
        yield fail(
            f"GPU {least} reaches {min(group)} others over NVLink, others of its "
            f"tensor-parallel group (GPU {first} to {first + size - 1}) {max(group)}; "
            "all members of a group should reach equally many",
            at=[at[least], tensor],
            measured=min(group),
            required=max(group),
            cost="each layer waits for the member with the fewest fast neighbours",
        )
    if not weak:
        yield passed(at=[*at, tensor], measured=size)


def _neighbours(gpu: Gpu, among: int) -> int:
    """Return how many others it reaches over NVLink; the list has itself as well."""
    leaf = gpu.peer_nvlink_status
    statuses = leaf.need()
    if None in statuses or len(statuses) != among:
        raise MissingEvidence(leaf.name, "not known of all GPUs")
    return statuses.count(PEER_OK) - 1


def _groups(counts: Sequence[int], size: int) -> Iterator[tuple[int, Sequence[int]]]:
    starts = range(0, len(counts) - size + 1, size)
    return ((first, counts[first : first + size]) for first in starts)
