"""The flight recorder of PyTorch switched off.

Why it hurts: after a hang it is the only evidence of which rank did not arrive at which
collective. Without it the search starts over at the next hang.

What passes: a buffer of at least the clause's size, dumped on a timeout.

Where it does not apply: one node, jobs without PyTorch; torchtitan sets both itself.
Where a script sets neither variable, the default of the PyTorch release decides.

Source: PyTorch flight recorder documentation; torchtitan config (comm.trace_buf_size).

Bad::

    TORCH_FR_BUFFER_SIZE=0

Good::

    TORCH_FR_BUFFER_SIZE=2000
    TORCH_NCCL_DUMP_ON_TIMEOUT=1
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import variable_set
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.plan import Run
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_SIZES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
_DUMP = "TORCH_NCCL_DUMP_ON_TIMEOUT"
_ENTRIES = "2000"  # practical, by the clause
_OFF = frozenset({"0", "false", "no", "n", "f"})


class RecorderLimit(Numbers):
    """The least size of the buffer."""

    buffer_min: int  # entries


@rule(clause="FT-008")
def flight_recorder_off(
    environment: Environment, run: Run, limit: RecorderLimit
) -> Verdicts:
    """Judge the size of the buffer and the dump on a timeout."""
    if run.framework.value == "torchtitan":
        return
    sizes = [variable for name in _SIZES if (variable := environment.find(name))]
    dump = environment.find(_DUMP)
    if dump is not None and (dump.value or "").lower() in _OFF:
        yield fail(
            f"{_DUMP} is {dump.value}: the flight recorder is not written when a "
            f"collective times out",
            at=dump.place,
            measured="off",
            required="on",
            cost="nothing shows which rank hung",
            remedy=f"Set {_DUMP}=1.",
            fix=variable_set(dump, "1"),
        )
        return
    if not sizes:
        message = f"{_SIZES[0]} is not set: the default of the PyTorch release decides"
        yield unknown(message, missing=["environment"])
        return
    entries = integer_seen(sizes[0].value or "")
    if entries is None:
        raise MissingEvidence(sizes[0].name, "its value is set outside the files")
    if entries >= limit.buffer_min:
        yield passed(at=sizes[0].place, measured=entries, required=limit.buffer_min)
        return
    yield fail(
        f"{sizes[0].name} is {entries}: no collective is recorded",
        at=sizes[0].place,
        measured=entries,
        required=limit.buffer_min,
        cost="nothing shows which rank hung",
        remedy=f"Set {sizes[0].name}={_ENTRIES} and {_DUMP}=1.",
        fix=variable_set(sizes[0], _ENTRIES),
    )
