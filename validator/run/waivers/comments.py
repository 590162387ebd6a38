"""Comments in TOML, and the keys and tables that follow them."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
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


_FOREIGN_MARK = lazy_pattern(r"(?://|/\*|#)[ \t*]*speccheck:[ \t]*[A-Za-z]")
_JSON_TOKEN = lazy_pattern(
    r"\"(?:[^\"\\\n]|\\.)*\"?|(//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)"
)


class Comment(Record):
    """A comment with what it says after `speccheck:`, and the lines that it means.

    first, last: of the file; both 0 where nothing follows. is_foreign: of a language in
    which no comment waives anything. text_of_line: the line on which it stands.
    """

    line: int
    column: int
    length: int
    says: str
    first: int
    last: int
    text_of_line: str
    is_foreign: bool = False


def comments_of(source: Source) -> Iterator[Comment]:
    """The comments of a file; of scripts that it holds, see `comments_of_script`."""
    text = source.text
    lines = LineTable(text)
    if source.language == "json":
        yield from _foreign(text, lines)
        return
    yield from _meant(text, lines, _scan(source))


def comments_of_script(script: Source, text: str) -> Iterator[Comment]:
    """Yield the comments of a script inside a document, with the lines of the file.

    Args:
        script: the script, as a document holds it.
        text: of the whole file.

    """
    from speccheck.validator.run.waivers.shell_comments import scan_shell  # noqa: PLC0415

    own = script.own_text
    comments = list(_meant(own, LineTable(own), scan_shell(own)))
    if not comments:
        return
    numbers = tuple(
        n
        for comment in comments
        for n in (comment.line, comment.first or 1, comment.last or 1)
    )
    moved = script.lines_in_file(numbers)
    lines = LineTable(text)
    for index, comment in enumerate(comments):
        line, first, last = moved[3 * index : 3 * index + 3]
        written = lines.line(line).rstrip("\r\n")
        mark = MARK.search(written)
        column = mark.start() + 1 if mark else 1
        length = min(comment.length, len(written) - column + 1)
        meant = (first, last) if comment.first else (0, 0)
        yield Comment(line, column, length, comment.says, *meant, written)


def _scan(source: Source) -> Scan:
    if source.language == "yaml":
        from speccheck.validator.run.waivers.yaml_comments import (  # noqa: PLC0415
            scan_yaml,
        )

        return scan_yaml(source.name, source.text)
    if source.language == "toml":
        return scan_toml(source)
    from speccheck.validator.run.waivers.shell_comments import scan_shell  # noqa: PLC0415

    return scan_shell(source.text)


def _json_comments(text: str) -> Iterator[tuple[int, int]]:
    tokens = _JSON_TOKEN.finditer(text)
    return (token.span(1) for token in tokens if token[1] is not None)


def _foreign(text: str, lines: LineTable) -> Iterator[Comment]:
    for start, end in _json_comments(text):
        match = _FOREIGN_MARK.match(text, start, end)
        if match is not None:
            line, column = lines.place(start)
            says = text[match.end() - 1 : end]
            written = lines.line(line).rstrip("\r\n")
            length = min(end - start, len(written) - column + 1)
            yield Comment(line, column, length, says, 0, 0, written, is_foreign=True)


def _meant(text: str, lines: LineTable, scan: Scan) -> Iterator[Comment]:
    for start, end in scan.comments:
        line, column = lines.place(start)
        written = lines.line(line).rstrip("\r\n")
        is_alone = not written[: column - 1].strip()
        match = _mark(text, start, end, is_alone=is_alone)
        if match is None:
            continue
        is_trailing = not is_alone or match.start() > start
        meant = scan.stretch(line) if is_trailing else scan.block(line) or (0, 0)
        says = text[match.end() : end].strip()
        at = match.start() - start + column
        yield Comment(line, at, end - match.start(), says, *meant, written)


def _mark(text: str, start: int, end: int, *, is_alone: bool) -> re.Match[str] | None:
    """Return the mark in a comment.

    After other words it counts only beside a setting: a line that was commented out
    takes its waiver along. A directive of Slurm is a setting.
    """
    match = MARK.match(text, start, end)
    if match is None and (not is_alone or text.startswith("#SBATCH", start)):
        match = MARK.search(text, start, end)
    return match


# No possessive quantifier of a group: until Python 3.11.4 it loses what an alternative
# gives back (CPython issue 106052). The alternatives begin with different characters.
_TOKEN = re.compile(
    r"\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*\"{3,5}|'''(?:[^']|'(?!''))*'{3,5}"
    r"|\"(?:[^\"\\\n]|\\.)*\"?|'[^'\n]*'?|(#[^\n]*)",
    re.DOTALL,
)


def scan_toml(source: Source) -> Scan:
    """Find the comments of a file that was read before; and what follows a line."""
    text = source.text
    lines = LineTable(text)
    blocks: dict[int, int] = {}
    headers: list[int] = []
    for document in source.documents:
        for start, end in _extents(document.nodes(), text):
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
    """Start and end of keys and of items of lists; an end of -1 for a header."""
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
