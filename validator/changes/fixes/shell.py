"""Edits of files whose lines each set one variable, and of lines for Slurm."""

import re
from collections.abc import Iterator, Sequence

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
from speccheck.validator.evidence.finding import Change, Scalar
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.shell.parser import Parser
from speccheck.validator.sources.shell.syntax import (
    AndOr,
    Block,
    Case,
    CommandGroup,
    For,
    Function,
    If,
    Pipeline,
    Simple,
    Statement,
    While,
)

# What no shell, and no reader of environment files, takes for anything but text.
_PLAIN = lazy_pattern(r"[A-Za-z0-9_@%+=:,./^-]+")


def shell_text(value: Scalar) -> str:
    """Return a value as the text that a variable or an option gets."""
    if value is None:
        message = "a text must be written, not null"
        raise CannotEdit(message)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if not text.isprintable():
        message = "the value holds characters that only an escape could write"
        raise CannotEdit(message)
    return text


def shell_word(text: str, like: str = "") -> str:
    """Return a text as one word, in quotes like those of another word, or as needed."""
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


Extent = tuple[int, int]

_IDENTIFIER = lazy_pattern(r"[A-Za-z_][A-Za-z_0-9]*")
# Of `-x NAME=value`; `-genv NAME value` takes two words.
_GIVING = frozenset({"-x", "-e", "--env", "-env", "-genv"})
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_PAIR = lazy_pattern(r"[+~-]*([^=\s'\"]+)=")
_MOST_LEVELS = 4  # of scripts within words of scripts


class CommandRun(Record):
    """Words that follow each other: of a command, or of an array.

    is_only: nothing else stands in the branch or loop that holds the command.
    """

    words: tuple[Extent, ...]
    is_array: bool = False
    is_only: bool = False


class Target(Record):
    """A variable or an option among the words of a run.

    first, last: the words that go with it when it is removed.
    name, value: where these stand; no value for a switch.
    joint: what stands between both: `=` or a blank.
    region: the innermost script or text that holds the words.
    in_list: one of several between commas, as `--export=ALL,A=1,B=2` has it.
    """

    run: CommandRun
    first: int
    last: int
    name: Extent
    value: Extent | None
    joint: str
    region: Extent
    in_list: bool = False


def parsed(text: str) -> tuple[Block, int]:
    """Return the statements of a script, and how much of it a shell would refuse."""
    refused: list[str] = []
    unix = text.replace("\\\r\n", " \\\n").replace("\r\n", " \n")
    block = Parser(unix, lambda message, _: refused.append(message)).script()
    return block, len(refused)


def target_at(text: str, region: Extent, offset: int, key: str) -> Target:
    """Return what `key` names at an offset; raises CannotEdit in doubt.

    An option whose value is that of a variable, which nothing else uses, is the
    variable: `--nnodes $NODES` is changed where NODES is set.
    """
    whole = region
    for _ in range(_MOST_LEVELS):
        target = _target(text, region, offset, key)
        if isinstance(target, Target):
            return target
        if target is None or target == region:
            break
        region = target
    if key.startswith("-"):
        variable = _variable_at(text, whole, offset)
        if variable is not None:
            return variable
    name = "a variable" if _IDENTIFIER.fullmatch(key) else "an option"
    message = f"its value comes from another place of the script than {name} {key}"
    raise CannotEdit(message)


def _target(text: str, region: Extent, offset: int, key: str) -> Target | Extent | None:
    """Return the target, or the inner script or text that may hold it."""
    base, end = region
    block, _ = parsed(text[base:end])
    at = offset - base
    for simple, is_only in simples(block):
        for document in simple.documents:
            if document.start <= at < document.end:
                return base + document.start, base + document.end
        run = _run_at(simple, at)
        if run is None:
            continue
        words = tuple((base + start, base + stop) for start, stop in run.words)
        moved = CommandRun(words, run.is_array, is_only and not run.is_array)
        index = next(
            index
            for index, (start, stop) in enumerate(words)
            if start <= offset < max(stop, start + 1) or offset == stop
        )
        target = _among(text, moved, index, offset, key)
        if target is not None:
            return target._replace(region=region)
        return _inside(text, words[index])
    return None


