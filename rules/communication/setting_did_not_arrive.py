"""A variable of the files that the ranks of a run did not have.

Why it hurts: ssh, mpirun and containers hand on only what they are told to. The line
stands in the script, and NCCL looks for the interface or the adapters by itself.

What passes: the log shows the variable.

Where it does not apply: variables that NCCL does not write at each start; logs without
any variable, where ENV was not among NCCL_DEBUG_SUBSYS.

Source: NVIDIA/nccl src/misc/socket.cc and src/transport/net_ib, which write these
two whenever they look for interfaces and adapters.

Bad::

    job.sh: export NCCL_SOCKET_IFNAME=eth0
    mpirun -np 16 ./train          # without -x NCCL_SOCKET_IFNAME

Good::

    mpirun -np 16 -x NCCL_SOCKET_IFNAME ./train
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.measurement.collective import (
    Communicators,
    VariablesInForce,
)
from speccheck.validator.rule import Verdicts, fail, passed, rule

_INTERFACE, _ADAPTERS = "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA"
_OWN_VERBS = "IB"


@rule(clause="COMM-081", confidence="advisory", about=(_INTERFACE, _ADAPTERS))
def setting_did_not_arrive(
    taken: VariablesInForce, communicators: Communicators, environment: Environment
) -> Verdicts:
    """Judge the two variables that NCCL always writes."""
    shown = {
        variable_in_force.name.value: variable_in_force
        for variable_in_force in taken.shown
        if variable_in_force.set_by.is_known
    }
    if not shown:
        return
    used = {communicator.network.value for communicator in communicators.shown}
    names = [_INTERFACE, *([_ADAPTERS] if used == {_OWN_VERBS} else [])]
    for name in names:
        variable = environment.find(name)
        if variable is None or not variable.value:
            continue
        if name in shown:
            yield passed(at=[variable.place, *shown[name].name.places])
            continue
        yield fail(
            f"the files set {name}={variable.value}; among the variables that NCCL "
            f"wrote ({len(shown)}) it is not",
            at=[variable.place, *next(iter(shown.values())).name.places],
            measured="not set",
            required=variable.value,
            cost="NCCL takes interfaces or adapters of its own choice",
            remedy=f"Hand {name} on to the ranks: mpirun -x {name}, srun --export=ALL, "
            "docker run -e.",
        )
