"""A plugin of NCCL that is asked for or needed, and that the run did not use.

Why it hurts: NCCL uses its own code instead and goes on: over EFA or GPUDirect-TCPX
that means sockets.

What passes: the network of the log is that of a plugin.

Where it does not apply: no plugin is asked for and the fabric needs none; runs within
one node, unless the library was looked for and not found. The multipath plugin is
MRC-002.

Source: NVIDIA/nccl src/plugin/net.cc, plugin_open.cc; aws/aws-ofi-nccl.

Bad::

    NCCL INFO NET/Plugin: Could not find: libnccl-net-aws-ofi.so
    NCCL INFO Using network Socket

Good::

    NCCL INFO Using network AWS Libfabric
"""

from speccheck.rules.communication._ran import (
    PLUGIN_ONLY,
    Setting,
    one_verdict,
    setting,
    several_nodes,
)
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.measurement.collective import (
    Communicator,
    Communicators,
    VariablesInForce,
)
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule

_NETWORK, _TUNER = "NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN"
_NOT_A_LIBRARY = {"", "none", "static_plugin"}


@rule(clause="FAB-029")
def plugin_not_in_run(
    communicators: Communicators,
    taken: VariablesInForce,
    environment: Environment,
    cluster: Cluster,
) -> Verdicts:
    """Judge the plugin of the network, and that of the tuner."""
    network = _asked(setting(_NETWORK, environment, taken))
    tuner = _asked(setting(_TUNER, environment, taken))
    if network is not None and "mrc" in network.value:
        network = None
    fabric = cluster.fabric
    is_needed = fabric.value in PLUGIN_ONLY
    if network or is_needed:
        yield from one_verdict(
            communicators, lambda one: _of_network(one, network, fabric)
        )
    if tuner:
        yield from one_verdict(communicators, lambda one: _of_tuner(one, tuner))


def _asked(found: Setting | None) -> Setting | None:
    is_named = found is not None and found.value.strip().lower() not in _NOT_A_LIBRARY
    return found if is_named else None


def _of_network(
    one: Communicator, asked: Setting | None, fabric: Value[str]
) -> Verdict | None:
    missing = one.missing_plugin.value
    is_missing = asked is not None and missing is not None and asked.value in missing
    if not is_missing and not several_nodes(one):
        return None
    if not is_missing and one.network_plugin.need() != "internal":
        return passed(at=one.network_plugin, measured=one.network_plugin.value)
    wanted = f"{_NETWORK}={asked.value}" if asked else f"the fabric {fabric.value}"
    found = f"{missing} was not found" if missing else "none was loaded"
    return fail(
        f"{wanted} asks for a network plugin, and {found}: NCCL ran on its own "
        f"network {one.network.or_else('code')}",
        at=[
            one.missing_plugin,
            one.network_plugin,
            *([asked.place] if asked else fabric.places),
        ],
        measured="internal",
        required=asked.value if asked else "a plugin",
        cost="NCCL uses its own code instead: over EFA or GPUDirect-TCPX, sockets",
        remedy="Install the plugin (EFA: aws-ofi-nccl) in the image, add its folder to "
        "LD_LIBRARY_PATH, and run again with NCCL_DEBUG=INFO.",
        action="FIX_CONFIG",
    )


def _of_tuner(one: Communicator, asked: Setting) -> Verdict | None:
    missing = one.missing_tuner.value
    at: list[Place | Value[str]] = [asked.place, one.missing_tuner, one.tuner_plugin]
    if missing is not None and asked.value in missing:
        return fail(
            f"{_TUNER}={asked.value} asks for a tuner, and {missing} was not found",
            at=at,
            measured="internal",
            required=asked.value,
            cost="NCCL chooses by its own model, without a message",
            remedy="Add the folder of the tuner to LD_LIBRARY_PATH, or unset it.",
            action="FIX_CONFIG",
        )
    if one.tuner_plugin.value in {None, "internal"}:
        return None
    return passed(at=at, measured=one.tuner_plugin.value)
