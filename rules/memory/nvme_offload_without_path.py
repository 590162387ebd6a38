"""NVMe offload without a directory to offload to.

Why it hurts: the swapper builds its files under nvme_path. Without one the run dies
while the optimizer is built, minutes after start.

What passes: an nvme_path beside the device nvme.

Where it does not apply: no offload, or offload to host memory.

Source: DeepSpeed runtime/zero/offload_config.py and runtime/swap_tensor.

Bad::

    "offload_optimizer": {"device": "nvme"}

Good::

    "offload_optimizer": {"device": "nvme", "nvme_path": "/local_nvme"}
"""

from speccheck.validator.evidence.plan import Memory
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="CONF-006",
    about=("memory.parameter_offload_device", "memory.optimizer_offload_device"),
)
def nvme_offload_without_path(memory: Memory) -> Verdicts:
    """Judge each of the two offloads that go to NVMe."""
    pairs = (
        (
            "optimizer state is",
            memory.optimizer_offload_device,
            memory.optimizer_offload_path,
        ),
        (
            "parameters are",
            memory.parameter_offload_device,
            memory.parameter_offload_path,
        ),
    )
    for what, device, path in pairs:
        if device.value != "nvme":
            continue
        if path.is_known:
            yield passed(at=[device, path])
            continue
        if path.places:
            path.need()
        yield fail(
            f"{what} offloaded to NVMe, and no path is given",
            at=device,
            cost="the swapper fails while it builds its path, minutes after start",
            remedy="Set nvme_path to a directory on a local NVMe drive.",
        )
