"""Lengths of time: units, and how people say them."""

_MEBIBYTE, _GIBIBYTE = 2**20, 2**30


def mebibytes(amount: int) -> str:
    """Return the bytes in binary units: `64 MiB`, `1 GiB`, `23.55 GiB`."""
    if amount % _GIBIBYTE == 0:
        return f"{amount // _GIBIBYTE:,} GiB"
    if amount >= _GIBIBYTE:
        return f"{trimmed(f'{amount / _GIBIBYTE:,.2f}')} GiB"
    return f"{amount / _MEBIBYTE:,.4g} MiB"


def numbered(count: int, noun: str) -> str:
    """Return a number of things: `1 node`, `2 nodes`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def trimmed(number: str) -> str:
    """Return a number without zeros behind its point: `8.0` is 8."""
    return number.rstrip("0").rstrip(".") if "." in number else number


def gigabytes(amount: float) -> str:
    """Return the bytes as people read them, in GB of 1e9 bytes."""
    size = amount / 1e9
    digits = 0 if size >= 10 else 1  # noqa: PLR2004 - three at most
    return f"{trimmed(f'{size:,.{digits}f}')} GB"


def billions(count: float) -> str:
    """Return a number of parameters as people read it."""
    return f"{trimmed(f'{count / 1e9:,.1f}')} billion"


SECONDS_PER_DAY = 86_400
SECONDS_PER_HOUR = 3_600
MILLISECONDS_PER_SECOND = 1_000


def hours_in(seconds: float) -> float:
    """Return the seconds as hours."""
    return seconds / SECONDS_PER_HOUR


def seconds_in(hours: float) -> float:
    """Return the hours as seconds."""
    return hours * SECONDS_PER_HOUR


def milliseconds_in(seconds: float) -> float:
    """Return the seconds as milliseconds."""
    return seconds * MILLISECONDS_PER_SECOND


def days_in(seconds: float) -> float:
    """Return the seconds as days."""
    return seconds / SECONDS_PER_DAY


def duration(seconds: float) -> str:
    """Return the seconds for people: `45 s`, `38 min`, `4.2 h`, `3 d`, `5.7 years`."""
    for unit, length in (
        ("years", 31_557_600.0),
        ("d", 86_400.0),
        ("h", 3_600.0),
        ("min", 60.0),
    ):
        if seconds >= 2 * length or (unit == "h" and seconds >= length):
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"
