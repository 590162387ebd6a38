"""A node whose adapters cannot read and write GPU memory.

Why it hurts: every message between nodes goes through host memory: half the bandwidth
or less, and the memory bus of the processors is loaded.

What passes: the module nvidia_peermem is loaded; or the open kernel module of the
driver runs on a kernel that exports GPU memory as dma-buf. NCCL's variables do not
switch both off.

Where it does not apply: nodes without GPU or without training ports; EFA, whose own
driver does it.

Source: NVIDIA/nccl issues 1412, 1537, 1939; NVIDIA/nccl documentation, troubleshooting.

Bad::

    lsmod | grep peermem    # nothing, and the driver is the proprietary one

Good::

    modprobe nvidia_peermem
"""

from speccheck.rules.fabric._rails import EFA, rails
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Driver, Host
from speccheck.validator.evidence.node.rdma import RdmaPorts
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_MODULES = ("nvidia_peermem", "nv_peer_mem")


class Kernel(Numbers):
    """The kernel that first exports memory of devices."""

    kernel_min: str


@rule(clause="FAB-005")
def gpudirect_rdma_missing(
    ports: RdmaPorts,
    gpus: Gpus,
    driver: Driver,
    host: Host,
    cluster: Cluster,
    environment: Environment,
    limit: Kernel,
) -> Verdicts:
    """Judge the two ways by which adapters reach GPU memory."""
    trained = rails(ports, cluster, environment)
    if not gpus.each() or all(
        rdma_port.link_layer.value == EFA for rdma_port in trained
    ):
        return
    level = environment.find("NCCL_NET_GDR_LEVEL")
    if level is not None and level.value in {"LOC", "0"}:
        yield fail(
            f"NCCL_NET_GDR_LEVEL={level.value} switches GPUDirect RDMA off",
            at=level.place,
            measured=level.value,
            required="not set",
            cost="every message between nodes goes through host memory",
            remedy="Unset NCCL_NET_GDR_LEVEL.",
            action="FIX_CONFIG",
        )
        return
    modules = driver.modules
    loaded = set(modules.need())
    if not loaded.isdisjoint(_MODULES):
        yield passed(at=modules)
        return
    exported = driver.dma_buf_is_exported
    allowed = environment.find("NCCL_DMABUF_ENABLE")
    is_off = allowed is not None and integer_seen(allowed.value or "") == 0
    is_closed = driver.kernel_module_is_open.value is False
    if not is_off and not is_closed and exported.need():
        yield passed(at=[exported, modules])
        return
    yield fail(
        f"nvidia_peermem is not loaded, and {_why(driver, host, is_off=is_off)}: "
        "no way to GPU memory is left",
        at=[modules, driver.kernel_module_is_open if is_closed else exported],
        cost="every message between nodes goes through host memory",
        remedy="modprobe nvidia_peermem, or use dma-buf: the open kernel module of the "
        f"driver on kernel {limit.kernel_min} or newer, and NCCL_DMABUF_ENABLE not 0.",
        action="FIX_CONFIG",
    )


def _why(driver: Driver, host: Host, *, is_off: bool) -> str:
    """Return why dma-buf is no way."""
    if is_off:
        return "NCCL_DMABUF_ENABLE=0 switches dma-buf off"
    kind = "proprietary " * (driver.kernel_module_is_open.value is False)
    release = host.kernel_release.or_else("of an unknown release")
    return f"the {kind}driver on kernel {release} exports no dma-buf"
