"""Words as a shell reads them back, in the quotes of those that they replace."""

from speccheck.validator.changes.fixes.edit import CannotEdit
from speccheck.validator.evidence.finding import Scalar
from speccheck.validator.evidence.lazy_pattern import lazy_pattern

# What no shell, and no reader of environment files, takes for anything but text.
_PLAIN = lazy_pattern(r"[A-Za-z0-9_@%+=:,./^-]+")


def shell_text(value: Scalar) -> str:
    """A value as the text that a variable or an option gets."""
    if value is None:
        message = "a text must be written, not null"
        raise CannotEdit(message)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if not text.isprintable():
        message = "the value holds characters that only an escape could write"
        raise CannotEdit(message)
    return text


def shell_word(text: str, like: str = "") -> str:
    """A text as one word, in the quotes of another word, in quotes if it needs some."""
    quote = like[:1] if like[:1] in {"'", '"'} and like[:1] == like[-1:] else ""
    if not quote and _PLAIN.fullmatch(text):
        return text
    if quote != '"' and "'" not in text:
        return f"'{text}'"
    for sign in '\\"`$':
        text = text.replace(sign, "\\" + sign)
    return f'"{text}"'


def demand_plain(written: str) -> None:
    """Raise CannotEdit for a text that only the running shell can tell."""
    if "$" in written or "`" in written:
        message = "the shell works the value out"
        raise CannotEdit(message)
    quote = written[:1]
    is_quoted = quote in {"'", '"'} and written[-1:] == quote and len(written) > 1
    inner = written[1:-1] if is_quoted else written
    if "'" in inner or '"' in inner or "\\" in inner or "\n" in inner:
        message = "the value is put together from several quoted parts"
        raise CannotEdit(message)
