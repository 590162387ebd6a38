"""Edits of shell scripts: variables, options of commands, arrays, lines for Slurm."""

from speccheck.validator.changes.fixes.edit import (
    CannotEdit,
    Edit,
    Edits,
    added_line,
    edited,
    line_end,
    line_start,
    line_stop,
    newline,
)
from speccheck.validator.changes.fixes.shell_quotes import (
    demand_plain,
    shell_text,
    shell_word,
)
from speccheck.validator.changes.fixes.shell_target import (
    Extent,
    Target,
    is_declaration,
    target_at,
    texts_of,
)
from speccheck.validator.evidence.finding import Change
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import Span

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z_0-9]*")
_BEHIND = lazy_pattern(r"[ \t]*(?:#.*)?")
_CONTINUED = lazy_pattern(r"[ \t]*\\\r?\n$")


def script_edits(text: str, region: Extent, offset: int, change: Change) -> Edits:
    """The edits of a change in a script that is a part of a text, verified.

    Args:
        text: of the whole file.
        region: where the script stands in it.
        offset: of the value or the name that is changed.
        change: what to do.

    Raises:
        CannotEdit: it cannot be done without changing anything else.
    """
    target = target_at(text, region, offset, change.place.key)
    key = change.place.key
    is_variable = _NAME.fullmatch(text[slice(*target.name)]) is not None
    if is_variable and key.startswith("-") and change.kind != "set":
        message = f"its value comes from another place of the script than {key}"
        raise CannotEdit(message)
    if is_variable and change.kind in {"rename", "remove"}:
        _demand_unused(text, region, target)
    if change.kind == "set":
        edits = _set(text, target, change)
    elif change.kind == "rename":
        edits = (Edit(*target.name, change.name),)
    elif change.kind == "remove":
        edits = _removed(text, target)
    else:
        edits = _added(text, target, change)
    _verify(text, target, edits, change)
    return edits


def offset_of(text: str, span: Span) -> int:
    """The offset at which a span begins."""
    offset = 0
    for _ in range(span.line - 1):
        offset = line_end(text, offset)
    return offset + span.column - 1


def _demand_unused(text: str, region: Extent, target: Target) -> None:
    """A variable that the script uses elsewhere must keep its name."""
    name = text[slice(*target.name)]
    script = text[slice(*region)]
    uses = lazy_pattern(rf"\$\{{?!?{name}\b|\b{name}=|\bunset\b[^\n]*\b{name}\b")
    if sum(1 for _ in uses.finditer(script)) > (target.joint == "="):
        message = f"{name} is used or set at another place of the script as well"
        raise CannotEdit(message)


def _set(text: str, target: Target, change: Change) -> Edits:
    if target.value is None:
        message = f"{change.place.key} takes no value there"
        raise CannotEdit(message)
    old = text[slice(*target.value)]
    demand_plain(old)
    value = shell_text(change.value)
    if target.in_list and shell_word(value) != value:
        message = "the value would need quotes in a list of variables"
        raise CannotEdit(message)
    return (Edit(*target.value, shell_word(value, old)),)


def _removed(text: str, target: Target) -> Edits:
    run = target.run
    if target.in_list:
        start, end = target.name[0], (target.value or target.name)[1]
        if text[start - 1] != ",":
            message = "it is the first of its list"
            raise CannotEdit(message)
        return (Edit(start - 1, end, ""),)
    removed = run.words[target.first : target.last + 1]
    rest = [one for one in run.words if one not in removed]
    if not run.is_array and rest == list(is_declaration(text, run)):
        return (_statement(text, target),)
    if not rest:
        message = "nothing would be left of the command or array"
        raise CannotEdit(message)
    start, end = removed[0][0], removed[-1][1]
    first, stop = line_start(text, start), line_stop(text, end)
    before, behind = text[first:start], text[end:stop]
    is_alone = first >= target.region[0] and not before.strip()
    if is_alone and (
        behind.strip() == "\\" or (run.is_array and _BEHIND.fullmatch(behind))
    ):
        return (Edit(first, line_end(text, end), ""),)
    if is_alone and not behind.strip():
        continued = _CONTINUED.search(text, 0, first)
        if continued is not None:
            return (Edit(continued.start(), stop, ""),)
    if is_alone or target.first == 0:
        following = [one for one, _ in run.words if one >= end]
        if following and following[0] <= stop:
            return (Edit(start, following[0], ""),)
    blank = len(text[:start]) - len(text[:start].rstrip(" \t"))
    return (Edit(start - blank, end, ""),)


