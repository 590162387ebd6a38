"""Offloaded optimizer states that the host memory cannot hold.

Why it hurts: all ranks of a node offload into the same memory. When their shares exceed
it, the kernel ends the process that touches the next page, minutes after start.

What passes: shares of a node that stay below its host memory by this lower bound: fp32
weights and two moments of Adam, and nothing else. It cannot pass a plan that is near
the limit, which is left open.

Where it does not apply: no offload to host memory; optimizers other than Adam; engines
other than DeepSpeed.

Source: DeepSpeed ops/adam/cpu_adam.py and runtime/zero/stage_1_and_2.py.

Bad::

    # 70 billion parameters, 1 node of 512 GB
    "offload_optimizer": {"device": "cpu"}

Good::

    # 70 billion parameters, 4 nodes of 512 GB
    "offload_optimizer": {"device": "cpu"}
"""

from speccheck.validator.evidence.plan import (
    Cluster,
    Memory,
    Model,
    Optimizer,
    Parallelism,
)
from speccheck.validator.models.state_memory import billions, gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Host(Numbers):
    """What may lie in host memory, and what a parameter takes there at least."""

    host_share: float
    offload_bytes: int


@rule(
    clause="MEM-031",
    confidence="lower_bound",
    about=("memory.optimizer_offload_device",),
)
def offload_exceeds_host_memory(
    memory: Memory,
    model: Model,
    cluster: Cluster,
    parallelism: Parallelism,
    optimizer: Optimizer,
    limit: Host,
) -> Verdicts:
    """Judge the states of one node's ranks against its memory."""
    device = memory.optimizer_offload_device
    if device.value != "cpu" or parallelism.engine.value != "deepspeed":
        return
    if model.adapter.or_else("none") != "none":
        return
    if "adam" not in optimizer.name_of_optimizer.need().lower():
        return
    parameters, nodes = model.parameters.need(), cluster.nodes.need()
    memory_bytes = limit.host_share * cluster.host_memory_bytes.need()
    least = parameters * limit.offload_bytes / max(nodes, 1)
    at = [device, model.parameters, cluster.nodes, cluster.host_memory_bytes]
    if least > memory_bytes:
        yield fail(
            f"optimizer states of {billions(parameters)} parameters take at least "
            f"{limit.offload_bytes} bytes each: {gigabytes(least)} on each of {nodes} "
            f"nodes with {gigabytes(memory_bytes)} of host memory",
            at=at,
            measured=least,
            required=memory_bytes,
            cost="the kernel ends a process, minutes after start",
        )
    elif 2 * least <= memory_bytes:
        yield passed(at=at, measured=least, required=memory_bytes)
    else:
        yield unknown(
            f"offloaded states take at least {gigabytes(least)} of "
            f"{gigabytes(memory_bytes)}; buffers and the loader take more",
            missing=("memory.offload_pin_memory",),
            at=at,
        )
