"""An interface for the start of the job that is not there, or has no address.

Why it hurts: ranks look for each other over it: the job hangs at its start, or stops.

What passes: each of NCCL_SOCKET_IFNAME, NCCL_OOB_NET_IFNAME, GLOO_SOCKET_IFNAME and
TP_SOCKET_IFNAME that is set leaves an interface that is up and has an address.

Where it does not apply: none of them is set.

Source: NVIDIA/nccl, environment variables; issues 286, 913, 1837; pytorch/gloo (one
whole name).

Bad::

    NCCL_SOCKET_IFNAME=eth0     # the machine has ens5 and docker0

Good::

    NCCL_SOCKET_IFNAME=ens5
"""

from collections.abc import Iterable

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.nccl_variables import NameList
from speccheck.validator.evidence.node.rdma import NetworkInterface, NetworkInterfaces
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule

_LISTS = ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME")
_NAMES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")


@rule(clause="FAB-028", about=(*_LISTS, *_NAMES))
def bootstrap_interface_unusable(
    environment: Environment, interfaces: NetworkInterfaces
) -> Verdicts:
    """Judge what each variable leaves of the interfaces that there are."""
    each = interfaces.each()
    for name in (*_LISTS, *_NAMES):
        variable = environment.find(name)
        if variable is None or not variable.value:
            continue
        taken = _taken(variable, each)
        if any(_is_usable(network_interface) for network_interface in taken):
            yield passed(at=variable.place)
            continue
        text = "; ".join(map(_state, taken)) or (
            f"no interface has this name; there are {_names(each)}"
        )
        yield fail(
            f"{name}={variable.value}: {text}",
            at=variable.place,
            measured=variable.value,
            required="an interface that is up and has an address",
            cost="the job hangs at its start, or stops",
            remedy=f"Set {name} to the interface that ip -br address shows UP with the "
            "address of the cluster network.",
            action="FIX_CONFIG",
        )


def _taken(
    variable: Variable, each: Iterable[NetworkInterface]
) -> list[NetworkInterface]:
    text = variable.value or ""
    if variable.name in _NAMES:
        wanted = {part.strip() for part in text.split(",")}
        return [
            network_interface
            for network_interface in each
            if network_interface.name.need() in wanted
        ]
    names = NameList(text)
    return [
        network_interface
        for network_interface in each
        if names.takes(network_interface.name.need())
    ]


def _is_usable(interface: NetworkInterface) -> bool:
    """Return whether it is up, with an address; some drivers never state it."""
    if interface.state.need() not in {"up", "unknown"}:
        return False
    has = (interface.has_ipv4, interface.has_ipv6)
    if any(value.value for value in has):
        return True
    unknown = next((value for value in has if not value.is_known), None)
    if unknown is not None:
        raise MissingEvidence(unknown.name, unknown.note)
    return False


def _state(interface: NetworkInterface) -> str:
    return f"{interface.title} is {interface.state.value} and has no usable address"


def _names(each: Iterable[NetworkInterface]) -> str:
    return ", ".join(network_interface.title for network_interface in each) or "none"