def _statement(text: str, target: Target) -> Edit:
    """Remove the lines of a command that is nothing but the assignment."""
    start, end = target.run.words[0][0], target.run.words[-1][1]
    first, stop = line_start(text, start), line_stop(text, end)
    if target.run.is_only:
        message = "nothing else stands in its branch, loop or list of commands"
        raise CannotEdit(message)
    is_alone = first >= target.region[0] and stop <= max(target.region[1], end)
    if (
        not is_alone
        or text[first:start].strip()
        or not _BEHIND.fullmatch(text[end:stop])
        or text[:first].endswith(("\\\n", "\\\r\n"))
    ):
        message = "another command stands on its line"
        raise CannotEdit(message)
    return Edit(first, line_end(text, end), "")


def _added(text: str, target: Target, change: Change) -> Edits:
    if target.in_list:
        stop = (target.value or target.name)[1]
        value = shell_word(shell_text(change.value))
        return (Edit(stop, stop, f",{change.name}={value}"),)
    run, word = target.run, _word(text, target, change)
    start, end = run.words[target.first][0], run.words[target.last][1]
    first = line_start(text, start)
    before, behind = text[first:start], text[end : line_stop(text, end)]
    declaring = is_declaration(text, run)
    is_statement = not run.is_array and len(run.words) == len(declaring) + 1
    if is_statement and _NAME.fullmatch(change.name) and first >= target.region[0]:
        command = text[run.words[0][0] : target.name[0]]
        before = text[first : run.words[0][0]]
        if before.strip():
            message = "another command stands on its line"
            raise CannotEdit(message)
        return (added_line(text, end, before + command + word),)
    if not before.strip() and first >= target.region[0]:
        if behind.strip() == "\\":
            return (added_line(text, end, f"{before}{word}{behind.rstrip()}"),)
        if run.is_array and _BEHIND.fullmatch(behind):
            return (added_line(text, end, before + word),)
        if not behind.strip() and _CONTINUED.search(text, 0, first):
            return (Edit(end, end, f" \\{newline(text, first - 1)}{before}{word}"),)
    return (Edit(end, end, f" {word}"),)


def _word(text: str, target: Target, change: Change) -> str:
    """What is added, written as what it stands beside: `--x v`, `--x=v`, `-x A=1`."""
    if change.value is None:
        return change.name
    value = shell_word(shell_text(change.value), _old(text, target))
    is_option = change.place.key.startswith("-")
    if is_option and target.joint != "=":
        return f"{change.name} {value}"
    word = f"{change.name}={value}"
    if target.first < target.last and target.joint == "=":
        word = text[target.run.words[target.first][0] : target.name[0]] + word
    return word


def _old(text: str, target: Target) -> str:
    """The value that shows which quotes to use; none that a shell works out."""
    old = text[slice(*target.value)] if target.value else ""
    return "" if "$" in old else old


def _verify(text: str, target: Target, edits: Edits, change: Change) -> None:
    """Read the script again: its words are the same but for what was changed."""
    start, end = target.region
    inner = tuple(Edit(one.start - start, one.end - start, one.text) for one in edits)
    old = text[start:end]
    before, refused = texts_of(old)
    after, refused_after = texts_of(edited(old, inner))
    gone, come = _difference(before, after)
    counts = (len(gone), len(come))
    words = target.last - target.first + 1
    if change.kind == "remove":
        is_right = not come and words <= counts[0] <= words + 2
        is_right = is_right or (target.in_list and counts == (1, 1))
    elif change.kind == "add":
        is_right = not gone or (target.in_list and counts == (1, 1))
    else:
        is_right = counts in {(1, 1), (0, 0)}
    if not is_right or refused_after > refused:
        message = "the script would not read back as the same but for this"
        raise CannotEdit(message)


def _difference(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """The words between the first and the last that differ."""
    least = min(len(before), len(after))
    head = next((at for at in range(least) if before[at] != after[at]), least)
    tail = 0
    while tail < least - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return before[head : len(before) - tail], after[head : len(after) - tail]
