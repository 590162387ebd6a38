"""An NCCL that does not find the module for GPUDirect RDMA of this kernel.

Why it hurts: older releases look for nvidia_peermem in the list of the vendor's RDMA
core alone. With the RDMA core of the kernel it is loaded, works, and is not used: all
messages go through host memory.

What passes: the module is in that list, GPU memory is exported as dma-buf, or NCCL is
of the clause's release or newer.

Where it does not apply: nodes without training ports or without the module; EFA.

Source: NVIDIA/nccl issue 1676; src/transport/net_ib.cc.

Bad::

    modprobe nvidia_peermem     # rdma-core of the kernel, NCCL 2.21.5

Good::

    modprobe nvidia_peermem     # rdma-core of the kernel, NCCL 2.23.4
"""

from speccheck.rules.fabric._rails import EFA, rails
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import release
from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.evidence.node.rdma import RdmaPorts
from speccheck.validator.evidence.plan import Cluster, Run
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_MODULE = "nvidia_peermem"


class Release(Numbers):
    """The first release of NCCL that looks for the module everywhere."""

    looking_release: str


@rule(clause="FAB-034")
def nccl_too_old_for_peer_memory(
    ports: RdmaPorts,
    driver: Driver,
    cluster: Cluster,
    environment: Environment,
    run: Run,
    limit: Release,
) -> Verdicts:
    """Judge the release where the module is loaded and not registered."""
    trained = rails(ports, cluster, environment)
    if not trained or all(rdma_port.link_layer.need() == EFA for rdma_port in trained):
        return
    if _MODULE not in driver.modules.need():
        return
    registered, exported = driver.peer_memory_is_registered, driver.dma_buf_is_exported
    at = [registered, exported]
    if registered.value or exported.value:
        yield passed(at=at)
        return
    registered.need()
    exported.need()
    used = run.nccl_version
    if not release(used.need()):
        reason = f"{used.value!r} is no release"
        raise MissingEvidence(used.name, reason)
    if release(used.need()) >= release(limit.looking_release):
        yield passed(at=used, measured=used.value, required=limit.looking_release)
        return
    yield fail(
        f"NCCL {used.value} does not find {_MODULE} with the RDMA core of this kernel; "
        f"it must be {limit.looking_release} or newer",
        at=[*used.places, registered],
        measured=used.value,
        required=limit.looking_release,
        cost="messages between nodes go through host memory, at half the bandwidth",
        remedy=f"Update NCCL to {limit.looking_release} or newer, or use the open "
        "kernel module of the driver, which exports dma-buf.",
        action="FIX_CONFIG",
    )
