"""What probes find, leaf by leaf, and the snapshot that it makes.

A leaf that has no value says why: an `Absence`. Leaves are put down one by one, and can
be passed on as lines, so that what was read survives a probe that hangs or crashes.
"""

import json
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from speccheck.validator.evidence.record import Record

Reason = Literal["absent", "not_supported", "not_permitted", "failed"]
Scalar = str | int | float | bool


class Absence(Record):
    """Why there is no value; code: of the system or the library."""

    status: Reason
    source: str
    message: str = ""
    code: str = ""

    def content(self) -> dict[str, str]:
        """Return the content as it stands in a snapshot."""
        return {name: text for name, text in self._asdict().items() if text}


T = TypeVar("T")
RawValue = Scalar | Absence | list[Scalar | Absence | None]


def formed(absence: T | Absence, form: Callable[[T], RawValue]) -> RawValue:
    """Return what was read in the form of a leaf; an Absence stays one."""
    return absence if isinstance(absence, Absence) else form(absence)


class Sheet:
    """The leaves of one machine, as they are found.

    Every leaf goes to `tell` as well, where one is given: a list that `replay` takes.
    """

    __slots__ = ("_open", "_parts", "_several", "_sources", "_tell")

    def __init__(self, tell: Callable[[list[Any]], None] | None = None) -> None:
        """Start an empty sheet."""
        self._parts: dict[str, dict[str, Any]] = {}
        self._several: dict[str, list[dict[str, Any]] | dict[str, str]] = {}
        self._sources: dict[str, str] = {}
        self._open: set[str] = set()  # kinds of which more parts may come
        self._tell = tell

    def put(self, kind: str, leaf: str, result: RawValue, source: str) -> None:
        """Put a leaf of what a machine has once, and what was read for it."""
        self._say("put", kind, leaf, _content(result), source)
        self._sources.setdefault(f"{kind}.{leaf}", source)
        self._parts.setdefault(kind, {})[leaf] = _content(result)

    def add(self, kind: str) -> int:
        """Add another part of a kind; returns its number, from 0."""
        self._say("add", kind)
        self._open.add(kind)
        parts = self._listed(kind)
        parts.append({})
        return len(parts) - 1

    def put_at(
        self, kind: str, number: int, leaf: str, result: RawValue, source: str
    ) -> None:
        """Put a leaf of one part; source: with the name of the part left open."""
        self._say("put_at", kind, number, leaf, _content(result), source)
        self._sources.setdefault(f"{kind}.{leaf}", source)
        self._listed(kind)[number][leaf] = _content(result)

    def listed(self, kind: str, absence: Absence | None = None) -> None:
        """Note that all parts of a kind have been added, or why they could not be."""
        self._say("listed", kind, absence.content() if absence else None)
        self._open.discard(kind)
        if absence is not None:
            self._several[kind] = absence.content()
        else:
            self._listed(kind)

    def doing(self, what: str) -> None:
        """Note what is queried next: all that is left of a call that hangs."""
        self._say("doing", what)

    def replay(self, result: list[Any]) -> None:
        """Replay another sheet's calls; raises ValueError for anything else."""
        word, *rest = result
        if word not in {"put", "add", "put_at", "listed"}:
            raise ValueError(word)
        if word == "listed":
            kind, content = rest
            self.listed(kind, Absence(**content) if content else None)
            return
        getattr(self, word)(*rest)

    def content(self) -> dict[str, Any]:
        """Return the parts as they stand in a snapshot, with their sources.

        A list whose end nobody has told may lack parts, and says so.
        """
        partly = {"partly_listed": sorted(self._open)} if self._open else {}
        return {**self._parts, **self._several, **partly, "sources": self._sources}

    def _listed(self, kind: str) -> list[dict[str, Any]]:
        result = self._several.setdefault(kind, [])
        if isinstance(result, dict):
            message = f"{kind} could not be listed"
            raise TypeError(message)
        return result

    def _say(self, *words: Any) -> None:  # noqa: ANN401 - what JSON holds
        if self._tell is not None:
            self._tell([*words])


def _content(absence: Any) -> Any:  # noqa: ANN401 - what JSON holds
    if isinstance(absence, Absence):
        return absence.content()
    if isinstance(absence, list):
        return [_content(item) for item in absence]
    return absence


def line(result: list[Any]) -> str:
    """Return a line of the sheet."""
    return json.dumps(result, separators=(",", ":")) + "\n"
