"""One value of the plan: what it is, how it is known, and where it was stated."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Generic, Literal, TypeVar

from speccheck.validator.evidence.record import Record

KeyPath = tuple[str | int, ...]
Status = Literal[
    # of a plan
    "stated",
    "derived",
    "fallback",
    "default",
    "invalid",
    "unknown",
    "conflict",
    # of a node
    "measured",
    "absent",
    "not_supported",
    "not_permitted",
    "failed",
]
T_co = TypeVar("T_co", covariant=True)
D = TypeVar("D")


class Span(Record):
    """A stretch of one line: line and column from 1, length in code points."""

    line: int
    column: int
    length: int


class Place(Record):
    """Where something stands: symbolic until a report asks for the line.

    Attributes:
        file: as the user named it.
        key: as people write it.
        path: looked up in the document.
        document: number of the document in the file, from 0.
        part: which of the two is meant.
        span: given only by readers of formats without key paths (shell, environment
            files).
        only_if: the condition under which what stands here holds, in words: "NNODES is
            not set"; empty where it holds in any case.

    """

    file: str
    key: str
    path: KeyPath = ()
    document: int = 0
    part: Literal["key", "value"] = "value"
    span: Span | None = None
    only_if: str = ""


_BRANCH = "line "


def branch_condition(line: int) -> str:
    """Return the condition, in words, of what a branch of a script holds."""
    return f"{_BRANCH}{line} runs"


def is_of_branch(*conditions: str) -> bool:
    """Return whether conditions say that lines of a script run, and nothing else."""
    return all(condition.startswith(_BRANCH) for condition in conditions)


def condition_of(places: Iterable[Place]) -> str:
    """Return under which condition what stands at all of these places holds."""
    return next(filter(None, (place.only_if for place in places)), "")


@lru_cache(maxsize=4096)  # the files of a run share most of their keys
def dotted(path: KeyPath) -> str:
    """Return a key path as people write it: `a.b[0].c`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


class MissingEvidence(Exception):  # noqa: N818 - a fact about the input, not an error
    """A rule asked for a value that no source gives."""

    def __init__(self, name: str, reason: str = "") -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason


class Value(Record, Generic[T_co]):
    """A leaf of the plan.

    An invalid one is stated and no value that its framework takes: it has no `value`.
    `note` says how a derived value was worked out, in which version a default holds,
    or why the value is unknown. A conflicting value has no `value`: `alternatives`
    holds the texts that were stated, in the order of `places`.
    """

    name: str
    value: T_co | None = None
    status: Status = "unknown"
    places: tuple[Place, ...] = ()
    note: str = ""
    alternatives: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether there is one value to judge by."""
        return self.value is not None

    @property
    def only_if(self) -> str:
        """The condition under which it is so, in words; empty for any case."""
        return condition_of(self.places)

    def need(self) -> T_co:
        """Return the value; raises MissingEvidence when there is none.

        The engine turns the exception into the verdict `unknown`, so that a rule
        reads like the requirement and never guesses.
        """
        if self.value is None:
            raise MissingEvidence(self.name, self.note)
        return self.value

    def need_stated(self) -> T_co:
        """Return the value, but not one that is only a framework's default."""
        if self.status == "default":
            raise MissingEvidence(self.name, "not stated; " + self.note)
        return self.need()

    def or_else(self, fallback: D) -> T_co | D:
        """Return the value, or `fallback` for a value that is not there."""
        return fallback if self.value is None else self.value
