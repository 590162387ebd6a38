"""What rules on the access of GPUs to their peers share."""

from collections.abc import Iterator

from speccheck.validator.evidence.node.fault_codes import PEER_STATUSES
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.value import MissingEvidence, Value


def statuses(
    leaf: Value[tuple[int | None, ...]], gpu: Gpu, gpus: Gpus
) -> Iterator[tuple[Gpu, int]]:
    """Yield each peer with the driver's word on the way to it, or unknown."""
    numbers = leaf.need()
    each = gpus.each()
    if len(numbers) != len(each):
        reason = f"it is of {len(numbers)} GPUs; the node has {len(each)}"
        raise MissingEvidence(leaf.name, reason)
    for peer, status in zip(each, numbers, strict=True):
        if peer.path == gpu.path:
            continue
        if status is None:
            raise MissingEvidence(leaf.name, f"not known for {peer.title}")
        yield peer, status


def state_text(result: dict[str, int]) -> str:
    """Return a text such as `GPU 3: it is switched off in the driver`."""
    return "; ".join(
        f"{title}: {PEER_STATUSES.get(status, f'status {status}')}"
        for title, status in result.items()
    )
