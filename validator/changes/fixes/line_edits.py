"""Edits of files whose lines each set one variable, and of lines for Slurm."""

from speccheck.validator.changes.fixes.edit import (
    CannotEdit,
    Edit,
    Edits,
    added_line,
    edited,
    line_end,
    line_start,
    line_stop,
)
from speccheck.validator.changes.fixes.shell_edits import offset_of
from speccheck.validator.changes.fixes.shell_quotes import (
    demand_plain,
    shell_text,
    shell_word,
)
from speccheck.validator.evidence.finding import Change
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import Span

_LINE = lazy_pattern(
    r"([ \t]*(?:export[ \t]+)?)([A-Za-z_][A-Za-z_0-9]*)([ \t]*=[ \t]*)"
    r"(\"[^\"\n]*\"|'[^'\n]*'|.*?)([ \t]*(?:(?<=[ \t])#.*)?)\r?\n?"
)
_BARE_LINE = lazy_pattern(r"([ \t]*)([^=\s]+)([ \t]*=)(.*?)()\r?\n?")
_DIRECTIVE = lazy_pattern(r"(--[\w-]+|-\w)(=|[ \t]+|)(.*)")
_SBATCH = "#SBATCH"


def is_line_file(name: str) -> bool:
    """Whether a file is read line by line, by no shell."""
    base = name.rpartition("/")[2]
    return base.endswith(".env") or base.startswith(".env") or _is_bare(name)


def _is_bare(name: str) -> bool:
    """Whether all after the equal sign is the value: `nccl.conf`."""
    return name.rpartition("/")[2] in {"nccl.conf", ".nccl.conf"}


def line_edits(name: str, text: str, span: Span, change: Change) -> Edits:
    """The edits of a change in an environment file; raises CannotEdit."""
    first = line_start(text, offset_of(text, span))
    pattern = _BARE_LINE if _is_bare(name) else _LINE
    found = pattern.fullmatch(text, first, line_end(text, first))
    key = change.place.key
    if found is None or found[2] != key:
        message = f"its line sets no {key}"
        raise CannotEdit(message)
    if change.kind in {"rename", "remove"}:
        uses = lazy_pattern(rf"\$\{{?{key}\b|^[ \t]*(?:export[ \t]+)?{key}[ \t]*=")
        if sum(bool(uses.search(line)) for line in text.split("\n")) > 1:
            message = f"{key} is used or set on another line as well"
            raise CannotEdit(message)
    if change.kind == "rename":
        # Blanks around a name are a part of it for NCCL.
        whole = (found.start(1), found.end(3) - 1)
        return (Edit(*(whole if _is_bare(name) else found.span(2)), change.name),)
    if change.kind == "remove":
        return (Edit(first, found.end(), ""),)
    text_of = shell_text(change.value)
    if not _is_bare(name):
        if change.kind == "set":
            demand_plain(found[4])
        text_of = shell_word(text_of, found[4] if "$" not in found[4] else "")
    if change.kind == "set":
        return (Edit(*found.span(4), text_of),)
    line = f"{found[1]}{change.name}{found[3]}{text_of}"
    return (added_line(text, first, line),)


def is_directive(text: str, span: Span) -> bool:
    """Whether a span stands in a line of options for sbatch."""
    offset = offset_of(text, span)
    return text.startswith(_SBATCH, line_start(text, offset))


def directive_edits(text: str, span: Span, change: Change) -> Edits:
    """The edits of a change in a `#SBATCH` line; raises CannotEdit."""
    offset = offset_of(text, span)
    first, stop = line_start(text, offset), line_stop(text, offset)
    found = _DIRECTIVE.fullmatch(text, offset, min(offset + span.length, stop))
    if found is None:
        message = "its line holds no such option"
        raise CannotEdit(message)
    start, end = found.span()
    if change.kind == "rename":
        return (Edit(*found.span(1), change.name),)
    if change.kind == "remove":
        rest = text[first:start] + text[end:stop]
        if not rest.replace(_SBATCH, "", 1).partition("#")[0].strip():
            return (Edit(first, line_end(text, end), ""),)
        blank = len(text[first:start]) - len(text[first:start].rstrip())
        return (Edit(start - blank, end, ""),)
    if change.kind == "add":
        value = "" if change.value is None else f"={_word(change)}"
        return (added_line(text, offset, f"{_SBATCH} {change.name}{value}"),)
    if not found[3]:
        message = f"{found[1]} has no value there"
        raise CannotEdit(message)
    demand_plain(found[3])
    return (Edit(*found.span(3), _word(change, found[3])),)


def _word(change: Change, like: str = "") -> str:
    return shell_word(shell_text(change.value), like)


def demand_same_lines(old: str, edits: Edits, change: Change) -> None:
    """Raise CannotEdit unless an edit touches one line alone."""
    before, after = old.split("\n"), edited(old, edits).split("\n")
    more = {"add": 1, "remove": -1}.get(change.kind, 0)
    touched = {line_start(old, edit.start) for edit in edits}
    if len(touched) > 1 or len(after) - len(before) not in {more, 0}:
        message = "more than its line would change"
        raise CannotEdit(message)
