"""What DeepSpeed's own estimators print, so that their figures can be compared.

Source: deepspeedai/DeepSpeed runtime/zero/stage_1_and_2.py and stage3.py
(estimate_zero2_model_states_mem_needs, estimate_zero3_model_states_mem_needs). They
count model states alone, and the page that documents them still shows the second stage
by an older formula.
"""

from speccheck.validator.evidence.record import Record

# Host buffers beyond the states themselves.
_HOST_MARGIN = 1.5


class DeviceAndHost(Record):
    """Bytes on one GPU and on one node."""

    device: float
    host: float


def zero2_bytes(
    parameters: float, gpus: int, *, offloads_optimizer: bool = False
) -> float:
    """Return the bytes of one GPU at stage 2: 2 whole, 18 cut over the GPUs."""
    return 2 * parameters + (0 if offloads_optimizer else 18 * parameters / gpus)


def zero2_documented_bytes(parameters: float, gpus: int) -> float:
    """Return the same by the documentation's older formula: 4 whole, 16 cut."""
    return 4 * parameters + 16 * parameters / gpus


def zero3_bytes(
    parameters: float,
    largest_layer: float,
    *,
    gpus_per_node: int,
    nodes: int = 1,
    offloads_weights: bool = False,
    offloads_optimizer: bool = False,
    initializes_sharded: bool = True,
) -> DeviceAndHost:
    """Return the bytes of one GPU and one node at stage 3.

    Without sharded initialization each rank builds the whole model on the host first.
    """
    gpus, module = gpus_per_node * nodes, 4 * largest_layer
    whole_model = 4 * parameters * gpus_per_node * _HOST_MARGIN
    if not offloads_optimizer:
        host = module * gpus_per_node * _HOST_MARGIN
        host = host if initializes_sharded else whole_model
        return DeviceAndHost(module + 18 * parameters / gpus, host)
    each = 18 if offloads_weights else 16
    host = each * parameters / nodes * _HOST_MARGIN
    if not initializes_sharded:
        host = max(whole_model, host)
    device = module if offloads_weights else module + 2 * parameters / gpus
    return DeviceAndHost(device, host)
