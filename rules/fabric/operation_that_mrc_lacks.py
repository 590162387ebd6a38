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

_ON = ("1", "y", "yes", "true")
# Variables, what they switch on, and the operations that it needs.
_USERS = {
    "NVSHMEM_IB_ENABLE_IBGDA": ("the IBGDA transport of NVSHMEM", "reads and atomics"),
    "NCCL_COLLNET_ENABLE": ("SHARP", "sends"),
}
_TRANSPORTS = ("ibrc", "ibgda", "ibdevx", "ucx")


@rule(
    clause="MRC-011",
    confidence="advisory",
    about=(*_USERS, "NVSHMEM_REMOTE_TRANSPORT"),
)
def operation_that_mrc_lacks(environment: Environment) -> Verdicts:
    """Judge each variable that switches such a library on."""
    is_clean = True
    for name, (user, operations) in _USERS.items():
        variable = environment.find(name)
        if variable is None or (variable.value or "").lower() not in _ON:
            continue
        is_clean = False
        yield fail(
            f"{name}={variable.value} switches {user} on, which needs {operations}; "
            f"connections of MRC carry writes alone",
            at=variable.place,
            measured=variable.value,
            required="off, or over a device without MRC",
            cost="the operation fails at run time",
            remedy=f"Delete {name}, or give the library a device without MRC.",
        )
    transport = environment.find("NVSHMEM_REMOTE_TRANSPORT")
    if transport is not None and (transport.value or "").lower() in _TRANSPORTS:
        yield fail(
            f"NVSHMEM_REMOTE_TRANSPORT={transport.value} needs reads and atomics; "
            f"connections of MRC carry writes alone",
            at=transport.place,
            measured=transport.value,
            required="none, or over a device without MRC",
            cost="the operation fails at run time",
            remedy="Set it to none, or give NVSHMEM a device without MRC.",
        )
        return
    collnet = environment.find("NCCL_COLLNET_ENABLE")
    if is_clean and transport is not None and collnet is not None:
        yield passed(at=[transport.place, collnet.place])