def _variable_at(text: str, region: Extent, offset: int) -> Target | None:
    """Return the variable whose whole value is at an offset, if used only once."""
    base, end = region
    block, _ = parsed(text[base:end])
    for simple, is_only in simples(block):
        for assignment in simple.assignments:
            start, first, stop = (
                base + at
                for at in (
                    assignment.start,
                    assignment.value.start,
                    assignment.value.end,
                )
            )
            bare = first + (text[first : first + 1] in {"'", '"'})
            uses = re.findall(rf"\$\{{?{assignment.name}\b", text[base:end])
            if (
                offset in {first, bare}
                and assignment.elements is None
                and len(uses) == 1
            ):
                run = CommandRun(words_of(simple), is_only=is_only)
                run = run._replace(
                    words=tuple(
                        (base + left, base + right) for left, right in run.words
                    )
                )
                index = run.words.index((start, stop))
                name = start, start + len(assignment.name)
                return Target(run, index, index, name, (first, stop), "=", region)
    return None


def simples(block: Block, *, nested: bool = False) -> Iterator[tuple[Simple, bool]]:
    """Yield all simple commands, and whether each is the only one of a nested block."""
    for statement in block:
        if isinstance(statement, Simple):
            yield statement, nested and len(block) == 1
            continue
        for inner, is_bound in _inner(statement):
            yield from simples(inner, nested=is_bound)


def _inner(statement: Statement) -> Iterator[tuple[Block, bool]]:
    """Yield the blocks of a compound statement, and whether they may not be empty."""
    parts: tuple[Statement, ...] = ()
    blocks: tuple[Block, ...] = ()
    if isinstance(statement, AndOr):
        parts = (statement.first, *(part for _, part in statement.rest))
    elif isinstance(statement, Pipeline):
        parts = statement.parts
    elif isinstance(statement, CommandGroup | Function | For):
        blocks = (statement.body,)
    elif isinstance(statement, If):
        blocks = (
            *(item for arm in statement.arms for item in arm),
            statement.otherwise,
        )
    elif isinstance(statement, While):
        blocks = (statement.condition, statement.body)
    elif isinstance(statement, Case):
        for _, body in statement.arms:
            yield body, False
    for part in parts:
        yield (part,), True
    for block in blocks:
        yield block, True


def words_of(simple: Simple) -> tuple[Extent, ...]:
    """Return the extents of all words and assignments of a command, in order."""
    number_lists = [
        (assignment.start, assignment.value.end) for assignment in simple.assignments
    ]
    number_lists += [(word.start, word.end) for word in simple.words]
    return tuple(sorted(number_lists))


def _run_at(simple: Simple, at: int) -> CommandRun | None:
    for assignment in simple.assignments:
        for element in assignment.elements or ():
            if element.start <= at < max(element.end, element.start + 1):
                words = tuple(
                    (word.start, word.end) for word in assignment.elements or ()
                )
                return CommandRun(words, is_array=True)
    words = words_of(simple)
    if any(
        start <= at < stop or (at == stop and _is_empty_value(simple, stop))
        for start, stop in words
    ):
        return CommandRun(words)
    return None


def _is_empty_value(simple: Simple, stop: int) -> bool:
    return any(
        assignment.value.start == assignment.value.end == stop
        for assignment in simple.assignments
    )


def _among(
    text: str, run: CommandRun, index: int, offset: int, key: str
) -> Target | None:
    """Return the target whose name or value is the word at an index."""
    start, stop = run.words[index]
    word = text[start:stop]
    none = (0, 0)
    if _IDENTIFIER.fullmatch(key) and "," in word:
        listed = _in_list(text, (start, stop), key, offset)
        if listed is not None:
            return Target(run, index, index, *listed, "=", none, in_list=True)
    pair = _PAIR.match(word)
    if pair is not None and _is_same_name(pair[1], key, word):
        first = index - (index > 0 and _text(text, run, index - 1) in _GIVING)
        name = start + pair.start(1), start + pair.end(1)
        if key.startswith("-"):
            name = start, start + pair.end() - 1
        return Target(run, first, index, name, (start + pair.end(), stop), "=", none)
    if word == key and key.startswith("-"):
        return Target(run, index, index, (start, stop), None, " ", none)
    if index and _is_same_name(_text(text, run, index - 1), key, ""):
        name = run.words[index - 1]
        first = index - 1
        if index > 1 and _text(text, run, index - 2) in {*_GIVING, "setenv"}:
            first = index - 2
        if _has_more_values(text, run, index, key):
            message = f"{key} has several values"
            raise CannotEdit(message)
        return Target(run, first, index, name, (start, stop), " ", none)
    return None


