"""Whether an edition may stand in a certificate: approved, and the one that was frozen.

A certificate names the sha256 of the edition that it was judged by. Who reads it later
must find that very edition, so only one that no longer changes will do.
"""

from speccheck.validator.editions.edition import Edition, UnknownEdition
from speccheck.validator.editions.frozen import frozen_editions
from speccheck.validator.evidence.record import Record

_WHY_NOT = {
    "draft": "it is a draft and will change",
    "candidate": "it is a candidate and may still change until it is approved",
    "retired": "it is retired: evidence is judged by an edition that replaced it",
}


class Permission(Record):
    """Whether something may be done, and why, or why not."""

    is_given: bool
    reason: str


def may_certify(edition: Edition) -> Permission:
    """Whether certificates may be written by an edition."""
    if edition.stage != "approved":
        why = _WHY_NOT.get(edition.stage, f"its stage is {edition.stage}")
        reason = f"edition {edition.id} certifies nothing: {why}"
        return Permission(is_given=False, reason=reason)
    frozen = frozen_editions().get(edition.id)
    if frozen is not None and frozen.sha256 != edition.sha256:
        reason = (
            f"edition {edition.id} certifies nothing: its content has sha256 "
            f"{edition.sha256[:12]}, and the edition of that id was frozen on "
            f"{frozen.date} with {frozen.sha256[:12]}"
        )
        return Permission(is_given=False, reason=reason)
    since = f" and frozen on {frozen.date}" if frozen else ""
    return Permission(is_given=True, reason=f"edition {edition.id} is approved{since}")


def refuse_draft(edition: Edition) -> None:
    """Raise UnknownEdition where use certify is asked for by a draft.

    To judge by a candidate is how it comes to be approved; a draft may ask for anything
    tomorrow.
    """
    if edition.stage == "draft":
        message = (
            f"{may_certify(edition).reason}; judge for certification by an approved "
            f"edition, and by the draft with --profile ci or preflight"
        )
        raise UnknownEdition(message)
