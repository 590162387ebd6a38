"""Environment variables as written in launch scripts and environment files."""

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place


class Variable(Record):
    """One assignment that reaches the training process.

    parts: what several pods of a job set, where each of them does or where they differ;
    where they differ, `value` is None.
    """

    name: str
    value: str | None  # None: set, but to a text that could not be worked out
    place: Place
    raw: str = ""  # as written, blanks and quotes kept
    parts: "tuple[Variable, ...]" = ()

    @property
    def written_at(self) -> tuple[Place, ...]:
        """All places where it is set: those of its parts, where it has some."""
        return tuple(part.place for part in self.parts) or (self.place,)


class Environment(Record):
    """The variables that the files of a plan set, the last assignment of each.

    `files` names the sources that were read: with none, a variable that is not here
    is unknown and not unset. `hidden` are lines of a nccl.conf that lose to a nearer
    file or to the environment.
    """

    variables: tuple[Variable, ...]
    files: tuple[str, ...]
    hidden: tuple[Variable, ...] = ()

    def sets(self, name: str) -> bool:
        """Whether a file sets the variable; `NCCL_IB_*` asks for any of that kind."""
        if name.endswith("*"):
            start = name[:-1]
            return any(variable.name.startswith(start) for variable in self.variables)
        return self.find(name) is not None

    def find(self, name: str) -> Variable | None:
        """Return the variable of that name, or None when no file sets it."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        return None
