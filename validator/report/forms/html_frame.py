"""The lines of files that a finding is about, with what is meant marked in them."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from speccheck.validator.engine.locate import Location
from speccheck.validator.report.findings_text import (
    MOST_FRAMES,
    label_of,
    marked_length,
    window,
)
from speccheck.validator.report.forms.html_text import (
    code,
    escaped,
    folded,
    listed,
)

_WIDTH = 110
_MOST_LISTED = 100
_FEW = 4  # are listed without a click


def html_frames(locations: Sequence[Location]) -> Iterator[str]:
    """The first places in full, file by file, the others as a list that folds."""
    framed = [one for one in locations if one.line]
    shown = framed[:MOST_FRAMES]
    digits = max((len(str(one.line)) for one in shown), default=1)
    number = 0
    for file, group in groupby(shown, key=lambda one: one.file):
        lines: list[str] = []
        first = None
        for location in group:
            first = first or location
            lines.extend(_frame(location, label_of(number, len(framed)), digits))
            number += 1
        if first is not None:
            place = escaped(f"{file}:{first.line}:{first.column}")
            text = "\n".join(lines)
            yield (
                f'<figure class="frame"><figcaption>{place}</figcaption>'
                f"<pre><code>{text}</code></pre></figure>\n"
            )
    yield from _others(framed[MOST_FRAMES:])
    yield from _without_line(locations)


def _frame(location: Location, label: str, digits: int) -> Iterator[str]:
    text, start = window(location, _WIDTH)
    length = max(1, min(marked_length(location), len(text) - start))
    before, marked, after = (
        escaped(part)
        for part in (text[:start], text[start : start + length], text[start + length :])
    )
    number = f'<span class="line">{location.line:>{digits}} |</span>'
    yield f"{number} {before}<mark>{marked}</mark>{after}"
    caret = f"{'^' * length} {label}".rstrip()
    gap = f'<span class="line">{" " * digits} |</span>'
    yield f'{gap} {" " * start}<span class="caret">{caret}</span>'


def _others(locations: Sequence[Location]) -> Iterator[str]:
    if not locations:
        return
    names = list(dict.fromkeys(f"{one.file}:{one.line}" for one in locations))
    if len(names) <= _FEW:
        told = ", ".join(code(name) for name in names)
        yield f'<p class="place">also at {told}</p>\n'
        return
    body = listed((code(name) for name in names[:_MOST_LISTED]), "places")
    if len(names) > _MOST_LISTED:
        body += f"<p>and {len(names) - _MOST_LISTED:,} more places</p>\n"
    yield folded(f"also at {len(names):,} more places", body, name="places")


def _without_line(locations: Sequence[Location]) -> Iterator[str]:
    """Keys that stand on no line of their own: what a file does not say."""
    keys: dict[str, dict[str, None]] = {}
    for one in locations:
        if not one.line and one.file:
            keys.setdefault(one.file, {})[one.key] = None
    for file, found in keys.items():
        names = ", ".join(filter(None, list(found)[:_MOST_LISTED]))
        yield f'<p class="place">{code(file)} {code(names)}</p>\n'
