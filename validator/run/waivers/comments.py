"""Comments of a file that waive failures, and the lines that each of them means."""

import re
from collections.abc import Iterator

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.run.waivers.comment_scan import MARK, Scan, scan_tree
from speccheck.validator.sources.documents.document import LineTable
from speccheck.validator.sources.reader import Source

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
    """Yield the comments of a file; of scripts in it, see `comments_of_script`."""
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
    if source.language in {"toml", "python"}:
        return scan_tree(source)
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
