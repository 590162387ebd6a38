"""Asynchronous error handling of PyTorch switched off.

Why it hurts: a collective that fails or hangs is never aborted. The job keeps its GPUs
and does nothing until a person looks.

What passes: the variable is not set, or set to another value than the clause forbids.
Blocking waits raise the error themselves and pass as well.

Where it does not apply: jobs without PyTorch.

Source: PyTorch documentation, ProcessGroupNCCL environment variables.

Bad::

    TORCH_NCCL_ASYNC_ERROR_HANDLING=0

Good::

    TORCH_NCCL_ASYNC_ERROR_HANDLING=3
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import variable_set
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.plan import Run
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_NAMES = ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING")
_ON = "3"  # the default: abort, and end the process
_BLOCKING = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")


class ForbiddenValue(Numbers):
    """The value that switches error handling off."""

    forbidden_value: int


@rule(clause="FT-003")
def error_handling_off(
    environment: Environment, run: Run, limit: ForbiddenValue
) -> Verdicts:
    """Judge both names of the variable."""
    if run.uses_torch.value is False:
        return
    if not environment.files:
        yield unknown("no script sets the environment", missing=["environment"])
        return
    variables = [result for name in _NAMES if (result := environment.find(name))]
    blocking = any(
        result.value == "1" for name in _BLOCKING if (result := environment.find(name))
    )
    for variable in variables:
        if variable.value is None:
            raise MissingEvidence(variable.name, "its value is set outside the files")
        if integer_seen(variable.value) == limit.forbidden_value and not blocking:
            yield fail(
                f"{variable.name} is {variable.value}: a collective that hangs is "
                f"never aborted",
                at=variable.place,
                measured=variable.value,
                required=f"not {limit.forbidden_value}",
                cost="the job holds its GPUs and stands still until a person looks",
                fix=variable_set(variable, _ON) if variable.name == _NAMES[0] else None,
            )
            return
    yield passed(at=[variable.place for variable in variables])
