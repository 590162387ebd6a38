"""One difference between two editions, and how much it weighs."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from speccheck.validator.editions.edition import Clause, Edition
from speccheck.validator.editions.number import NumberValue
from speccheck.validator.evidence.record import Record

Weight: TypeAlias = Literal["PATCH", "MINOR", "MAJOR"]
Kind: TypeAlias = Literal[
    "added",
    "withdrawn",
    "deprecated",
    "level",
    "number",
    "application",
    "profile",
    "stage",
    "wording",
]
KINDS: tuple[Kind, ...] = (
    "added",
    "withdrawn",
    "deprecated",
    "level",
    "number",
    "application",
    "profile",
    "stage",
    "wording",
)
_WEIGHTS: tuple[Weight, ...] = ("PATCH", "MINOR", "MAJOR")


class NumberChange(Record):
    """A number that changed. key: of `by_profile`; empty for the default.

    direction: upper, where a measured value must not be more; lower, where it must not
    be less; empty, where the requirement does not say so plainly.
    """

    name: str
    key: str
    before: NumberValue | None
    after: NumberValue | None
    unit: str
    direction: str
    source: str
    confidence: str


class Difference(Record):
    """One thing that differs. subject: a clause, a profile, or the edition itself.

    text: what differs, without the subject. reason: why it weighs what it weighs.
    levels: before and after, of a clause whose level changed.
    """

    kind: Kind
    subject: str
    text: str
    weight: Weight
    reason: str
    number: NumberChange | None = None
    levels: tuple[str, str] | None = None

    @property
    def is_of_clause(self) -> bool:
        """Whether it is of a clause itself, and not of a profile or the edition."""
        return "/" not in self.subject and self.subject not in {"edition", "base"}


def heaviest(weights: Iterable[Weight]) -> Weight:
    """The heaviest of some weights; PATCH for none."""
    found = set(weights)
    for weight in reversed(_WEIGHTS):
        if weight in found:
            return weight
    return "PATCH"


def may_be_must(edition: Edition, clause: Clause) -> bool:
    """Whether a clause is a must, or a profile raises it to one."""
    return clause.level == "must" or any(
        entry.levels.get(clause.id) == "must"
        for profile in edition.profiles.values()
        for entry in profile.raises
    )


def added_by(edition: Edition, clause_id: str) -> frozenset[str]:
    """The profiles that have a proposed clause judged, with some evidence or always."""
    return frozenset(
        profile.id
        for profile in edition.profiles.values()
        if clause_id in profile.adds
        or any(clause_id in ids for ids in profile.adds_with_evidence.values())
    )
