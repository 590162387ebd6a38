"""An EFA device that did not answer commands of its driver.

Why it hurts: connections can no longer be made or closed over it: the next job hangs,
or stops when it registers memory.

What passes: the device has answered every command since it was reset.

Where it does not apply: other adapters; drivers without this counter.

Source: NVIDIA/NVSentinel, monitor of network adapters (EFA).

Bad::

    /sys/class/infiniband/rdmap79s0/ports/1/hw_counters/no_completion_cmds    # 12

Good::

    /sys/class/infiniband/rdmap79s0/ports/1/hw_counters/no_completion_cmds    # 0
"""

from speccheck.validator.evidence.node.rdma import RdmaPort
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Commands(Numbers):
    """How many commands may have had no answer."""

    unanswered_max: int


@rule(clause="FAB-037")
def efa_commands_unanswered(port: RdmaPort, limit: Commands) -> Verdicts:
    """Judge the counter of one device."""
    value = port.efa_commands_unanswered
    if value.status in {"absent", "not_supported"}:
        return
    if value.need() <= limit.unanswered_max:
        yield passed(at=value, measured=value.value, required=limit.unanswered_max)
        return
    yield fail(
        f"{port.title} left {value.value:,} commands unanswered since it was reset; at "
        f"most {limit.unanswered_max} should it be",
        at=value,
        measured=value.value,
        required=limit.unanswered_max,
        cost="connections cannot be made over it",
        remedy="Stop and start the instance, which gives it another host; tell AWS "
        "when it comes again.",
        action="ISOLATE",
    )
