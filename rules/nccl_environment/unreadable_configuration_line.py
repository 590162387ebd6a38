"""A line of nccl.conf with blanks or quotes.

Why it hurts: NCCL takes the name up to the equal sign and the value to the end of the
line, both as they stand. With a blank the name is another one, with quotes the value
is: the setting is lost without a message on every node that has the file.

What passes: NAME=VALUE with nothing around it.

Where it does not apply: shell scripts and .env files, whose own readers strip both.

Source: NVIDIA/nccl src/misc/param.cc (setEnvFile).

Bad::

    NCCL_SOCKET_IFNAME = "bond0"

Good::

    NCCL_SOCKET_IFNAME=bond0
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", about=("*",))
def unreadable_configuration_line(environment: Environment) -> Verdicts:
    """Judge each line as NCCL's own parser splits it."""
    was_read, is_clean = False, True
    for variable in environment.variables:
        if not variable.place.file.endswith(".conf"):
            continue
        was_read = True
        value = variable.value or ""
        faults = [
            text
            for found, text in (
                (variable.name != variable.name.strip(), "blanks in the name"),
                (value != value.strip(), "blanks around the value"),
                (value.strip()[:1] in {'"', "'"}, "quotes around the value"),
            )
            if found
        ]
        if not faults:
            continue
        is_clean = False
        name, text = variable.name.strip(), value.strip().strip("\"'")
        yield fail(
            f"NCCL reads the name {variable.name!r} and the value {value!r}: "
            f"{' and '.join(faults)} are kept",
            at=variable.place,
            measured=variable.raw,
            required=f"{name}={text}",
            cost="the setting is lost on every node that has the file",
            remedy=f"Write {name}={text}.",
        )
    if was_read and is_clean:
        yield passed()
