"""A network plugin that NCCL is told to load, or needs, and that is not there.

Why it hurts: NCCL uses its own code instead without a message: over EFA that means
sockets.

What passes: NCCL_NET_PLUGIN, NCCL_TUNER_PLUGIN and NCCL_PROFILER_PLUGIN name libraries
that were found; a machine with EFA has a network plugin.

Where it does not apply: none is set and the machine has no EFA; plugins that are linked
into the program (STATIC_PLUGIN).

Source: NVIDIA/nccl, environment variables (plugin libraries); aws/aws-ofi-nccl.

Bad::

    NCCL_NET_PLUGIN=aws-ofi       # no libnccl-net-aws-ofi.so in LD_LIBRARY_PATH

Good::

    ls /opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so
"""

from speccheck.rules.fabric._plugins import has_library, need_folders_of_job
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.host import Driver, NodeVariables
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Verdicts, fail, passed, rule

_VARIABLES = {
    "NCCL_NET_PLUGIN": "net",
    "NCCL_TUNER_PLUGIN": "tuner",
    "NCCL_PROFILER_PLUGIN": "profiler",
}
_NOT_A_LIBRARY = {"none", "static_plugin"}


@rule(clause="FAB-029")
def plugin_not_found(
    environment: Environment,
    variables: NodeVariables,
    driver: Driver,
    devices: RdmaDevices,
) -> Verdicts:
    """Judge the plugins that are named, and the one that EFA needs."""
    value = driver.nccl_plugins
    for name, part in _VARIABLES.items():
        variable = environment.find(name)
        if variable is None or not variable.value:
            continue
        if variable.value.strip().lower() in _NOT_A_LIBRARY:
            continue
        if has_library(variable.value, part, value.need()):
            yield passed(at=[variable.place, value])
            continue
        need_folders_of_job(environment, driver)
        yield fail(
            f"{name}={variable.value}: no such plugin was found; there are "
            f"{', '.join(text for text in value.need() if text) or 'none'}",
            at=[variable.place, *value.places],
            measured=variable.value,
            cost="NCCL uses its own code instead, without a message",
            remedy="Add the folder of the plugin to LD_LIBRARY_PATH, or unset it.",
            action="FIX_CONFIG",
        )
    chosen = environment.find("NCCL_NET_PLUGIN")
    is_off = chosen is not None and (chosen.value or "").strip().lower() == "none"
    if not any(rdma_device.driver.value == "efa" for rdma_device in devices.each()):
        return
    variables.each()
    if is_off or not any("net" in (text or "") for text in value.need()):
        if not is_off:
            need_folders_of_job(environment, driver)
        yield fail(
            "the machine has EFA, and NCCL has no network plugin for it",
            at=[*([chosen.place] if chosen and is_off else []), *value.places],
            required="libnccl-net-ofi.so or libnccl-net.so",
            cost="traffic between nodes goes over TCP sockets",
            remedy="Install aws-ofi-nccl; add its folder to LD_LIBRARY_PATH; unset "
            "NCCL_NET_PLUGIN=none.",
            action="FIX_CONFIG",
        )
    elif chosen is None:
        yield passed(at=value)
