"""The diagnosis port of NCCL bound to a public address.

Why it hurts: the RAS service answers anyone who connects with the state of the job, and
asks for no password.

What passes: loopback, which is the default.

Where it does not apply: the variable is not set.

Source: NVIDIA/nccl, environment variables (NCCL_RAS_ADDR).

Bad::

    NCCL_RAS_ADDR=0.0.0.0:28028

Good::

    NCCL_RAS_ADDR=localhost:28028
"""

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.mending import variable_set
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="SEC-003", about=("NCCL_RAS_ADDR",))
def diagnosis_port_exposed(environment: Environment) -> Verdicts:
    """Judge the address of the RAS service."""
    variable = environment.find("NCCL_RAS_ADDR")
    if variable is None or not variable.value:
        return
    host = variable.value.strip().rpartition(":")[0].strip("[]").lower()
    if host in {"localhost", "::1", ""} or host.startswith("127."):
        yield passed(at=variable.place, measured=variable.value)
        return
    yield fail(
        f"NCCL_RAS_ADDR={variable.value} answers from outside the node without a "
        f"password",
        at=variable.place,
        measured=variable.value,
        required="localhost",
        cost="anyone on the network can ask for the state of the job",
        remedy="Delete the line, or bind it to localhost.",
        fix=_fix(variable),
    )


def _fix(variable: Variable) -> Fix | None:
    """Propose the same port on the node alone, where one is named."""
    port = (variable.value or "").strip().rpartition(":")[2]
    if not port.isdecimal():
        return None
    return variable_set(variable, f"localhost:{port}")
