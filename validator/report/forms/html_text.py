"""The only place where texts become markup."""

from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.style import printable

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
)


def escaped(text: str) -> str:
    """Return a text without markup, control characters, overrides and secrets."""
    return printable(hidden(text)).translate(_ESCAPES)
