"""The batch that DeepSpeed's elastic training picks, and the GPU counts it allows.

Version 0.1 takes each micro-batch and their least common multiple, multiplies it by the
largest highly composite number that stays within the limit, and keeps the candidate
that most GPU counts divide. Version 0.2 does so with nodes instead of GPUs. Source:
deepspeedai/DeepSpeed deepspeed/elasticity/elasticity.py, read at commit c5601db.
"""

import math
from collections.abc import Sequence

from speccheck.validator.evidence.record import Record

# The numbers with more divisors than any smaller one that DeepSpeed knows.
_HIGHLY_COMPOSITE = (
    *(1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520),
    *(5040, 7560, 10080, 15120, 20160, 25200, 27720, 45360, 50400, 55440, 83160),
    *(110880, 166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720),
)
FIRST_VERSION = 0.1
_LARGEST_USUAL_BATCH = 10_000_000  # samples


class Elastic(Record):
    """An elasticity section. Counts of GPUs are of the data-parallel world."""

    micro_batches: tuple[int, ...]
    largest_batch: int
    fewest_gpus: int = 1
    most_gpus: int = 10_000
    prefers_larger_batch: bool = True


class ElasticBatch(Record):
    """The batch of all runs, and the world sizes that may run it."""

    batch: int
    world_sizes: tuple[int, ...]


def elastic_batch(elastic: Elastic) -> ElasticBatch | None:
    """Return what version 0.1 picks.

    None where a micro-batch exceeds the largest batch.

    DeepSpeed then raises ValueError. No world sizes mean that it finds none.
    """
    if max(elastic.micro_batches) > elastic.largest_batch:
        return None
    bases = {*elastic.micro_batches, math.lcm(*elastic.micro_batches)}
    candidates = {
        base * _largest_multiple(elastic.largest_batch // base)
        for base in bases
        if base <= elastic.largest_batch
    }
    elastic_batches = [
        ElasticBatch(candidate, _world_sizes(candidate, elastic))
        for candidate in candidates
    ]
    sign = 1 if elastic.prefers_larger_batch else -1
    return max(
        elastic_batches, key=lambda item: (len(item.world_sizes), sign * item.batch)
    )


def is_settled(elastic: Elastic) -> bool:
    """Return whether all releases pick the same batch: nothing exceeds the largest one.

    Earlier releases kept a common multiple beyond it as a candidate. A batch that
    nobody trains with is left alone: its world sizes are too many to list.
    """
    common = math.lcm(*elastic.micro_batches)
    return common <= elastic.largest_batch <= _LARGEST_USUAL_BATCH


def _largest_multiple(limit: int) -> int:
    return max(number for number in _HIGHLY_COMPOSITE if number <= limit)


def _world_sizes(batch: int, elastic: Elastic) -> tuple[int, ...]:
    """Return GPU counts that give each GPU a whole number of some micro-batch."""
    sizes: set[int] = set()
    for micro_batch in elastic.micro_batches:
        if batch % micro_batch == 0:
            sizes.update(_divisors(batch // micro_batch))
    allowed = (n for n in sizes if elastic.fewest_gpus <= n <= elastic.most_gpus)
    return tuple(sorted(allowed))


def _divisors(number: int) -> set[int]:
    small = [n for n in range(1, math.isqrt(number) + 1) if number % n == 0]
    return {*small, *(number // n for n in small)}


def elastic_micro_batch(
    elastic: Elastic, chosen: ElasticBatch, world_size: int
) -> int | None:
    """Return the micro-batch of each GPU.

    None for a world size that DeepSpeed refuses.
    """
    if world_size not in chosen.world_sizes:
        return None
    return _micro_batch(elastic, chosen.batch // world_size)


def _micro_batch(elastic: Elastic, share: int) -> int | None:
    fitting = [
        micro_batch for micro_batch in elastic.micro_batches if share % micro_batch == 0
    ]
    if not fitting:
        return None
    return max(fitting) if elastic.prefers_larger_batch else fitting[0]


class Nodes(Record):
    """What version 0.2 knows of the machines and the model-parallel ranks on them."""

    gpus_per_node: int
    model_parallel_size: int = 1

    @property
    def data_parallel_ranks(self) -> int:
        """Data-parallel ranks of a node."""
        return self.gpus_per_node // self.model_parallel_size


class NodeElasticBatch(Record):
    """The batch for one number of GPUs, the data-parallel sizes, the micro-batch."""

    batch: int
    data_parallel_sizes: tuple[int, ...]
    micro_batch: int | None


def elastic_batch_of_nodes(
    elastic: Elastic, nodes: Nodes, world_size: int
) -> NodeElasticBatch | None:
    """Return what version 0.2 picks for `world_size` GPUs; None where DeepSpeed raises.

    A world size outside the list is not refused: it gets a batch of its own. The
    micro-batch is worked out from data-parallel ranks, as later releases do; earlier
    ones divided by all GPUs.
    """
    ranks = nodes.data_parallel_ranks
    if nodes.gpus_per_node % nodes.model_parallel_size:
        return None
    by_node = elastic._replace(
        largest_batch=elastic.largest_batch // ranks,
        fewest_gpus=elastic.fewest_gpus // nodes.gpus_per_node or 1,
        most_gpus=elastic.most_gpus // nodes.gpus_per_node
        or elastic.largest_batch // ranks // min(elastic.micro_batches),
    )
    chosen = elastic_batch(by_node)
    if chosen is None:
        return None
    batch = chosen.batch * ranks
    sizes = tuple(count * ranks for count in chosen.world_sizes)
    current = world_size // nodes.model_parallel_size
    if current not in sizes:
        batch, sizes = _own_batch(elastic, current), (current,)
    return NodeElasticBatch(batch, sizes, _micro_batch(elastic, batch // current))


def _own_batch(elastic: Elastic, ranks: int) -> int:
    """Return the batch of a number of ranks that no node count of the list has."""
    sizes: Sequence[int] = [
        elastic.largest_batch // (micro_batch * ranks) * micro_batch * ranks
        for micro_batch in elastic.micro_batches
    ]
    return max(sizes) if elastic.prefers_larger_batch else min(sizes)
