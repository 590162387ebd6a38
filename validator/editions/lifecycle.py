"""What becomes of clauses and editions: announced, withdrawn, extended."""

import os
from collections.abc import Mapping
from typing import Any

from speccheck.validator.evidence.record import Record

DRAFT = "-draft"  # at the end of the id of an edition that is no more than one


class BaseEdition(Record):
    """The edition that another one extends, with the sha256 of its content."""

    id: str
    sha256: str


class Deprecation(Record):
    """Notice that a clause will be withdrawn. since, removed_in: editions.

    replaced_by: the clause that takes its place; empty for none.
    """

    reason: str
    since: str
    removed_in: str
    replaced_by: str = ""

    @property
    def text(self) -> str:
        """The notice in a sentence."""
        instead = f"; {self.replaced_by} takes its place" if self.replaced_by else ""
        return (
            f"deprecated since edition {self.since}, withdrawn in {self.removed_in}: "
            f"{self.reason}{instead}"
        )


class Tombstone(Record):
    """A clause that is no more; its id is never used again. since: an edition."""

    id: str
    title: str
    reason: str
    since: str
    replaced_by: str = ""

    @property
    def text(self) -> str:
        """What became of the clause, in a sentence."""
        instead = f"; {self.replaced_by} takes its place" if self.replaced_by else ""
        return f"withdrawn in edition {self.since}: {self.reason}{instead}"


def deprecation_of(row: Mapping[str, Any] | None) -> Deprecation | None:
    """The notice that a compiled clause holds."""
    if row is None:
        return None
    return Deprecation(
        row["reason"], row["since"], row["removed_in"], row.get("replaced_by", "")
    )


def tombstones_of(document: Mapping[str, Any]) -> dict[str, Tombstone]:
    """The tombstones of a compiled edition by the id of the clause."""
    return {
        name: Tombstone(
            name,
            row.get("title", ""),
            row["reason"],
            row["since"],
            row.get("replaced_by", ""),
        )
        for name, row in document.get("withdrawn", {}).items()
    }


def base_of(head: Mapping[str, Any]) -> BaseEdition | None:
    """The edition that a compiled one extends."""
    row = head.get("extends")
    return BaseEdition(row["id"], row["sha256"]) if row else None


def version_of(edition_id: str) -> tuple[int, int, int]:
    """Major, minor and patch of an edition; a draft has those that it is to become.

    Raises ValueError for an id of another form.
    """
    numbers = [int(one) for one in edition_id.removesuffix(DRAFT).split(".")]
    major, minor, patch = [*numbers, 0, 0][:3]
    return major, minor, patch


def age(edition_id: str) -> tuple[tuple[int, int, int], bool]:
    """Sorts ids from the oldest edition on, a draft before what it becomes."""
    return version_of(edition_id), not edition_id.endswith(DRAFT)


def editions_in(folder: str, file: str) -> tuple[str, ...]:
    """The ids of the editions whose folder holds a file, oldest first."""
    found = [
        name
        for name in os.listdir(folder)
        if os.path.isfile(os.path.join(folder, name, file))
    ]
    return tuple(sorted(found, key=age))
