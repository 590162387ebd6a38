"""What the static reader makes of a shell script."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate

from speccheck.validator.evidence.record import Record


class Word(Record):
    """One argument after expansion.

    text: the expanded text; a part that could not be resolved stands as `${NAME}`,
        `$(...)` or `$((...))`.
    line, column, length: where the word is written, from 1, in characters. A word that
        is whole the value of a variable or an element of an array stands where that
        value is defined; one that was joined from several stands where it was joined.
    resolved: False when a part is unknown, or when the word is there only if a
        condition holds that cannot be decided from the text.
    raw: the text at that place.
    """

    text: str
    line: int
    column: int
    length: int
    resolved: bool
    raw: str


class Assignment(Record):
    """`NAME=value`, with the place of the name.

    conditional: it stands in a branch that may not be taken, or in a function that the
        script does not call.
    """

    name: str
    value: Word
    exported: bool
    line: int
    column: int
    conditional: bool = False


class Command(Record):
    """A simple command with its arguments.

    environment: the variables given to this command alone: `A=1 cmd`, `env A=1 cmd`,
        `srun --export=ALL,A=1`, `mpirun -x A=1`, `docker run -e A=1`.
    conditional: as for an assignment.
    outer: the command whose argument held this one: `srun ... bash -c '...'`.
    """

    words: tuple[Word, ...]
    environment: tuple[Assignment, ...]
    line: int
    conditional: bool = False
    outer: "Command | None" = None


class Directive(Record):
    """An option of an `#SBATCH` line, by its long name: `--nodes`, also for `-N`."""

    name: str
    value: str
    line: int
    column: int
    length: int


class Problem(Record):
    """Syntax that a shell would refuse, or that does not do what it seems to."""

    message: str
    line: int


class Script(Record):
    """A shell script as far as it can be read without running it.

    assignments: all that may take effect, in the order of the script.
    variables: the value of each name at the end; `${NAME}`, not resolved, where it
        depends on a condition that cannot be decided.
    exports: those of the variables that a started program sees.
    """

    directives: tuple[Directive, ...]
    commands: tuple[Command, ...]
    assignments: tuple[Assignment, ...]
    variables: Mapping[str, Assignment]
    exports: Mapping[str, Assignment]
    problems: tuple[Problem, ...]


class Lines:
    """Turns offsets in a text into lines and columns, both from 1."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [
            0,
            *accumulate(len(line) + 1 for line in text.split("\n")),
        ]

    def line(self, offset: int) -> int:
        """The line of an offset."""
        return bisect_right(self._starts, offset)

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def word(self, text: str, start: int, end: int, *, resolved: bool) -> Word:
        """The word that stands from one offset to another."""
        line = bisect_right(self._starts, start)
        column = start - self._starts[line - 1] + 1
        return Word(text, line, column, end - start, resolved, self.text[start:end])
