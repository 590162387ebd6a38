"""The editions that come with speccheck, beside each other."""

from speccheck.validator.editions.edition import (
    DEFAULT_EDITION,
    Edition,
    editions,
    load_edition,
)


def edition_with(clause_id: str) -> Edition:
    """Return the default edition, or the oldest other that has a clause.

    For pages on a rule: a draft may have clauses that the default edition lacks. Raises
    KeyError where none has it.
    """
    for name in (DEFAULT_EDITION, *editions()):
        edition = load_edition(name)
        if clause_id in edition.clauses:
            return edition
    raise KeyError(clause_id)
