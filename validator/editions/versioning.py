"""What a new edition may change: the weight of each difference, as code.

MAJOR: something that passed may fail. MINOR: a new should or may, a new profile, or
less is asked than before. PATCH: wording. An edition says by its id how much it changes
at most, and the compiler holds it to that.
"""

from collections.abc import Collection, Iterator

from speccheck.validator.editions.difference import (
    Difference,
    Kind,
    Weight,
    heaviest,
)
from speccheck.validator.editions.differing_clauses import clause_differences
from speccheck.validator.editions.differing_profiles import profile_differences
from speccheck.validator.editions.edition import Edition
from speccheck.validator.editions.lifecycle import DRAFT, age, version_of


def differences(before: Edition, after: Edition) -> tuple[Difference, ...]:
    """All that differs between two editions, each with its weight and the reason."""
    return (
        *_head(before, after),
        *clause_differences(before, after),
        *profile_differences(before, after),
    )


def weight_between(before: str, after: str) -> Weight | None:
    """What the step from one id to another claims to change; None: no step forward."""
    if age(after) <= age(before):
        return None
    old, new = version_of(before), version_of(after)
    if old[0] != new[0]:
        return "MAJOR"
    return "MINOR" if old[1] != new[1] else "PATCH"


def refusals(before: Edition, after: Edition, named: Collection[str]) -> Iterator[str]:
    """Why an edition may not be what its id says, a line for each reason.

    Args:
        before: the edition that it extends.
        after: the edition.
        named: the clauses that its CHANGES.yaml gives a reason for.

    """
    claimed = weight_between(before.id, after.id)
    if claimed is None:
        yield f"edition.yaml: id: {after.id} does not come after {before.id}"
        return
    found = differences(before, after)
    too_heavy = [one for one in found if heaviest((one.weight, claimed)) != claimed]
    for one in too_heavy:
        yield (
            f"edition.yaml: id: {after.id} claims a {claimed} change of {before.id}, "
            f"but {one.subject} is {one.weight}: {one.text}; {one.reason}"
        )
    clauses = {one.subject for one in found if one.is_of_clause}
    for name in sorted(clauses - set(named)):
        yield f"CHANGES.yaml: {name} differs from {before.id}, and no entry says why"
    yield from _misdated(before, after)
    yield from _too_early(before, after)


def _misdated(before: Edition, after: Edition) -> Iterator[str]:
    """What is withdrawn or deprecated here, and says that another edition did it."""
    version = after.id.removesuffix(DRAFT)
    said = {
        **{
            f"withdrawn: {key}": one.since
            for key, one in after.withdrawn.items()
            if key not in before.withdrawn
        },
        **{
            f"deprecated: {key}": one.deprecated.since
            for key, one in after.clauses.items()
            if one.deprecated is not None and not _is_announced(before, key)
        },
    }
    for what, since in said.items():
        if since != version:
            yield f"edition.yaml: {what}: since: {since}: it is since {version}"


def _is_announced(edition: Edition, name: str) -> bool:
    clause = edition.clauses.get(name)
    return clause is not None and clause.deprecated is not None


def _too_early(before: Edition, after: Edition) -> Iterator[str]:
    """Clauses withdrawn before the edition that their deprecation announced."""
    for name in after.withdrawn:
        clause = before.clauses.get(name)
        if clause is None or clause.deprecated is None:
            continue
        announced = clause.deprecated.removed_in
        if version_of(after.id) < version_of(announced):
            yield (
                f"edition.yaml: withdrawn: {name}: was announced to be withdrawn in "
                f"{announced}, not before"
            )


def _head(before: Edition, after: Edition) -> Iterator[Difference]:
    for field in ("title", "statement", "stage"):
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            kind: Kind = "stage" if field == "stage" else "wording"
            text = (
                f"{field}: {old} -> {new}" if field == "stage" else f"{field} reworded"
            )
            yield Difference(kind, "edition", text, "PATCH", "no verdict rests on it")
    for code in sorted(set(after.areas) - set(before.areas)):
        text = f"new area {code}, {after.areas[code]}"
        yield Difference("wording", "edition", text, "PATCH", "areas judge nothing")
