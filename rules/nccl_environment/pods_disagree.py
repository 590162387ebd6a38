"""Pods of one job that set a variable of NCCL to different values.

Why it hurts: the ranks choose the algorithm, the buffers and the network each by their
own variables. Where they differ, a collective waits for messages that never come, or
initialisation stops.

What passes: one value in all pods that ask for accelerators.

Where it does not apply: files that state one environment for all; variables that some
pods do not set, or in which ranks may differ, such as the name of an interface. Where a
value comes from outside the file, the verdict is unknown.

Source: NVIDIA/nccl issue 2190; GoogleCloudPlatform gpudirect-tcpxo (one set on all
nodes).

Bad::

    Master: NCCL_PROTO=Simple        Worker: NCCL_PROTO=LL

Good::

    Master: NCCL_PROTO=Simple        Worker: NCCL_PROTO=Simple
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_ALIKE = (
    "NCCL_ALGO",
    "NCCL_BUFFSIZE",
    "NCCL_COLLNET_ENABLE",
    "NCCL_CUMEM_ENABLE",
    "NCCL_MNNVL_ENABLE",
    "NCCL_NET",
    "NCCL_NVLS_ENABLE",
    "NCCL_PROTO",
)


@rule(clause="COMM-067", about=_ALIKE)
def pods_disagree(environment: Environment) -> Verdicts:
    """Judge each variable in which all ranks must be alike."""
    for name in _ALIKE:
        variable = environment.find(name)
        if variable is None:
            continue
        at = [part.place for part in variable.parts]
        values = {part.value for part in variable.parts}
        if None in values:
            message = f"a value of {name} comes from outside the file"
            yield unknown(message, missing=[name], at=at)
        elif len(values) == 1:
            yield passed(at=at)
        elif values:
            shown = " and ".join(sorted(value for value in values if value is not None))
            yield fail(
                f"pods of the job set {name} to {shown}",
                at=at,
                measured=shown,
                required="one value",
                cost="a collective hangs, or initialisation stops",
                remedy=f"Set {name} alike in all pods, or delete it.",
            )
