"""In-network reduction that is asked for on a node without its plugin.

Why it hurts: NCCL itself has none; it goes on without it and says so only in its log,
and the switches that were paid for reduce nothing.

What passes: a network plugin and the library of SHARP were found.

Where it does not apply: NCCL_COLLNET_ENABLE is not set, or 0. A plugin whose library
was not found, as it may bring it along, is unknown. Whether the aggregation manager
answers, no file of the node tells.

Source: NVIDIA/nccl, NCCL_COLLNET_ENABLE; coreweave/nccl-tests.

Bad::

    NCCL_COLLNET_ENABLE=1      # no libnccl-net*.so on the node

Good::

    NCCL_COLLNET_ENABLE=1      # libnccl-net.so of nccl-rdma-sharp-plugins, libsharp
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_NAME = "NCCL_COLLNET_ENABLE"


@rule(clause="FAB-039", about=(_NAME,))
def in_network_reduction_without_plugin(
    environment: Environment, driver: Driver
) -> Verdicts:
    """Judge what is there where reduction is requested."""
    variable = environment.find(_NAME)
    if variable is None or integer_seen(variable.value or "") in {None, 0}:
        return
    plugins, libraries = driver.nccl_plugins, driver.libraries
    at = [variable.place, *plugins.places]
    if not any((text or "").startswith("libnccl-net") for text in plugins.need()):
        yield fail(
            f"{_NAME}={variable.value} asks for reduction in the network, and no "
            "network plugin of NCCL was found that could",
            at=at,
            measured="no plugin",
            required="libnccl-net.so of nccl-rdma-sharp-plugins",
            cost="NCCL goes on without it, and says so only in its log",
            remedy="Install nccl-rdma-sharp-plugins (HPC-X) and add its folder to "
            f"LD_LIBRARY_PATH, or unset {_NAME}.",
            action="FIX_CONFIG",
        )
        return
    if any((text or "").startswith("libsharp") for text in libraries.need()):
        yield passed(at=[*at, *libraries.places])
        return
    yield unknown(
        "a network plugin was found and no library of SHARP: whether the plugin brings "
        "it is not known",
        missing=["libsharp.so"],
        at=at,
    )
