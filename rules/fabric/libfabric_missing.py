"""A plugin for EFA without the library that it calls.

Why it hurts: the plugin does not load, and NCCL goes over TCP sockets without an error.

What passes: libfabric was found.

Where it does not apply: machines without EFA; those without a network plugin of NCCL,
which has a clause of its own.

Source: awslabs/awsome-distributed-ai (fi_info -p efa); aws/aws-ofi-nccl.

Bad::

    libnccl-net.so of aws-ofi-nccl, and no libfabric.so.1

Good::

    /opt/amazon/efa/lib/libfabric.so.1
"""

from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Verdicts, fail, passed, rule

_LIBRARY = "libfabric.so.1"


@rule(clause="FAB-038")
def libfabric_missing(devices: RdmaDevices, driver: Driver) -> Verdicts:
    """Judge the libraries of a machine with EFA and a plugin."""
    if not any(rdma_device.driver.need() == "efa" for rdma_device in devices.each()):
        return
    plugins, libraries = driver.nccl_plugins, driver.libraries
    if not any((text or "").startswith("libnccl-net") for text in plugins.need()):
        return
    if _LIBRARY in libraries.need():
        yield passed(at=libraries)
        return
    yield fail(
        f"{_LIBRARY} was not found; the plugin of NCCL for EFA needs it",
        at=[libraries, plugins],
        measured="not found",
        required=_LIBRARY,
        cost="the plugin does not load: traffic between nodes goes over TCP sockets",
        remedy="Install the EFA software (fi_info -p efa must list devices), or add "
        "the folder of libfabric to LD_LIBRARY_PATH.",
        action="FIX_CONFIG",
    )
