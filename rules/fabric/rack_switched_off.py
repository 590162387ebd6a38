"""NVLink between the nodes of a rack, switched off by a variable.

Why it hurts: the GPUs of the rack are one NVLink domain, and NCCL sends what goes from
tray to tray over the network. It shows in no log but NCCL's own.

What passes: NCCL_MNNVL_ENABLE and NCCL_CUMEM_ENABLE set to something else than 0, on
GPUs that are part of a fabric of several nodes.

Where it does not apply: neither variable is set; nodes whose NVLinks end within them.

Source: NVIDIA/nccl, environment variables, and src/mnnvl.cc (it needs cuMem);
coreweave/nccl-tests.

Bad::

    NCCL_MNNVL_ENABLE=0      # on a GB200 of an NVL72

Good::

    unset NCCL_MNNVL_ENABLE
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.node.fault_codes import is_one_node_fabric
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NAMES = {
    "NCCL_MNNVL_ENABLE": "switches it off",
    "NCCL_CUMEM_ENABLE": "switches off the memory that it needs",
}


@rule(clause="HW-119", about=tuple(_NAMES))
def rack_switched_off(environment: Environment, gpus: Gpus) -> Verdicts:
    """Judge each variable that is set, on nodes of a larger fabric."""
    for name, effect in _NAMES.items():
        variable = environment.find(name)
        if variable is None or not variable.value:
            continue
        value = integer_seen(variable.value)
        if not _is_joined(gpus):
            continue
        if value == 0:
            yield fail(
                f"{name}={variable.value} {effect}: NVLink between the nodes of the "
                "rack, which these GPUs are part of",
                at=variable.place,
                measured=variable.value,
                required="not set",
                cost="traffic between the nodes of the rack takes the network",
                remedy=f"Unset {name}.",
                action="FIX_CONFIG",
            )
        elif value is not None:
            yield passed(at=variable.place, measured=variable.value)


def _is_joined(gpus: Gpus) -> bool:
    """Return whether a GPU has registered with a fabric of several nodes."""
    clusters = [gpu.fabric_cluster for gpu in gpus.shown]
    if any(
        cluster.value and not is_one_node_fabric(cluster.value) for cluster in clusters
    ):
        return True
    for gpu in gpus.each():
        if gpu.fabric_cluster.status != "not_supported":
            gpu.fabric_cluster.need()
    return False
