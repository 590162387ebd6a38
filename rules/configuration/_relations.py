"""What rules over relations between keys share: the edits that mend a match."""

from speccheck.validator.evidence.finding import Fix, to_remove, to_set
from speccheck.validator.evidence.mending import shown, without_keys
from speccheck.validator.evidence.related_keys import KeyRelationMatch


def fix_of(match: KeyRelationMatch) -> Fix | None:
    """Return the edits that mend a match, where they are certain; else None.

    None is safe: a key that has no effect goes, and of two that cannot stand together
    the owner decides which does.
    """
    if match.losing:
        return without_keys(match.losing)
    if not match.edits:
        return None
    says = (
        f"delete {key.place.key}"
        if value is None
        else f"set {key.place.key} to {shown(value)}"
        for key, value in match.edits
    )
    changes = tuple(
        to_remove(key.value_place) if value is None else to_set(key.value_place, value)
        for key, value in match.edits
    )
    return Fix(" and ".join(says), changes)


def in_release(match: KeyRelationMatch) -> str:
    """Return from which release on a match holds, where that of the job is unknown."""
    return f"; so from release {match.only_from} on" if match.only_from else ""
