"""A certificate on a terminal: one screen with the verdict and what it leaves open."""

from collections.abc import Iterator, Mapping
from typing import Any

from speccheck.validator.certification.certificate_model import Certificate, Track
from speccheck.validator.report.certificate_words import (
    LEVEL_WORDS,
    LEVELS,
    OUTCOMES,
    caveats,
    cell_of,
    granted_words,
)
from speccheck.validator.report.style import Style, counted, joined, printable, wrap

_COLOURS = {"pass": "good", "fail": "error", "unknown": "unknown"}
_ASCII = {"pass": "+", "fail": "x", "unknown": "?", "not_applicable": "-"}
_MOST_REASONS = 2  # of one track
_MOST_LIMITS = 4
_SHORT = 16  # characters of a digest
_INDENT = "    "


def certificate_text(predicate: Mapping[str, Any], style: Style) -> Iterator[str]:
    """The text, block by block.

    Raises pydantic's ValidationError for what is no predicate of a certificate.
    """
    found = Certificate.model_validate(predicate)
    if found.synthetic is not None:
        told = f"SYNTHETIC: made by {found.synthetic.by}; this certifies nothing"
        text = wrap(printable(told), style.width, "")
        yield style.paint(text, "warning") + "\n\n"
    yield _head(found, style)
    yield "\n"
    yield from _tracks(found, style)
    limits = found.limits[:_MOST_LIMITS]
    if limits:
        yield "\n"
    for one in limits:
        yield style.paint(wrap(printable(one), style.width, ""), "dim") + "\n"
    if len(found.limits) > _MOST_LIMITS:
        more = len(found.limits) - _MOST_LIMITS
        yield style.paint(f"and {counted(more, 'more limit')}", "dim") + "\n"
    yield f"\n{_terms(found, style)}\n"


def _head(found: Certificate, style: Style) -> str:
    name = style.paint(printable(found.instance_type), "bold")
    parts = [
        printable(f"{found.instance_type} of {found.provider}"),
        printable(f"edition {found.edition.id} ({found.edition.stage})"),
        counted(len(found.specimens), "specimen"),
        *caveats(found),
    ]
    words = wrap(granted_words(found), style.width, "")
    facts = joined(parts, f" {style.dot} ", style.width)
    return facts.replace(printable(found.instance_type), name, 1) + f"\n{words}\n"


def _tracks(found: Certificate, style: Style) -> Iterator[str]:
    names = [printable(one.track) for one in found.tracks]
    wide = max((len(name) for name in names), default=0)
    heads = "  ".join(LEVELS)
    yield style.paint(f"{'':{wide}}  {heads}  judged", "dim") + "\n"
    for name, one in zip(names, found.tracks, strict=True):
        judged = "" if one.coverage is None else f"{one.coverage:.0%}"
        cells = "   ".join(_cell(one, level, style) for level in LEVELS)
        yield f"{name:{wide}}  {cells}   {judged:>6}\n"
        yield from _denied(one, style)
    mark = OUTCOMES["pass"][0] if style.unicode else _ASCII["pass"]
    told = ", ".join(f"{level} {words}" for level, words in LEVEL_WORDS.items())
    yield style.paint(f"{mark} granted; {told}", "dim") + "\n"


def _cell(track: Track, level: str, style: Style) -> str:
    outcome, _ = cell_of(track, level)
    mark = OUTCOMES[outcome][0] if style.unicode else _ASCII[outcome]
    return style.paint(mark, _COLOURS[outcome]) if outcome in _COLOURS else mark


def _denied(track: Track, style: Style) -> Iterator[str]:
    for one in track.denied[:_MOST_REASONS]:
        told = one.reason
        if one.clause and not told.startswith(one.clause):
            told = f"{one.clause}: {told}"
        yield wrap(printable(f"no {one.level}: {told}"), style.width, _INDENT) + "\n"
    if len(track.denied) > _MOST_REASONS:
        more = counted(len(track.denied) - _MOST_REASONS, "more reason")
        yield style.paint(f"{_INDENT}and {more}", "dim") + "\n"


def _terms(found: Certificate, style: Style) -> str:
    validity = found.validity
    parts = [
        f"valid {validity.not_before[:10]} to {validity.not_after[:10]}",
        f"verifier {found.verifier.id}",
        f"key {found.verifier.key_id[:_SHORT]}",
        f"run {found.run_id}",
    ]
    return joined(map(printable, parts), f" {style.dot} ", style.width)
