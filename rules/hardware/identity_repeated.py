"""Two GPUs with one UUID.

Why it hurts: a certificate of the node, and a comparison with the next snapshot, name
GPUs by it. One UUID on two GPUs means a snapshot that was put together by hand.

What passes: a UUID of its own for each GPU.

Where it does not apply: a node with one GPU.

Source: awslabs/awsome-distributed-ai.

Bad::

    "gpus": [{"uuid": "GPU-1"}, {"uuid": "GPU-1"}]

Good::

    "gpus": [{"uuid": "GPU-1"}, {"uuid": "GPU-2"}]
"""

from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-036")
def identity_repeated(gpus: Gpus) -> Verdicts:
    """Judge the UUIDs of all GPUs."""
    each = gpus.each()
    if len(each) <= 1:
        return
    first: dict[str, str] = {}
    for gpu in each:
        uuid = gpu.uuid.need()
        if uuid in first:
            yield fail(
                f"{gpu.title} has the UUID of {first[uuid]}; each must have its own",
                at=gpu.uuid,
                action="MONITOR",
            )
        first.setdefault(uuid, gpu.title)
    if len(first) == len(each):
        yield passed(at=[gpu.uuid for gpu in each])