def _has_more_values(text: str, run: CommandRun, index: int, key: str) -> bool:
    """Return whether another word follows that may be a value of the same option."""
    following = _text(text, run, index + 1) if index + 1 < len(run.words) else "-"
    is_option = following.startswith(("-", "$", '"$')) or following.endswith(".py")
    return key.startswith("-") and not is_option


def _text(text: str, run: CommandRun, index: int) -> str:
    start, stop = run.words[index]
    return text[start:stop]


def _is_same_name(written: str, key: str, word: str) -> bool:
    if word.startswith("-"):
        written = word.partition("=")[0]
    return written.replace("-", "_") == key.replace("-", "_")


def _in_list(
    text: str, word: Extent, key: str, offset: int
) -> tuple[Extent, Extent] | None:
    """Return where `NAME=value` stands in `--export=ALL,NAME=value,OTHER=1`."""
    start, stop = word
    written = text[start:stop]
    if not written.startswith("--export="):
        return None
    position = written.find(f",{key}=")
    position = position + 1 if position >= 0 else len("--export=")
    if not written.startswith(f"{key}=", position):
        return None
    value = position + len(key) + 1
    end = next(
        (at for at in _commas(written, value) if "=" in written[at:]), len(written)
    )
    if not start + position <= offset <= start + end:
        return None
    return (start + position, start + value - 1), (start + value, start + end)


def _commas(written: str, start: int) -> Iterator[int]:
    for at in range(start, len(written)):
        if written[at] == ",":
            yield at


def _inside(text: str, word: Extent) -> Extent | None:
    """Return what the quotes of a word hold; None for a word without quotes."""
    start, stop = word
    written = text[start:stop]
    numbers = [at for at in (written.find("'"), written.find('"')) if at >= 0]
    if not numbers:
        return None
    first = min(numbers)
    last = written.rfind(written[first])
    return (start + first + 1, start + last) if last > first else None


def texts_of(text: str) -> tuple[list[str], int]:
    """Return a script's words as written, and how much of it a shell would refuse."""
    block, refused = parsed(text)
    texts: list[str] = []
    for simple, _ in simples(block):
        arrays = {
            assignment.start: assignment.elements for assignment in simple.assignments
        }
        for start, stop in words_of(simple):
            elements = arrays.get(start)
            if elements is None:
                texts.append(text[start:stop])
            else:
                texts.append(text[start:stop].partition("(")[0])
                texts += [text[element.start : element.end] for element in elements]
        texts += [text[document.start : document.end] for document in simple.documents]
    return texts, refused


def is_declaration(text: str, run: CommandRun) -> Sequence[Extent]:
    """Return the words `export`, `declare -x` in front of the assignments of a run."""
    number_lists: list[Extent] = []
    for start, stop in run.words:
        word = text[start:stop]
        if (not number_lists and word in _DECLARING) or (
            number_lists and word.startswith("-")
        ):
            number_lists.append((start, stop))
        else:
            break
    return number_lists


_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z_0-9]*")
_BEHIND = lazy_pattern(r"[ \t]*(?:#.*)?")
_CONTINUED = lazy_pattern(r"[ \t]*\\\r?\n$")


