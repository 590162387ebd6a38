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
    network = _requested(setting(_NETWORK, environment, taken))
    tuner = _requested(setting(_TUNER, environment, taken))
    if network is not None and "mrc" in network.value:
        network = None
    fabric = cluster.fabric
    is_needed = fabric.value in PLUGIN_ONLY
    if network or is_needed:
        yield from one_verdict(
            communicators,
            lambda communicator: _of_network(communicator, network, fabric),
        )
    if tuner:
        yield from one_verdict(
            communicators, lambda communicator: _of_tuner(communicator, tuner)
        )


def _requested(result: Setting | None) -> Setting | None:
    is_named = result is not None and result.value.strip().lower() not in _NOT_A_LIBRARY
    return result if is_named else None


def _of_network(
    communicator: Communicator, result: Setting | None, fabric: Value[str]
) -> Verdict | None:
    missing = communicator.missing_plugin.value
    is_missing = result is not None and missing is not None and result.value in missing
    if not is_missing and not several_nodes(communicator):
        return None
    if not is_missing and communicator.network_plugin.need() != "internal":
        return passed(
            at=communicator.network_plugin, measured=communicator.network_plugin.value
        )
    wanted = f"{_NETWORK}={result.value}" if result else f"the fabric {fabric.value}"
    text = f"{missing} was not found" if missing else "none was loaded"
    return fail(
        f"{wanted} asks for a network plugin, and {text}: NCCL ran on its own "
        f"network {communicator.network.or_else('code')}",
        at=[
            communicator.missing_plugin,
            communicator.network_plugin,
            *([result.place] if result else fabric.places),
        ],
        measured="internal",
        required=result.value if result else "a plugin",
        cost="NCCL uses its own code instead: over EFA or GPUDirect-TCPX, sockets",
        remedy="Install the plugin (EFA: aws-ofi-nccl) in the image, add its folder to "
        "LD_LIBRARY_PATH, and run again with NCCL_DEBUG=INFO.",
        action="FIX_CONFIG",
    )


def _of_tuner(communicator: Communicator, result: Setting) -> Verdict | None:
    missing = communicator.missing_tuner.value
    at: list[Place | Value[str]] = [
        result.place,
        communicator.missing_tuner,
        communicator.tuner_plugin,
    ]
    if missing is not None and result.value in missing:
        return fail(
            f"{_TUNER}={result.value} asks for a tuner, and {missing} was not found",
            at=at,
            measured="internal",
            required=result.value,
            cost="NCCL chooses by its own model, without a message",
            remedy="Add the folder of the tuner to LD_LIBRARY_PATH, or unset it.",
            action="FIX_CONFIG",
        )
    if communicator.tuner_plugin.value in {None, "internal"}:
        return None
    return passed(at=at, measured=communicator.tuner_plugin.value)
