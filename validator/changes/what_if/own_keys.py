"""The keys of the files that hold a leaf's value as it is.

A reader converts many values (`gradient_checkpointing: true` is full recomputation), so
a key is named only where what stands there is the value of the leaf.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.sources.context import COMMAND_LINE
from speccheck.validator.sources.reader import Source

_NOT_SET = " is not set: "
_AFTER_KEY = "= \t\"'"


def own_keys(
    leaf: Value[Any], stated: StatedKeys, sources: Mapping[str, Source]
) -> tuple[Place, ...]:
    """The places to change, all of them; none where one of them is no such key."""
    if leaf.status == "default" and not leaf.places:
        return tuple(_of_default(leaf))
    found = tuple(_key(place, leaf.value, stated, sources) for place in leaf.places)
    if leaf.status not in {"stated", "default"}:
        return ()
    known = tuple(place for place in found if place is not None)
    return known if len(known) == len(found) else ()


def _of_default(leaf: Value[Any]) -> Iterator[Place]:
    """The key that a default's note names: `fsdp_degree is not set: 1 in ...`."""
    key, is_key, rest = leaf.note.partition(_NOT_SET)
    value = rest.partition(" in ")[0].rstrip(".")
    if is_key and " " not in key and _is_same(value, leaf.value):
        yield Place("", key)


def _key(
    place: Place, value: object, stated: StatedKeys, sources: Mapping[str, Source]
) -> Place | None:
    if place.file == COMMAND_LINE:
        return place if place.key.startswith("--") else None
    if place.span is not None:
        return place if _line_says(place, value, sources.get(place.file)) else None
    for file in stated.files:
        if file.file == place.file:
            for key in file.keys:
                at = key.place
                if at.path == place.path and at.document == place.document:
                    return place if _is_same(key.value, value) else None
    return None


def _line_says(place: Place, value: object, source: Source | None) -> bool:
    """Whether a line of a script holds the key and, after it, the value."""
    if source is None or place.span is None:
        return False
    lines = source.text.split("\n")[place.span.line - 1 : place.span.line + 1]
    _, found, rest = " ".join(lines).partition(place.key)
    words = rest.lstrip(_AFTER_KEY).replace('"', " ").replace("'", " ").split()
    return bool(found and words) and _is_same(words[0], value)


def _is_same(written: object, value: object) -> bool:
    if isinstance(written, bool) or isinstance(value, bool):
        return written is value or str(written).lower() == str(value).lower()
    return str(written) == str(value)
