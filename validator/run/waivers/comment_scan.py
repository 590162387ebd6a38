"""What a language says of the comments of a text; and comments in TOML and Python."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.document import (
    LineTable,
    SourceNode,
    TreeNode,
)
from speccheck.validator.sources.reader import Source

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
    """Return the comments that hold the mark, one more than are read at most."""
    number_lists: list[tuple[int, int]] = []
    for start, end in comments:
        if MARK.search(text, start, end):
            number_lists.append((start, end))
            if len(number_lists) > MOST_COMMENTS:
                break
    return number_lists


# No possessive quantifier of a group: until Python 3.11.4 it loses what an alternative
# gives back (CPython issue 106052). The alternatives begin with different characters.
_TOKEN = re.compile(
    r"\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*\"{3,5}|'''(?:[^']|'(?!''))*'{3,5}"
    r"|\"(?:[^\"\\\n]|\\.)*\"?|'[^'\n]*'?|(#[^\n]*)",
    re.DOTALL,
)


def scan_tree(source: Source) -> Scan:
    """Find the comments of a file that was read before; and what follows a line."""
    text = source.text
    lines = LineTable(text)
    blocks: dict[int, int] = {}
    headers: list[int] = []
    for document in source.documents:
        root = document.nodes()
        calls = [root.value] if source.language == "python" else []
        for start, end in (*calls, *_extents(root, text)):
            first = lines.place(start)[0]
            if end < 0:
                headers.append(first)
            else:
                last = lines.place(max(start, end - 1))[0]
                blocks[first] = max(last, blocks.get(first, 0))
    _add_tables(blocks, sorted(headers), lines.place(len(text.rstrip()))[0])
    firsts = sorted(blocks)

    def block(line: int) -> Lines | None:
        index = bisect_right(firsts, line)
        return None if index == len(firsts) else (firsts[index], blocks[firsts[index]])

    return Scan(marked(text, _comments(text)), block)


def _add_tables(blocks: dict[int, int], headers: list[int], end: int) -> None:
    """Add the tables: each goes up to the next header of any kind."""
    for index, first in enumerate(headers):
        blocks[first] = headers[index + 1] - 1 if index + 1 < len(headers) else end


def _extents(root: SourceNode, text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of keys and of items of lists; -1 ends a header."""
    pending: list[SourceNode] = [root]
    while pending:
        node = pending.pop()
        if not isinstance(node, TreeNode):
            continue
        pending.extend((node.children or {}).values())
        start, end = node.value
        if node is root:
            continue
        is_table = node.children is not None and text.startswith("[", start)
        if is_table and (node.key is None or node.key[0] > start):
            before = text[text.rfind("\n", 0, start) + 1 : start]
            if not before.strip():
                yield start, -1
                continue
        yield (start if node.key is None else node.key[0]), end


def _comments(text: str) -> Iterator[tuple[int, int]]:
    tokens = _TOKEN.finditer(text)
    return (token.span(1) for token in tokens if token[1] is not None)
