"""Lists of hosts as launchers write them: `node[0001-0004,7]`, both ways.

This is the form of Slurm (`SLURM_JOB_NODELIST`, `scontrol show hostnames`) and of pdsh:
numbers of a range are as wide as its first one is written.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import product

MOST_HOSTS = 200_000
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_DIGITS = re.compile(r"\d+")
_MOST_DIGITS = 18
_MOST_NAME = 253  # characters, of a domain name
_PART = re.compile(r"(?:[^,\[\]\s]|\[[^\[\]]*\])+")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")


class HostNamesError(ValueError):
    """A list of hosts that cannot be read; the message says where and why."""


def is_host_name(text: str) -> bool:
    """Return whether a text is a host's name, without what a shell acts on."""
    return len(text) <= _MOST_NAME and _NAME.fullmatch(text) is not None


def unfold(text: str) -> tuple[str, ...]:
    """Return the names of a list, in its order; raises HostNamesError."""
    names: list[str] = []
    position = 0
    for match in _PART.finditer(text):
        between = text[position : match.start()]
        position = match.end()
        if between.strip(", \t\n"):
            raise HostNamesError(_unreadable(text, between.strip(", \t\n")))
        names.extend(_unfolded(match[0], MOST_HOSTS - len(names)))
    rest = text[position:].strip(", \t\n")
    if rest:
        raise HostNamesError(_unreadable(text, rest))
    if not names:
        message = "names no host; write node[001-064], or node001,node002"
        raise HostNamesError(message)
    return tuple(names)


def _unreadable(text: str, part: str) -> str:
    shown = text if len(text) <= 60 else f"{text[:60]}..."  # noqa: PLR2004 - a line
    return f"{shown}: cannot read {part!r}; write node[001-064], or node001,node002"


def _unfolded(part: str, most: int) -> Iterator[str]:
    texts = _BRACKETS.split(part)
    # Outside of brackets and inside, in turns.
    choices = [
        [text] if index % 2 == 0 else _numbers(text, part, most)
        for index, text in enumerate(texts)
    ]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > most:
        message = f"{part}: more than {MOST_HOSTS:,} hosts"
        raise HostNamesError(message)
    for pieces in product(*choices):
        name = "".join(pieces)
        if not _NAME.fullmatch(name):
            message = f"{name!r} is no name of a host"
            raise HostNamesError(message)
        yield name


def _numbers(text: str, part: str, most: int) -> list[str]:
    result: list[str] = []
    for piece in text.split(","):
        match = _RANGE.fullmatch(piece.strip())
        if match is None or len(match[0]) > 2 * _MOST_DIGITS:
            message = f"{part}: [{text}] is no list of numbers such as [001-016,20]"
            raise HostNamesError(message)
        first, last = match[1], match[2] or match[1]
        low, high = int(first), int(last)
        if high < low:
            message = f"{part}: the range {piece} runs backwards"
            raise HostNamesError(message)
        if len(result) + high - low + 1 > most:
            message = f"{part}: more than {MOST_HOSTS:,} hosts"
            raise HostNamesError(message)
        width = len(first)
        result.extend(f"{number:0{width}d}" for number in range(low, high + 1))
    return result


def fold(names: Iterable[str]) -> str:
    """Return the names as one short list, each once, in the order of their numbers."""
    numbers: dict[tuple[str, str], list[str]] = {}
    for name in dict.fromkeys(names):
        before, number, after = _apart(name)
        numbers.setdefault((before, after), []).append(number)
    return ",".join(
        text
        for (before, after), number in numbers.items()
        for text in _folded(before, number, after)
    )


def _apart(name: str) -> tuple[str, str, str]:
    """Split a name at its last number before the domain: `gpu`, `07`, `.cluster`."""
    first, dot, domain = name.partition(".")
    matches = [*_DIGITS.finditer(first)]
    if not matches:
        return name, "", ""
    last = matches[-1]
    if len(last[0]) > _MOST_DIGITS:
        return name, "", ""
    return first[: last.start()], last[0], first[last.end() :] + dot + domain


def _folded(before: str, numbers: list[str], after: str) -> Iterator[str]:
    if numbers == [""]:
        yield before + after
        return
    ranges: list[tuple[str, str]] = []
    by_next: dict[str, int] = {}  # which range a number would make longer
    for text in sorted(numbers, key=lambda number: (int(number), len(number))):
        index = by_next.pop(text, len(ranges))
        first = ranges[index][0] if index < len(ranges) else text
        ranges[index : index + 1] = [(first, text)]
        by_next[f"{int(text) + 1:0{len(first)}d}"] = index
    pieces = [text if text == other else f"{text}-{other}" for text, other in ranges]
    if len(pieces) == 1 and "-" not in pieces[0]:
        yield f"{before}{pieces[0]}{after}"
    else:
        yield f"{before}[{','.join(pieces)}]{after}"


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return the key that puts node2 before node10."""
    result = re.findall(r"(\D*)(\d{0,18})", name)
    return tuple((text, int(number or -1)) for text, number in result)
