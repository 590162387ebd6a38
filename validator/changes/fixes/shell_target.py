"""Where a script states a variable or an option: words, found by their position."""

import re
from collections.abc import Iterator, Sequence

from speccheck.validator.changes.fixes.edit import CannotEdit
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.shell.parser import Parser
from speccheck.validator.sources.shell.syntax import (
    AndOr,
    Block,
    Case,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Simple,
    Statement,
    While,
)

Extent = tuple[int, int]

_IDENTIFIER = lazy_pattern(r"[A-Za-z_][A-Za-z_0-9]*")
# Of `-x NAME=value`; `-genv NAME value` takes two words.
_GIVING = frozenset({"-x", "-e", "--env", "-env", "-genv"})
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_PAIR = lazy_pattern(r"[+~-]*([^=\s'\"]+)=")
_MOST_LEVELS = 4  # of scripts within words of scripts


class Run(Record):
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

    run: Run
    first: int
    last: int
    name: Extent
    value: Extent | None
    joint: str
    region: Extent
    in_list: bool = False


def parsed(text: str) -> tuple[Block, int]:
    """The statements of a script, and how much of it a shell would refuse."""
    refused: list[str] = []
    unix = text.replace("\\\r\n", " \\\n").replace("\r\n", " \n")
    block = Parser(unix, lambda message, _: refused.append(message)).script()
    return block, len(refused)


def target_at(text: str, region: Extent, offset: int, key: str) -> Target:
    """What `key` names at an offset; raises CannotEdit where it cannot be told.

    An option whose value is that of a variable, which nothing else uses, is the
    variable: `--nnodes $NODES` is changed where NODES is set.
    """
    whole = region
    for _ in range(_MOST_LEVELS):
        found = _target(text, region, offset, key)
        if isinstance(found, Target):
            return found
        if found is None or found == region:
            break
        region = found
    if key.startswith("-"):
        variable = _variable_at(text, whole, offset)
        if variable is not None:
            return variable
    name = "a variable" if _IDENTIFIER.fullmatch(key) else "an option"
    message = f"its value comes from another place of the script than {name} {key}"
    raise CannotEdit(message)


def _target(text: str, region: Extent, offset: int, key: str) -> Target | Extent | None:
    """The target, or the inner script or text that may hold it."""
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
        moved = Run(words, run.is_array, is_only and not run.is_array)
        index = next(
            index
            for index, (start, stop) in enumerate(words)
            if start <= offset < max(stop, start + 1) or offset == stop
        )
        found = _among(text, moved, index, offset, key)
        if found is not None:
            return found._replace(region=region)
        return _inside(text, words[index])
    return None


def _variable_at(text: str, region: Extent, offset: int) -> Target | None:
    """The variable whose whole value stands at an offset, if it is used only once."""
    base, end = region
    block, _ = parsed(text[base:end])
    for simple, is_only in simples(block):
        for one in simple.assignments:
            start, first, stop = (
                base + at for at in (one.start, one.value.start, one.value.end)
            )
            bare = first + (text[first : first + 1] in {"'", '"'})
            uses = re.findall(rf"\$\{{?{one.name}\b", text[base:end])
            if offset in {first, bare} and one.elements is None and len(uses) == 1:
                run = Run(words_of(simple), is_only=is_only)
                run = run._replace(
                    words=tuple(
                        (base + left, base + right) for left, right in run.words
                    )
                )
                index = run.words.index((start, stop))
                name = start, start + len(one.name)
                return Target(run, index, index, name, (first, stop), "=", region)
    return None


def simples(block: Block, *, nested: bool = False) -> Iterator[tuple[Simple, bool]]:
    """All simple commands, and whether each is the only one of a nested block."""
    for statement in block:
        if isinstance(statement, Simple):
            yield statement, nested and len(block) == 1
            continue
        for inner, is_bound in _inner(statement):
            yield from simples(inner, nested=is_bound)


