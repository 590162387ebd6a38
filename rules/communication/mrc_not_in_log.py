"""A run on a multipath fabric whose log names another network.

Why it hurts: NCCL falls back to plain verbs or to sockets without an error: one path
where there are hundreds.

What passes: the network has a name that begins as the clause says, or the RDMA plugin
tells that it enabled MRC on its devices.

Where it does not apply: other fabrics; runs on one node.

Source: microsoft/mrc-nccl-plugin (mrc_v6 to mrc_v11); nccl-rdma-sharp-plugins
src/nccl_doca_verbs.c (NET/IB: MRC enabled on ...).

Bad::

    NCCL INFO Using network IB

Good::

    NCCL INFO Using network mrc_v8
"""

from speccheck.rules.communication._ran import networks, one_verdict, several_nodes
from speccheck.validator.evidence.measurement.collective import (
    IGNORED_MULTIPATH,
    MULTIPATH_OF_VERBS,
    Communicator,
    Communicators,
)
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule


class Named(Numbers):
    """How the network of the plugin begins."""

    net_prefix: str


@rule(clause="MRC-002")
def mrc_not_in_log(communicators: Communicators, name: Named) -> Verdicts:
    """Judge the network of the communicators over several nodes."""
    yield from one_verdict(
        communicators, lambda communicator: _judged(communicator, name.net_prefix)
    )


def _judged(communicator: Communicator, prefix: str) -> Verdict | None:
    if not several_nodes(communicator):
        return None
    used = networks(communicator)
    if not used:
        communicator.network.need()
    is_of_verbs = communicator.mrc_version.value == MULTIPATH_OF_VERBS
    if is_of_verbs or all(network.startswith(prefix) for network in used):
        return passed(
            at=[communicator.network, communicator.mrc_version],
            measured=communicator.network.value,
        )
    loaded = communicator.mrc_version.value
    why = f"; {loaded} was loaded and not taken" if loaded else ""
    if loaded == IGNORED_MULTIPATH:
        why = ", whose RDMA plugin was built without MRC and ignored the setting"
    return fail(
        f"the run used the network {communicator.network.value}{why}; on this fabric "
        f"its name begins with {prefix}, or the RDMA plugin tells that MRC is enabled",
        at=[
            communicator.network,
            communicator.missing_plugin,
            communicator.mrc_version,
        ],
        measured=communicator.network.value,
        required=f"{prefix}*",
        cost="one path instead of all: plain verbs or sockets, without an error",
        remedy="Set NCCL_NET_PLUGIN=mrc, add the folder of libnccl-net-mrc.so to "
        "LD_LIBRARY_PATH, and run again with NCCL_DEBUG=INFO "
        "NCCL_DEBUG_SUBSYS=INIT,NET.",
        action="FIX_CONFIG",
    )
