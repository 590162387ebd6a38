"""Communication buckets of ZeRO that take a large share of the GPU.

Why it hurts: with overlap, stages 1 and 2 hold several copies of both buckets. Buckets
of a billion elements cost more memory than they save time.

What passes: buckets whose copies stay below the share.

Where it does not apply: stages 0 and 3, other engines, buckets that are not set.

Source: Hugging Face documentation of DeepSpeed: with overlap_comm, 4.5 times the two
bucket sizes; 5e8 elements of 2 bytes take 9 GB.

Bad::

    "overlap_comm": true, "reduce_bucket_size": 2e9, "allgather_bucket_size": 2e9

Good::

    "overlap_comm": true, "reduce_bucket_size": 5e8, "allgather_bucket_size": 5e8
"""

from speccheck.validator.evidence.plan import Cluster, Communication, Parallelism
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_STAGES = (1, 2)


class BucketShare(Numbers):
    """What buckets may take, and how many copies overlap keeps."""

    bucket_share: float
    copies_with_overlap: float


@rule(
    clause="MEM-022",
    confidence="advisory",
    about=(
        "communication.gradient_bucket_bytes",
        "communication.parameter_bucket_bytes",
    ),
)
def communication_buckets_too_large(
    communication: Communication,
    parallelism: Parallelism,
    cluster: Cluster,
    limit: BucketShare,
) -> Verdicts:
    """Judge both buckets and their copies against the GPU."""
    if parallelism.engine.value != "deepspeed":
        return
    if parallelism.sharding_stage.need() not in _STAGES:
        return
    buckets = [
        value
        for value in (
            communication.gradient_bucket_bytes,
            communication.parameter_bucket_bytes,
        )
        if value.is_known
    ]
    capacity = cluster.accelerator_memory_bytes.need()
    overlap = communication.overlap_gradient_reduce
    copies = limit.copies_with_overlap if overlap.need() else 1
    stated = sum(bucket.need() for bucket in buckets)
    taken, allowed = stated * copies, limit.bucket_share * capacity
    at = [*buckets, overlap]
    if taken <= allowed:
        yield passed(at=at, measured=taken, required=allowed)
        return
    yield fail(
        f"buckets of {gigabytes(stated)} take {gigabytes(taken)} ({copies:g} copies "
        f"with this overlap); {limit.bucket_share:.0%} of {gigabytes(capacity)} is "
        f"{gigabytes(allowed)}",
        at=at,
        measured=taken,
        required=allowed,
        cost="memory that micro-batches or layers could use",
    )
