"""Code frames: the lines of a finding with a caret under what is meant."""

from collections.abc import Iterator, Sequence

from speccheck.validator.engine.locate import Location
from speccheck.validator.report.style import Style, printable, wrap

MOST_FRAMES = 4


def frames(locations: Sequence[Location], style: Style) -> Iterator[str]:
    """The frames of all locations of a finding, file by file, the first few in full."""
    framed = [one for one in locations if one.line]
    shown = framed[:MOST_FRAMES]
    digits = max((len(str(one.line)) for one in shown), default=1)
    file = ""
    for number, location in enumerate(shown):
        if location.file != file:
            file = location.file
            yield f"    {file}:{location.line}:{location.column}"
        yield from _frame(location, label_of(number, len(framed)), digits, style)
    if len(framed) > MOST_FRAMES:
        yield wrap(
            f"also at {_elsewhere(framed[MOST_FRAMES:], file)}", style.width, "    "
        )
    without_line: dict[str, list[str]] = {}
    for location in locations:
        if not location.line and location.file:
            without_line.setdefault(location.file, []).append(location.key)
    for name, keys in without_line.items():
        yield wrap(f"{name} {', '.join(keys)}".rstrip(), style.width, "    ")


def label_of(number: int, count: int) -> str:
    """What stands beside the caret of one of several places."""
    if count == 1:
        return ""
    return "stated here" if number == 0 else "and here"


def _elsewhere(locations: Sequence[Location], file: str) -> str:
    """`lines 4 and 7, other.json:2`, cut after a few."""
    here = [str(one.line) for one in locations if one.file == file]
    there = [f"{one.file}:{one.line}" for one in locations if one.file != file]
    parts = [f"line {line}" for line in here] + there
    if len(parts) > MOST_FRAMES + 1:
        rest = len(parts) - MOST_FRAMES
        return ", ".join(parts[:MOST_FRAMES]) + f" and {rest} more places"
    return ", ".join(parts)


def _frame(location: Location, label: str, digits: int, style: Style) -> Iterator[str]:
    bar = style.paint("|", "dim")
    width = style.width - digits - 8
    text, start = window(location, width)
    room = width - start - len(f" {label}".rstrip())
    caret = "^" * max(1, min(marked_length(location), len(text) - start, room))
    yield f"     {style.paint(f'{location.line:>{digits}}', 'dim')} {bar} {text}"
    pointer = style.paint(f"{caret} {label}".rstrip(), "warning")
    yield f"     {' ' * digits} {bar} {' ' * start}{pointer}"


def marked_length(location: Location) -> int:
    """How long the marked text is as it is shown: control characters take more."""
    start = location.column - 1
    return len(printable(location.text[start : start + location.length]))


def window(location: Location, width: int) -> tuple[str, int]:
    """The part of a line that shows the marked text, and where that begins in it."""
    before = printable(location.text[: location.column - 1])
    marked = printable(location.text[location.column - 1 :])
    cut = max(0, len(before) - width // 2) if len(before) + len(marked) > width else 0
    text = (before[cut:] + marked)[:width]
    return text, len(before) - cut
