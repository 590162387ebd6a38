"""Offload to host memory that is not pinned.

Why it hurts: copies from pageable memory go through a second buffer and cannot overlap
with compute. Each step waits for them.

What passes: pinned host memory.

Where it does not apply: no offload.

Source: DeepSpeed runtime/zero/offload_config.py; the default of pin_memory changed
between releases.

Bad::

    "offload_optimizer": {"device": "cpu", "pin_memory": false}

Good::

    "offload_optimizer": {"device": "cpu", "pin_memory": true}
"""

from speccheck.validator.evidence.mending import switched
from speccheck.validator.evidence.plan import Memory
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="MEM-009",
    confidence="advisory",
    about=("memory.parameter_offload_device", "memory.optimizer_offload_device"),
)
def offload_without_pinned_memory(memory: Memory, stated: StatedKeys) -> Verdicts:
    """Judge the pinning where anything is offloaded."""
    devices = [
        device
        for device in (memory.optimizer_offload_device, memory.parameter_offload_device)
        if device.or_else("none") != "none"
    ]
    if not devices:
        return
    pinned = memory.offload_pin_memory
    if pinned.need():
        yield passed(at=[pinned, *devices])
        return
    yield fail(
        f"offload to {devices[0].value} uses memory that is not pinned",
        at=[pinned, *devices],
        cost="host copies cannot overlap with compute and pass a second buffer",
        remedy="Set pin_memory to true, if host memory allows it.",
        fix=switched(pinned, stated, on=True),
    )
