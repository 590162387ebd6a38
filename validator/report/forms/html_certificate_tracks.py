"""Tracks and levels as a table, and what stands before the next level of each."""

from collections.abc import Iterator

from speccheck.validator.certification.certificate_model import Certificate, Track
from speccheck.validator.report.certificate_text import (
    LEVEL_WORDS,
    LEVELS,
    OUTCOMES,
    cell_of,
)
from speccheck.validator.report.forms.html_text import escaped, row, table

_COLOURS = {"pass": "good", "fail": "error", "unknown": "unknown"}
_MOST_REASONS = 12


def tracks_html(found: Certificate) -> str:
    """The verdict, track by track."""
    heads = ("track", *LEVELS, ">passed", ">does not apply", ">required", ">judged")
    grid = table(
        "Tracks and levels", heads, (_row(one) for one in found.tracks), name="grid"
    )
    note = ", ".join(f"{level} {words}" for level, words in LEVEL_WORDS.items())
    denied = "".join(_denied(one) for one in found.tracks)
    told = f"<h3>What denies the next level</h3>\n{denied}" if denied else ""
    coverage = found.coverage
    counts = [
        ("pass", coverage.passed),
        ("fail", coverage.failed),
        ("not known", coverage.unknown),
        ("waived", coverage.waived),
        ("not applicable", coverage.not_applicable),
    ]
    parts = ", ".join(f"{count:,} {words}" for words, count in counts)
    total = f"Required clauses: {coverage.required:,}. Of these: {parts}."
    return (
        f'{grid}<p class="note">Levels by evidence: {note}. A clause may be of several '
        f"tracks.</p>\n<p>{total}</p>\n{told}"
    )


def _row(one: Track) -> str:
    cells = [_cell(*cell_of(one, level)) for level in LEVELS]
    judged = "" if one.coverage is None else f"{one.coverage:.0%}"
    counts = (one.passed, one.not_applicable, one.required)
    numbers = [f"{count:,}" for count in counts]
    return row([escaped(one.track), *cells, *numbers, judged], numbers=(4, 5, 6, 7))


def _cell(outcome: str, words: str) -> str:
    mark = OUTCOMES[outcome][0]
    name = _COLOURS.get(outcome, "none")
    return f'<span class="granted {name}">{mark} {words}</span>'


def _denied(track: Track) -> str:
    reasons = "".join(_reasons(track))
    if not reasons:
        return ""
    return f"<h4>{escaped(track.track)}</h4>\n<ul>\n{reasons}</ul>\n"


def _reasons(track: Track) -> Iterator[str]:
    for one in track.denied[:_MOST_REASONS]:
        clause = escaped(one.clause)
        link = f'<a href="#clause-{clause}">{clause}</a> ' if one.clause else ""
        told = one.reason.removeprefix(f"{one.clause} ") if one.clause else one.reason
        mark = OUTCOMES.get(one.outcome, ("\u2013", ""))[0]
        yield f"<li>{one.level} {mark} {link}{escaped(told)}</li>\n"
    if len(track.denied) > _MOST_REASONS:
        yield f"<li>and {len(track.denied) - _MOST_REASONS:,} more reasons</li>\n"
