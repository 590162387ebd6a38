"""Lengths of time: units, and how people say them."""

SECONDS_PER_DAY = 86_400
SECONDS_PER_HOUR = 3_600
MILLISECONDS_PER_SECOND = 1_000


def hours_in(seconds: float) -> float:
    """Seconds as hours."""
    return seconds / SECONDS_PER_HOUR


def seconds_in(hours: float) -> float:
    """Hours as seconds."""
    return hours * SECONDS_PER_HOUR


def milliseconds_in(seconds: float) -> float:
    """Seconds as milliseconds."""
    return seconds * MILLISECONDS_PER_SECOND


def days_in(seconds: float) -> float:
    """Seconds as days."""
    return seconds / SECONDS_PER_DAY


def duration(seconds: float) -> str:
    """Seconds as people say them: `45 s`, `38 min`, `4.2 h`, `3 d`."""
    for unit, length in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 2 * length or (unit == "h" and seconds >= length):
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"
