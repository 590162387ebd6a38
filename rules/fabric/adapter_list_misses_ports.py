"""A list of adapters that does not give NCCL the ports of the node.

Why it hurts: a name that does not exist is dropped without a word, and the job runs on
fewer rails; a name that begins others brings ports of storage in.

What passes: each entry of NCCL_IB_HCA names active ports of the node; without = no
entry that is a device's own name takes others too; and where the type of the machine is
known, as many ports are taken as it has for training.

Where it does not apply: the variable is not set; a node without RDMA devices.

Source: NVIDIA/nccl, environment variables; issues 1357, 1363, 1412;
oracle-quickstart/oci-hpc (a list with one device twice).

Bad::

    NCCL_IB_HCA=mlx5_1              # takes mlx5_1 and mlx5_10 to mlx5_17

Good::

    NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_3,mlx5_4
"""

from speccheck.rules.fabric._rails import titles
from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.nccl_variables import NameList
from speccheck.validator.evidence.node.rdma import RdmaPort, RdmaPorts
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule


class OfType(Numbers):
    """The training ports of this type of machine."""

    port_count: int | None


@rule(clause="FAB-027", about=("NCCL_IB_HCA",))
def adapter_list_misses_ports(
    environment: Environment, ports: RdmaPorts, wanted: OfType
) -> Verdicts:
    """Judge what the list takes of the ports that there are."""
    variable = environment.find("NCCL_IB_HCA")
    each = ports.each()
    if variable is None or not variable.value or not each:
        return
    names = NameList(variable.value)
    taken = [
        rdma_port
        for rdma_port in each
        if names.takes(rdma_port.device.need(), _number(rdma_port))
    ]
    active = [rdma_port for rdma_port in taken if rdma_port.state.need() == "ACTIVE"]
    if not names.is_excluding:
        idle = [
            f"{name}:{port}" if port else name
            for name, port in names.entries
            if not any(
                names.matches((name, port), rdma_port.device.need(), _number(rdma_port))
                for rdma_port in active
            )
        ]
        if idle:
            yield _fail(
                variable,
                f"{', '.join(idle)}: no active port has this name; there are "
                f"{titles(each)}",
            )
            return
    most = wanted.port_count
    if most is not None and len(active) < most:
        yield _fail(
            variable, f"takes {len(active)} active ports of {most}: {titles(active)}"
        )
        return
    more = _taken_besides(names, active)
    if more and (most is None or len(active) > most):
        yield _fail(variable, f"takes {', '.join(more)} as well: it lacks a leading =")
        return
    if not active:
        yield _fail(variable, "leaves no active port")
        return
    yield passed(at=variable.place, measured=len(active), required=most)


def _number(port: RdmaPort) -> int:
    return port.number.or_else(1)


def _taken_besides(names: NameList, taken: list[RdmaPort]) -> list[str]:
    """Return the devices whose name begins with an entry that is itself a device."""
    if names.is_exact or names.is_excluding:
        return []
    devices = {rdma_port.device.need() for rdma_port in taken}
    listed = {name for name, _ in names.entries}
    own = tuple(listed & devices)
    return sorted(
        device for device in devices - listed if own and device.startswith(own)
    )


def _fail(variable: Variable, text: str) -> Verdict:
    return fail(
        f"NCCL_IB_HCA={variable.value}: {text}",
        at=variable.place,
        measured=variable.value,
        cost="the job runs on fewer rails, or on ports of storage",
        remedy="Set NCCL_IB_HCA to = and the names of all training devices, as "
        "ibv_devices lists them.",
        action="FIX_CONFIG",
    )
