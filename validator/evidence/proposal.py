"""A change of settings that was tried, and what came of it."""

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place


class Setting(Record):
    """One value to change: the leaf, and the keys of the files that state it.

    keys: empty where no file has a key that holds the value of the leaf as it is.
    """

    leaf: str
    before: object  # None where it is not known
    after: object
    keys: tuple[Place, ...] = ()


class Proposal(Record):
    """Settings under which a failed rule no longer fails, and no new error appears.

    Attributes:
        settings: what to change, the fewest that were found.
        verified: the rule holds then, and no new error appears.
        because: the numbers, of what holds or of what cannot be judged.
        missing: the leaves that would let it be judged, where it cannot be.
        errors: rules that fail then, and that a smaller job need not meet.
        warnings: rules that fail then, as no error, and did not before.
        what_if: the values to set, as `--what-if` takes them.

    """

    settings: tuple[Setting, ...]
    verified: bool
    because: str
    missing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    what_if: tuple[str, ...] = ()