def _inner(statement: Statement) -> Iterator[tuple[Block, bool]]:
    """The blocks of a compound statement, and whether they may not be empty."""
    parts: tuple[Statement, ...] = ()
    blocks: tuple[Block, ...] = ()
    if isinstance(statement, AndOr):
        parts = (statement.first, *(part for _, part in statement.rest))
    elif isinstance(statement, Pipeline):
        parts = statement.parts
    elif isinstance(statement, Group | Function | For):
        blocks = (statement.body,)
    elif isinstance(statement, If):
        blocks = (*(one for arm in statement.arms for one in arm), statement.otherwise)
    elif isinstance(statement, While):
        blocks = (statement.condition, statement.body)
    elif isinstance(statement, Case):
        for _, body in statement.arms:
            yield body, False
    for one in parts:
        yield (one,), True
    for block in blocks:
        yield block, True


def words_of(simple: Simple) -> tuple[Extent, ...]:
    """The extents of all words and assignments of a command, in order."""
    found = [(one.start, one.value.end) for one in simple.assignments]
    found += [(one.start, one.end) for one in simple.words]
    return tuple(sorted(found))


def _run_at(simple: Simple, at: int) -> Run | None:
    for one in simple.assignments:
        for element in one.elements or ():
            if element.start <= at < max(element.end, element.start + 1):
                words = tuple((word.start, word.end) for word in one.elements or ())
                return Run(words, is_array=True)
    words = words_of(simple)
    if any(
        start <= at < stop or (at == stop and _is_empty_value(simple, stop))
        for start, stop in words
    ):
        return Run(words)
    return None


def _is_empty_value(simple: Simple, stop: int) -> bool:
    return any(one.value.start == one.value.end == stop for one in simple.assignments)


def _among(text: str, run: Run, index: int, offset: int, key: str) -> Target | None:
    """The target whose name or value is the word at an index."""
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


def _has_more_values(text: str, run: Run, index: int, key: str) -> bool:
    """Whether another word follows that may be a value of the same option."""
    following = _text(text, run, index + 1) if index + 1 < len(run.words) else "-"
    is_option = following.startswith(("-", "$", '"$')) or following.endswith(".py")
    return key.startswith("-") and not is_option


def _text(text: str, run: Run, index: int) -> str:
    start, stop = run.words[index]
    return text[start:stop]


def _is_same_name(written: str, key: str, word: str) -> bool:
    if word.startswith("-"):
        written = word.partition("=")[0]
    return written.replace("-", "_") == key.replace("-", "_")


def _in_list(
    text: str, word: Extent, key: str, offset: int
) -> tuple[Extent, Extent] | None:
    """Where `NAME=value` stands in `--export=ALL,NAME=value,OTHER=1`."""
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
    """What the quotes of a word hold; None for a word without quotes."""
    start, stop = word
    written = text[start:stop]
    found = [at for at in (written.find("'"), written.find('"')) if at >= 0]
    if not found:
        return None
    first = min(found)
    last = written.rfind(written[first])
    return (start + first + 1, start + last) if last > first else None


def texts_of(text: str) -> tuple[list[str], int]:
    """The words of a script as written, and how much of it a shell would refuse."""
    block, refused = parsed(text)
    found: list[str] = []
    for simple, _ in simples(block):
        arrays = {one.start: one.elements for one in simple.assignments}
        for start, stop in words_of(simple):
            elements = arrays.get(start)
            if elements is None:
                found.append(text[start:stop])
            else:
                found.append(text[start:stop].partition("(")[0])
                found += [text[one.start : one.end] for one in elements]
        found += [text[one.start : one.end] for one in simple.documents]
    return found, refused


def is_declaration(text: str, run: Run) -> Sequence[Extent]:
    """The words `export`, `declare -x` in front of the assignments of a run."""
    found: list[Extent] = []
    for start, stop in run.words:
        word = text[start:stop]
        if (not found and word in _DECLARING) or (found and word.startswith("-")):
            found.append((start, stop))
        else:
            break
    return found
