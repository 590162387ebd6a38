"""The edition that a run judges by: as it was released, or with own numbers."""

from speccheck.validator.editions.edition import Edition, load_edition
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.record import Record


class SecondEdition(Record):
    """An edition of which only warnings come, beside the one that counts.

    found: its failures that the other does not give. unknown, broken: clauses that it
    could not judge and the other did not leave open either; rules that broke.
    """

    edition: Edition
    found: int = 0
    unknown: int = 0
    broken: int = 0


def edition_of(request: Request) -> Edition:
    """The edition of a request; raises UnknownEdition or TailoringFault."""
    edition = load_edition(request.spec)
    if request.tailoring is None:
        return edition
    from speccheck.validator.engine.tailoring.own_numbers import (  # noqa: PLC0415 - seldom
        tailored_by,
    )

    return tailored_by(edition, request.tailoring)


def lapsed_texts(edition: Edition) -> tuple[str, ...]:
    """That own numbers have no effect any more, a line for each."""
    if not edition.lapsed:
        return ()
    from speccheck.validator.engine.tailoring.told import lapsed_text  # noqa: PLC0415 - seldom

    return tuple(map(lapsed_text, edition.lapsed))
