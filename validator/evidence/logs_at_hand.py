"""That the log of a run is at hand: all that rules on plans need to know of it."""


class LogsAtHand:
    """Series of a run are at hand: they show themselves what its files leave open."""

    __slots__ = ()
