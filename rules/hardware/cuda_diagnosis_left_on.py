"""A profiler or debugger of CUDA that the environment switches on.

Why it hurts: each launch is recorded, or a GPU waits at its first fault for a debugger
that nobody started; a dump of its memory takes minutes on every rank.

What passes: none of the variables of the clause is set, or each is 0.

Where it does not apply: nodes without GPU.

Source: NVIDIA/DCGM, error 28 (environment).

Bad::

    CUDA_DEVICE_WAITS_ON_EXCEPTION=1

Good::

    unset CUDA_DEVICE_WAITS_ON_EXCEPTION
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import NodeVariables
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Harmful(Numbers):
    """The variables that slow or stop programs of CUDA."""

    variables: tuple[str, ...]


@rule(clause="HW-127")
def cuda_diagnosis_left_on(
    environment: Environment, variables: NodeVariables, gpus: Gpus, wanted: Harmful
) -> Verdicts:
    """Judge each of the variables."""
    if gpus.count.is_known and not gpus.each():
        return
    stated = [environment.find(name) for name in wanted.variables]
    result = [
        variable for variable in stated if variable is not None and variable.value != ""
    ]
    on = [
        variable
        for variable in result
        if variable.value and integer_seen(variable.value) != 0
    ]
    for variable in on:
        yield fail(
            f"{variable.name}={variable.value} is set; it should not be outside a "
            "diagnosis",
            at=variable.place,
            measured=variable.value,
            required="not set",
            cost="launches are recorded, or a fault waits for a debugger",
            remedy=f"Unset {variable.name}.",
            action="FIX_CONFIG",
        )
    if on:
        return
    for variable in result:
        if variable.value is None:
            raise MissingEvidence(variable.name, "its value is not known")
    for listed in variables.each():
        listed.name.need()
    gpus.each()
    yield passed(at=variables.count)
