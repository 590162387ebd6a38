"""What fixes change, as a unified diff that `git apply` and `patch` take."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff

_NO_NEWLINE = "\\ No newline at end of file\n"


def diff_of(texts: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """The lines of the diff of all files.

    Args:
        texts: by path, before and after.
    """
    for path in sorted(texts):
        old, new = (_lines(text) for text in texts[path])
        for line in unified_diff(old, new, f"a/{path}", f"b/{path}"):
            yield line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}"


def _lines(text: str) -> list[str]:
    """The lines with their ends; a form feed or U+2028 ends none."""
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended
