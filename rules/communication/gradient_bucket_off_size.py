"""A gradient bucket too small for the network, or too large for the GPU.

Why it hurts: each bucket is a collective. A small one pays the latency of the whole
ring or tree for few bytes; a large one is full late, so that its reduction starts when
backward is over, and it takes memory from activations.

What passes: at least the size of the clause, which grows with the job, and at most the
share of memory.

Where it does not apply: no bucket size is set. FSDP exchanges whole layers.

Source: PyTorch DistributedDataParallel (bucket_cap_mb, 25 MiB); DeepSpeed
runtime/zero/config.py (reduce_bucket_size); NVIDIA/Megatron-LM
distributed_data_parallel.py (at least 40 million elements, a million for each rank).

Bad::

    --ddp-bucket-size 1000000     # on 1,024 GPUs

Good::

    --ddp-bucket-size 128000000
"""

from speccheck.validator.evidence.plan import Cluster, Communication
from speccheck.validator.models.traffic import MEBIBYTE
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class BucketSize(Numbers):
    """The smallest bucket in MiB, and the largest share of memory."""

    bucket_min: float
    bucket_max_share: float


@rule(
    clause="COMM-007",
    confidence="advisory",
    about=("communication.gradient_bucket_bytes",),
)
def gradient_bucket_off_size(
    communication: Communication, cluster: Cluster, limit: BucketSize
) -> Verdicts:
    """Judge the stated size from below, then against memory."""
    bucket = communication.gradient_bucket_bytes
    size = bucket.need()
    mebibytes = size / MEBIBYTE
    if mebibytes < limit.bucket_min:
        yield fail(
            f"gradient buckets of {mebibytes:,.1f} MiB; at this size of job at least "
            f"{limit.bucket_min:,.0f} MiB should fill one",
            at=bucket,
            measured=mebibytes,
            required=limit.bucket_min,
            cost="each bucket pays the latency of a collective over all ranks",
            remedy=f"Raise the bucket to {limit.bucket_min:,.0f} MiB or more.",
        )
        return
    memory = cluster.accelerator_memory_bytes
    share = size / memory.need()
    at = [bucket, memory]
    if share <= limit.bucket_max_share:
        yield passed(at=at, measured=share, required=limit.bucket_max_share)
        return
    yield fail(
        f"gradient buckets of {mebibytes:,.0f} MiB take {share:.0%} of the GPU's "
        f"memory; at most {limit.bucket_max_share:.0%} should",
        at=at,
        measured=share,
        required=limit.bucket_max_share,
        cost="the first reduction waits for the bucket to fill",
    )
