"""A value that NCCL reads as something else than it says.

Why it hurts: NCCL takes the number at the start of a text and drops the rest, so that
`true` is 0 and `8M` is 8. Path levels are compared with their case, and an unknown
debug level switches logging off. None of it is reported.

What passes: plain integers; LOC, NVL, PIX, PXB, PHB, SYS and the like in capitals;
VERSION, WARN, INFO, ABORT, TRACE.

Where it does not apply: texts and lists; values that are set outside the files. Blanks
and quotes in nccl.conf are told by unreadable_configuration_line.

Source: NVIDIA/nccl src/misc/param.cc, src/graph/paths.cc, src/debug.cc.

Bad::

    NCCL_P2P_LEVEL=nvl
    NCCL_IB_DISABLE=true

Good::

    NCCL_P2P_LEVEL=NVL
    NCCL_IB_DISABLE=1
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import variable_set
from speccheck.validator.evidence.nccl_variables import NcclVariables, misread
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-007", about=("*",))
def misread_value(environment: Environment, nccl: NcclVariables) -> Verdicts:
    """Judge each value by the parser that reads it."""
    is_clean, was_read = True, False
    for variable in environment.variables:
        row = nccl.lookup(variable.name)
        text = variable.value
        if row is None or text is None or not text or text != text.strip():
            continue
        was_read = was_read or row.read_as != "text"
        seen = misread(row, text.strip("\"'"))
        if seen is None:
            continue
        is_clean = False
        yield fail(
            f"{variable.name}={text} is read as {seen.seen}; it must be "
            f"{seen.expected}",
            at=variable.place,
            measured=text,
            required=seen.expected,
            cost="the setting is not the one that is written, and nothing says so",
            remedy=f"Write {seen.meant or seen.expected}.",
            # Safe where the library has read what is meant all the time.
            fix=variable_set(
                variable,
                seen.meant,
                because="same meaning" if seen.meant == seen.seen else "",
            )
            if seen.meant
            else None,
        )
    if is_clean and was_read:
        yield passed()
