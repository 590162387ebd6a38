"""Files that a template engine, `sed` or a shell still has to fill in.

They are not wrong, only not configurations yet, and get an error of their own kind.
"""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.document import LineTable, ReadError

_REMEDY = "render it first (helm template, jinja, sed, envsubst) and pass the result"
_SHOWN = 60  # characters of a placeholder in a message

# Quoted texts and comments of YAML, JSON and TOML. Closing quotes may be missing, so
# that no text makes the search start over.
_QUOTED_OR_COMMENT = lazy_pattern(
    r"\"(?:[^\"\\]|\\.)*+\"?|(?<!\w)'[^']*+'?|(?:^|(?<=\s))(?:#|//).*"
)
_MARKER = lazy_pattern(r"\{\{|\{%")
# Where `{{` cannot be in the middle of a plain YAML scalar, which may hold it.
_MARKER_AT_START = lazy_pattern(r"(?:^\s*|[:=]\s+|-\s+|[\[,]\s*)(?:\{\{|\{%)")
_ENGINE_PLACEHOLDER = lazy_pattern(r"\{\{.*?\}\}|\{%.*?%\}|\{\{.*|\{%.*")
_PLACEHOLDER = lazy_pattern(
    r"\$\{[^}\n]*\}|\$\w+|%\(\w+\)\w?|<[A-Za-z]\w*>|@\w+@|__\w+__"
)
# DeepSpeed's examples leave ZERO_STAGE, CL_1st_MAX, QuantW_FORWARD for sed.
_BARE_WORD = lazy_pattern(r"\w*[A-Z]\w*")


def template_marker(text: str, lines: LineTable, line: int) -> int | None:
    """The offset of the `{{` or `{%` that explains an error at `line`, or None.

    It stands outside quotes and comments, on this line or the one before, or further up
    at the start of a value, where no language reads it as text.
    """
    if "{{" not in text and "{%" not in text:
        return None
    for number in range(line, 0, -1):
        row = lines.line(number)
        plain = _QUOTED_OR_COMMENT.sub(lambda found: " " * len(found[0]), row)
        pattern = _MARKER if number >= line - 1 else _MARKER_AT_START
        found = pattern.search(plain)
        if found is not None:
            return lines.offset(number) + found.end() - 2
    return None


def placeholder(text: str, offset: int, *, bare_words: bool) -> str | None:
    """The placeholder that begins at an offset, also a bare word such as ZERO_STAGE."""
    found = _PLACEHOLDER.match(text, offset)
    if found is None and bare_words:
        found = _BARE_WORD.match(text, offset)
    return found[0] if found else None


def template_error(
    name: str, text: str, offset: int, word: str | None = None
) -> ReadError:
    """The error for a template, shown by what it leaves open at an offset."""
    if word is None:
        found = _ENGINE_PLACEHOLDER.match(text, offset)
        word = found[0] if found else text[offset : offset + 2]
    return ReadError(
        name,
        "template",
        f"a template, not a configuration yet: {word[:_SHOWN]} is not filled in",
        _REMEDY,
        LineTable(text).place(offset),
    )
