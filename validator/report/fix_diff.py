"""What fixes change, as a unified diff that `git apply` and `patch` take."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff

from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.style import printable

_NO_NEWLINE = "\\ No newline at end of file\n"


def diff_of(texts: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """The lines of the diff of all files.

    Credentials stand as stars, control characters as escapes: a hunk with one of them
    is to be read, and does not apply.

    Args:
        texts: by path, before and after.
    """
    for path in sorted(texts):
        old, new = (_lines(text) for text in texts[path])
        shown = printable(path)
        for line in unified_diff(old, new, f"a/{shown}", f"b/{shown}"):
            yield _shown(line)


def _lines(text: str) -> list[str]:
    """The lines with their ends; a form feed or U+2028 ends none."""
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _shown(line: str) -> str:
    body = line.removesuffix("\n")
    end = line[len(body) :] or f"\n{_NO_NEWLINE}"
    text = body.removesuffix("\r")
    end = body[len(text) :] + end
    parts = (printable(part) for part in text.split("\t"))
    return hidden("\t".join(parts)) + end
