"""The day that counts as today, in UTC.

SOURCE_DATE_EPOCH (seconds since 1970, https://reproducible-builds.org/specs) fixes it,
so that a report can be made again as it was.
"""

import os
import time

from speccheck.validator.engine.policy import WaiverFault

VARIABLE = "SOURCE_DATE_EPOCH"
_LAST = 253_402_300_799  # of the year 9999


def today() -> str:
    """The date of now in UTC; raises WaiverFault for a fixed one that is no date."""
    text = os.environ.get(VARIABLE)
    seconds = time.time() if not text else -1
    if text and len(text) < len(str(_LAST)) + 1 and text.isdecimal():
        seconds = int(text)
    if not 0 <= seconds <= _LAST:
        message = f"{VARIABLE}={text}"[:60]
        message += ": must be whole seconds since 1970-01-01 UTC"
        raise WaiverFault(message)
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def is_date(text: str) -> bool:
    """Whether a text of four, two and two digits is a date."""
    from datetime import date  # noqa: PLC0415 - 2 ms, and few waivers have a last day

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def days_left(until: str, now: str) -> int | None:
    """The days up to and without the last one; None where there is no last day."""
    if not until:
        return None
    from datetime import date  # noqa: PLC0415 - as above

    return (date.fromisoformat(until) - date.fromisoformat(now)).days
