"""Environment variables as written in launch scripts and environment files."""

from collections.abc import Iterable

from speccheck.validator.evidence.plan import UNSEEN, Doubts
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence, Place, Value


class Variable(Record):
    """One assignment that reaches the training process.

    parts: what several pods of a job set, where each of them does or where they differ;
    where they differ, `value` is None.
    outside: the engine of the container that holds the process and does not let it in.
    """

    name: str
    value: str | None  # None: set, but to a text that could not be worked out
    place: Place
    raw: str = ""  # as written, blanks and quotes kept
    parts: "tuple[Variable, ...]" = ()
    outside: str = ""

    @property
    def written_at(self) -> tuple[Place, ...]:
        """All places where it is set: those of its parts, where it has some."""
        return tuple(part.place for part in self.parts) or (self.place,)


class Opening(Record):
    """Something through which values reach a job unseen: a file that is not here.

    Attributes:
        what: it, as a clause: "env.sh, which job.sbatch sources, is not here".
        place: where the job takes it in.
        target: the path of a file that would close it; empty where none would.

    """

    what: str
    place: Place
    target: str = ""


class Environment(Record):
    """The variables that the files of a plan set, the last assignment of each.

    Attributes:
        variables: as far as they were seen; what rests on these alone rests on
            statements.
        read: the sources that were read: with none, a variable that is not here is
            unknown and not unset.
        hidden: lines of a nccl.conf that lose to a nearer file or to the environment.
        openings: through which more variables may be set; with one of these as well, a
            variable that is not here is unknown.
        outside: set where the command of a container is given, which keeps them out.

    """

    variables: tuple[Variable, ...]
    read: tuple[str, ...]
    hidden: tuple[Variable, ...] = ()
    openings: tuple[Opening, ...] = ()
    outside: tuple[Variable, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The sources that were read."""
        return self.read

    def sets(self, name: str) -> bool:
        """Return whether a file sets the variable; `NCCL_IB_*` stands for its kind."""
        if name.endswith("*"):
            start = name[:-1]
            return any(variable.name.startswith(start) for variable in self.variables)
        return self.find(name) is not None

    def find(self, name: str) -> Variable | None:
        """Return the variable of that name, or None when no file sets it."""
        return self.stated(name)

    def stated(self, name: str) -> Variable | None:
        """Return the same, for a rule to which its lack says nothing."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        return None

    def lacking(self, names: Iterable[str]) -> list[str]:
        """Return the names that no file sets, for a rule that fails for want of them.

        Raises MissingEvidence where something unseen may set them.
        """
        unset = [name for name in names if self.find(name) is None]
        if unset and self.openings:
            raise MissingEvidence(UNSEEN, described(self.openings))
        return unset


_MOST_DESCRIBED = 2


def described(openings: tuple[Opening, ...]) -> str:
    """Return the first openings in words, and how many there are besides."""
    whats = [*dict.fromkeys(opening.what for opening in openings)]
    more = len(whats) - _MOST_DESCRIBED
    text = "; ".join(whats[:_MOST_DESCRIBED])
    return f"{text}; and {more} more" if more > 0 else text


class OpenEnvironment(Environment):
    """An environment of which not all was seen; notes when a rule rests on absence.

    A rule does so when it looks for a variable that is not here, and when it asks
    whether a file was read at all, as those do that go through all variables.
    """

    doubts: Doubts

    @classmethod
    def of(cls, environment: Environment) -> "OpenEnvironment":
        """Return the same environment, with doubts of its own."""
        watched = cls._make(environment)
        watched.doubts = Doubts(
            frozenset(
                place
                for variable in environment.variables
                for place in (variable.place, *variable.written_at)
            )
        )
        return watched

    @property
    def files(self) -> tuple[str, ...]:
        """The sources that were read; not all there are."""
        self._doubt()
        return self.read

    def find(self, name: str) -> Variable | None:
        """Return the variable of that name, or None when no file sets it."""
        variable = super().find(name)
        if variable is None:
            self._doubt()
        return variable

    def sets(self, name: str) -> bool:
        """Return whether a file sets the variable; `NCCL_IB_*` stands for its kind."""
        is_set = super().sets(name)
        if not is_set:
            self._doubt()
        return is_set

    def _doubt(self) -> None:
        note = described(self.openings)
        places = tuple(opening.place for opening in self.openings)
        self.doubts.seen[UNSEEN] = Value(UNSEEN, places=places, note=note)
