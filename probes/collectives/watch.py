"""What one thread does, for the one that watches it: a step may take only so long."""

import time

from speccheck.validator.evidence.record import Record


class WatchedStep(Record):
    """Something that others have a part in, and that hangs when they are gone."""

    name: str
    began: float
    limit_seconds: float


class Watch:
    """Holds the step that is under way; one thread writes it, others read."""

    def __init__(self) -> None:
        """Start without a step."""
        self.step: WatchedStep | None = None

    def begin(self, name: str, limit_seconds: float) -> None:
        """Go to the next step."""
        self.step = WatchedStep(name, time.monotonic(), limit_seconds)

    def end(self) -> None:
        """Note that nothing is under way that may hang."""
        self.step = None

    def overdue(self) -> WatchedStep | None:
        """Return the step, if it takes too long."""
        step = self.step
        if step is None or time.monotonic() - step.began <= step.limit_seconds:
            return None
        return step