def script_edits(text: str, region: Extent, offset: int, change: Change) -> Edits:
    """Return the edits of a change in a script that is a part of a text, verified.

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
    """Return the offset at which a span begins."""
    offset = 0
    for _ in range(span.line - 1):
        offset = line_end(text, offset)
    return offset + span.column - 1


def _demand_unused(text: str, region: Extent, target: Target) -> None:
    """Demand that the script uses a variable nowhere else, so it keeps its name."""
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
    rest = [word for word in run.words if word not in removed]
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
        following = [number for number, _ in run.words if number >= end]
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
    """Return an addition in the form of its neighbour: `--x v`, `--x=v`, `-x A=1`."""
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
    """Return the value that shows which quotes to use; none that a shell works out."""
    old = text[slice(*target.value)] if target.value else ""
    return "" if "$" in old else old


def _verify(text: str, target: Target, edits: Edits, change: Change) -> None:
    """Read the script again: its words are the same but for what was changed."""
    start, end = target.region
    inner = tuple(
        Edit(edit.start - start, edit.end - start, edit.text) for edit in edits
    )
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
    """Return the words between the first and the last that differ."""
    least = min(len(before), len(after))
    head = next((at for at in range(least) if before[at] != after[at]), least)
    tail = 0
    while tail < least - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return before[head : len(before) - tail], after[head : len(after) - tail]


_LINE = lazy_pattern(
    r"([ \t]*(?:export[ \t]+)?)([A-Za-z_][A-Za-z_0-9]*)([ \t]*=[ \t]*)"
    r"(\"[^\"\n]*\"|'[^'\n]*'|.*?)([ \t]*(?:(?<=[ \t])#.*)?)\r?\n?"
)
_BARE_LINE = lazy_pattern(r"([ \t]*)([^=\s]+)([ \t]*=)(.*?)()\r?\n?")
_DIRECTIVE = lazy_pattern(r"(--[\w-]+|-\w)(=|[ \t]+|)(.*)")
_SBATCH = "#SBATCH"


def is_line_file(name: str) -> bool:
    """Return whether a file is read line by line, by no shell."""
    base = name.rpartition("/")[2]
    return base.endswith(".env") or base.startswith(".env") or _is_bare(name)


def _is_bare(name: str) -> bool:
    """Return whether all after the equal sign is the value: `nccl.conf`."""
    return name.rpartition("/")[2] in {"nccl.conf", ".nccl.conf"}


def line_edits(name: str, text: str, span: Span, change: Change) -> Edits:
    """Return the edits of a change in an environment file; raises CannotEdit."""
    first = line_start(text, offset_of(text, span))
    pattern = _BARE_LINE if _is_bare(name) else _LINE
    match = pattern.fullmatch(text, first, line_end(text, first))
    key = change.place.key
    if match is None or match[2] != key:
        message = f"its line sets no {key}"
        raise CannotEdit(message)
    if change.kind in {"rename", "remove"}:
        uses = lazy_pattern(rf"\$\{{?{key}\b|^[ \t]*(?:export[ \t]+)?{key}[ \t]*=")
        if sum(bool(uses.search(line)) for line in text.split("\n")) > 1:
            message = f"{key} is used or set on another line as well"
            raise CannotEdit(message)
    if change.kind == "rename":
        # Blanks around a name are a part of it for NCCL.
        whole = (match.start(1), match.end(3) - 1)
        return (Edit(*(whole if _is_bare(name) else match.span(2)), change.name),)
    if change.kind == "remove":
        return (Edit(first, match.end(), ""),)
    text_of = shell_text(change.value)
    if not _is_bare(name):
        if change.kind == "set":
            demand_plain(match[4])
        text_of = shell_word(text_of, match[4] if "$" not in match[4] else "")
    if change.kind == "set":
        return (Edit(*match.span(4), text_of),)
    line = f"{match[1]}{change.name}{match[3]}{text_of}"
    return (added_line(text, first, line),)


def is_directive(text: str, span: Span) -> bool:
    """Return whether a span stands in a line of options for sbatch."""
    offset = offset_of(text, span)
    return text.startswith(_SBATCH, line_start(text, offset))


def directive_edits(text: str, span: Span, change: Change) -> Edits:
    """Return the edits of a change in a `#SBATCH` line; raises CannotEdit."""
    offset = offset_of(text, span)
    first, stop = line_start(text, offset), line_stop(text, offset)
    match = _DIRECTIVE.fullmatch(text, offset, min(offset + span.length, stop))
    if match is None:
        message = "its line holds no such option"
        raise CannotEdit(message)
    start, end = match.span()
    if change.kind == "rename":
        return (Edit(*match.span(1), change.name),)
    if change.kind == "remove":
        rest = text[first:start] + text[end:stop]
        if not rest.replace(_SBATCH, "", 1).partition("#")[0].strip():
            return (Edit(first, line_end(text, end), ""),)
        blank = len(text[first:start]) - len(text[first:start].rstrip())
        return (Edit(start - blank, end, ""),)
    if change.kind == "add":
        value = "" if change.value is None else f"={_directive_word(change)}"
        return (added_line(text, offset, f"{_SBATCH} {change.name}{value}"),)
    if not match[3]:
        message = f"{match[1]} has no value there"
        raise CannotEdit(message)
    demand_plain(match[3])
    return (Edit(*match.span(3), _directive_word(change, match[3])),)


def _directive_word(change: Change, like: str = "") -> str:
    return shell_word(shell_text(change.value), like)


def demand_same_lines(old: str, edits: Edits, change: Change) -> None:
    """Raise CannotEdit unless an edit touches one line alone."""
    before, after = old.split("\n"), edited(old, edits).split("\n")
    more = {"add": 1, "remove": -1}.get(change.kind, 0)
    touched = {line_start(old, edit.start) for edit in edits}
    if len(touched) > 1 or len(after) - len(before) not in {more, 0}:
        message = "more than its line would change"
        raise CannotEdit(message)
