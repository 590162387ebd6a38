"""A job on a multipath fabric whose plugin is not chosen, or not there.

Why it hurts: NCCL falls back to plain verbs or to sockets without an error.

What passes: NCCL_NET_PLUGIN names the MRC plugin, and its library was found.

Where it does not apply: other fabrics.

Source: microsoft/mrc-nccl-plugin README.

Bad::

    NCCL_NET_PLUGIN=mrc      # no libnccl-net-mrc.so on the node

Good::

    NCCL_NET_PLUGIN=mrc
    LD_LIBRARY_PATH=/opt/mrc/lib
"""

from speccheck.rules.fabric._plugins import has_library, need_folders_of_job
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.host import Driver, NodeVariables
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MRC-001")
def mrc_plugin_not_found(
    environment: Environment, variables: NodeVariables, driver: Driver
) -> Verdicts:
    """Judge the choice of the plugin and its library."""
    variable = environment.find("NCCL_NET_PLUGIN")
    if variable is None:
        variables.each()
    if variable is None or "mrc" not in (variable.value or ""):
        chosen = variable.value if variable else "not set"
        yield fail(
            f"NCCL_NET_PLUGIN is {chosen}; on this fabric it must be mrc",
            at=variable.place if variable else (),
            measured=chosen,
            required="mrc",
            cost="NCCL uses plain verbs or sockets, without an error",
            remedy="Set NCCL_NET_PLUGIN=mrc.",
            action="FIX_CONFIG",
        )
        return
    value = driver.nccl_plugins
    if has_library(variable.value or "", "net", value.need()):
        yield passed(at=[variable.place, value])
        return
    need_folders_of_job(environment, driver)
    yield fail(
        f"NCCL_NET_PLUGIN={variable.value}: no such plugin was found; there are "
        f"{', '.join(text for text in value.need() if text) or 'none'}",
        at=[variable.place, *value.places],
        measured=variable.value,
        required="libnccl-net-mrc.so",
        cost="NCCL uses plain verbs or sockets, without an error",
        remedy="Add the folder of libnccl-net-mrc.so to LD_LIBRARY_PATH.",
        action="FIX_CONFIG",
    )
