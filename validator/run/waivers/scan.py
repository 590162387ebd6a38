"""What a language says of a text: which of it are comments, and what follows a line."""

import re
from collections.abc import Callable, Iterable, Sequence

from speccheck.validator.evidence.record import Record

# Nobody writes more of them in one file; each may become a finding.
MOST_COMMENTS = 1_000
MARK = re.compile(r"#[ \t]*speccheck:")

Lines = tuple[int, int]
Block = Callable[[int], Lines | None]


class Scan(Record):
    """What a language says of a text.

    comments: start and end of those that hold the mark, in order. block: the lines of
    what follows a line. stretch: the lines that belong to one.
    """

    comments: Sequence[tuple[int, int]]
    block: Block
    stretch: Callable[[int], Lines] = lambda line: (line, line)


def marked(text: str, comments: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The comments that hold the mark, one more than are read at most."""
    found: list[tuple[int, int]] = []
    for start, end in comments:
        if MARK.search(text, start, end):
            found.append((start, end))
            if len(found) > MOST_COMMENTS:
                break
    return found
