"""Which other files and values the files of a plan refer to, and which lead nowhere."""

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place

# What is missing where a file that is to be read is not there.
NAMED_INPUT = "named_input"


class BrokenReference(Record):
    """A reference that leads nowhere.

    Attributes:
        what: it, as a sentence about the file.
        places: where it stands; of a circle of references all of them.
        target: as written.
        is_sure: whether the framework stops on it; else what it means may lie where
            nobody has looked.
        is_input: whether it is a file that is read with the others, and that lies
            where they lie or nowhere: there is no repository to look in.

    """

    what: str
    places: tuple[Place, ...]
    target: str
    is_sure: bool
    is_input: bool = False


class References(Record):
    """The references of a plan that its framework follows as it starts.

    Attributes:
        followed: where those stand that lead to something.
        broken: those that do not.

    """

    followed: tuple[Place, ...] = ()
    broken: tuple[BrokenReference, ...] = ()
