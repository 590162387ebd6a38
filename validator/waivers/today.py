"""The day that counts as today, in UTC.

SOURCE_DATE_EPOCH (seconds since 1970, https://reproducible-builds.org/specs) fixes it,
so that a report can be made again as it was.
"""

import os
from datetime import UTC, date, datetime

from speccheck.validator.policy import WaiverFault

VARIABLE = "SOURCE_DATE_EPOCH"


def today() -> date:
    """The date of now in UTC; raises WaiverFault for a fixed one that is no date."""
    text = os.environ.get(VARIABLE)
    if not text:
        return datetime.now(UTC).date()
    try:
        return datetime.fromtimestamp(int(text), UTC).date()
    except (ValueError, OverflowError, OSError):
        message = f"{VARIABLE}={text[:40]}: must be whole seconds since 1970-01-01 UTC"
        raise WaiverFault(message) from None


def days_left(until: str, now: date) -> int | None:
    """The days up to and without the last one; None where there is no last day."""
    return (date.fromisoformat(until) - now).days if until else None
