"""The editions that come with speccheck, beside each other."""

from speccheck.validator.editions.edition import Edition, editions, load_edition


def edition_with(clause_id: str) -> Edition:
    """The oldest edition that has a clause; raises KeyError where none has.

    For whoever tells about a rule: a draft may have clauses that no edition before has.
    """
    for name in editions():
        edition = load_edition(name)
        if clause_id in edition.clauses:
            return edition
    raise KeyError(clause_id)
