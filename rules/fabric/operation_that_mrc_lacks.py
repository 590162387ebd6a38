"""A library that reads or sends over RDMA, on a fabric whose transport only writes.

Why it hurts: MRC carries RDMA writes, plain and with immediate data. A read, a send or
an atomic operation over such a connection fails at run time.

What passes: NVSHMEM and SHARP, which public sources name, are both switched off by name
on a node. Files alone pass nothing.

Where it does not apply: other fabrics; jobs whose variables switch none of them on.

Source: opencomputeproject/OCP-Multipath-Reliable-Connection README; NVSHMEM's IB
transports and SHARP use reads, atomics or sends; microsoft/mrc-verbs-shim-lib README.

Bad::

    NVSHMEM_IB_ENABLE_IBGDA=1      # on a fabric of MRC

Good::

    NVSHMEM_REMOTE_TRANSPORT=none
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.rule import Verdicts, fail, passed, rule

_ON = frozenset({"1", "y", "yes", "true"})
# Variables, the values that switch a library on, the operations that it then needs,
# and what to do instead.
_USERS = {
    "NVSHMEM_IB_ENABLE_IBGDA": (_ON, "reads and atomics", "Delete it"),
    "NCCL_COLLNET_ENABLE": (_ON, "sends", "Delete it"),
    "NVSHMEM_REMOTE_TRANSPORT": (
        frozenset({"ibrc", "ibgda", "ibdevx", "ucx"}),
        "reads and atomics",
        "Set it to none",
    ),
}
# What the two libraries are switched off by.
_SWITCHES = ("NVSHMEM_REMOTE_TRANSPORT", "NCCL_COLLNET_ENABLE")


@rule(clause="MRC-011", confidence="advisory", about=tuple(_USERS))
def operation_that_mrc_lacks(environment: Environment) -> Verdicts:
    """Judge each variable that switches such a library on."""
    is_clean = True
    for name, (values, operations, remedy) in _USERS.items():
        variable = environment.find(name)
        if variable is None or (variable.value or "").lower() not in values:
            continue
        is_clean = False
        yield fail(
            f"{name}={variable.value} needs {operations}; "
            f"connections of MRC carry writes alone",
            at=variable.place,
            measured=variable.value,
            required="off, or over a device without MRC",
            cost="the operation fails at run time",
            remedy=f"{remedy}, or give the library a device without MRC.",
        )
    switches = [environment.find(name) for name in _SWITCHES]
    places = [switch.place for switch in switches if switch is not None]
    if is_clean and len(places) == len(_SWITCHES):
        yield passed(at=places)
