"""A job on a multipath fabric whose plugin is not chosen, or not there.

Why it hurts: NCCL falls back to plain verbs or to sockets without an error.

What passes: NCCL_NET_PLUGIN names the MRC plugin, and its library was found. Of the
other two ways, MRC inside the RDMA plugin and the shim under libibverbs, files do not
prove that they work: they stay open.

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
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule, unknown


@rule(clause="MRC-001")
def mrc_plugin_not_found(
    environment: Environment, variables: NodeVariables, driver: Driver
) -> Verdicts:
    """Judge the choice of the plugin and its library."""
    variable = environment.find("NCCL_NET_PLUGIN")
    if variable is None:
        variables.each()
    if variable is None or "mrc" not in (variable.value or ""):
        other = _other_way(environment)
        if other is not None:
            yield other
            return
        chosen = variable.value if variable else "not set"
        yield fail(
            f"NCCL_NET_PLUGIN is {chosen}, and no other way to MRC is chosen",
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


def _other_way(environment: Environment) -> Verdict | None:
    """Return what is to be said of MRC without the plugin of its own; None for none."""
    for name in _SWITCHES:
        switch = environment.find(name)
        if switch is not None and switch.value == "1":
            return unknown(
                f"{name}=1 asks the RDMA plugin for MRC; whether it was built so, "
                f"its log tells (NET/IB: MRC enabled on ...)",
                missing=("log.nccl",),
                at=switch.place,
            )
    library = environment.find(_SHIM)
    if library is None:
        return None
    loaders = [environment.find(name) for name in _LOADERS]
    loader = next((item for item in loaders if item is not None and item.value), None)
    if loader is None:
        return fail(
            f"{_SHIM} is set for the shim under libibverbs, and nothing loads the shim",
            at=library.place,
            measured="not loaded",
            required="LD_PRELOAD or NCCL_IBVERBS_LIB",
            cost="NCCL uses plain verbs, without an error",
            remedy="Set NCCL_IBVERBS_LIB to the libibverbs.so of the shim.",
            action="FIX_CONFIG",
        )
    return unknown(
        f"{loader.name} loads the shim under libibverbs; no line of a log proves it",
        missing=("log.nccl",),
        at=[loader.place, library.place],
    )


# nccl-rdma-sharp-plugins src/mrc.c, src/nccl_doca_verbs.c; mrc-verbs-shim-lib README.md
_SWITCHES = ("NCCL_IB_MRC", "NCCL_USE_LIBMRC")
_SHIM = "VMRC_LIBMRC_SO"
_LOADERS = ("LD_PRELOAD", "NCCL_IBVERBS_LIB", "MSCCLPP_IBV_SO")  # the last: MSCCL++
