"""A line of nccl.conf with blanks, quotes or a comment behind the value.

Why it hurts: NCCL takes the name up to the equal sign and the value to the end of the
line, both as they stand. With a blank the name is another one, with quotes the value
is: the setting is lost without a message on every node that has the file.

What passes: NAME=VALUE with nothing around it; blanks and comments behind a number,
which NCCL reads up to there.

Where it does not apply: shell scripts and .env files, whose own readers strip both.

Source: NVIDIA/nccl src/misc/param.cc (setEnvFile).

Bad::

    NCCL_SOCKET_IFNAME = "bond0"

Good::

    NCCL_SOCKET_IFNAME=bond0
"""

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.finding import Fix, to_rename, to_set
from speccheck.validator.evidence.mending import combined
from speccheck.validator.evidence.nccl_variables import NcclVariables, integer_seen
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", about=("*",))
def unreadable_configuration_line(
    environment: Environment, nccl: NcclVariables
) -> Verdicts:
    """Judge each line as NCCL's own parser splits it."""
    was_read, is_clean = False, True
    for variable in environment.variables:
        if not variable.place.file.endswith(".conf"):
            continue
        was_read = True
        value = variable.value or ""
        faults = _faults(variable, nccl)
        if not faults:
            continue
        is_clean = False
        plain = value.partition(" #")[0].strip()
        name, text = variable.name.strip(), plain.strip("\"'")
        yield fail(
            f"NCCL reads the name {variable.name!r} and the value {value!r}: "
            f"{' and '.join(faults)} are kept",
            at=variable.place,
            measured=variable.raw,
            required=f"{name}={text}",
            cost="the setting is lost on every node that has the file",
            remedy=f"Write {name}={text}.",
            fix=_fix(variable, name, text, environment),
        )
    if was_read and is_clean:
        yield passed()


def _fix(
    variable: Variable, name: str, text: str, environment: Environment
) -> Fix | None:
    """Propose the line as NCCL reads it; what was lost takes effect then."""
    if " #" in (variable.value or "") or (
        environment.sets(name) and name != variable.name
    ):
        return None
    changes = [to_set(variable.place, text)]
    if name != variable.name:
        changes.insert(0, to_rename(variable.place, name))
    return combined(f"write {name}={text}", changes)


def _faults(variable: Variable, nccl: NcclVariables) -> list[str]:
    value = variable.value or ""
    row = nccl.lookup(variable.name.strip())
    is_number = row is not None and row.read_as == "integer"
    is_text = not is_number or integer_seen(value) is None
    result = (
        (variable.name != variable.name.strip(), "blanks in the name"),
        (is_text and value != value.strip(), "blanks around the value"),
        (value.strip()[:1] in {'"', "'"}, "quotes around the value"),
        (is_text and " #" in value, "a comment behind the value"),
    )
    return [text for item, text in result if item]
