"""What published figures would settle of a certificate, as text for people."""

from collections.abc import Iterator

from speccheck.validator.catalogue.published_runs import PublishedRun
from speccheck.validator.certification.published import (
    DryRun,
    DryTrack,
    Figure,
    Open,
    Settled,
)
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.style import Style, counted, printable, wrap

NOTHING = (
    "published figures certify nothing: nobody here saw the machines, and nobody can "
    "judge them again"
)
_GIGA = 1e9
_MOST_KINDS = 3
WORDS = {"pass": "would pass", "fail": "would fail", "unknown": "stays open"}
_COLOURS = {"pass": "good", "fail": "error", "unknown": "unknown"}


def dry_run_text(found: DryRun, style: Style) -> Iterator[str]:
    """The report, line by line."""
    name = style.paint(printable(found.instance), "bold")
    runs = counted(len(found.runs), "published run")
    yield f"{name} of {found.provider}: {runs}, edition {found.edition}\n"
    yield style.paint(wrap(NOTHING, style.width, ""), "warning") + "\n"
    if not found.runs:
        yield "nothing that was measured of this type is in the catalogue\n"
    for run in found.runs:
        yield wrap(printable(run_words(run)), style.width, "  ") + "\n"
    if found.settled:
        yield "\n" + style.paint("clauses that figures speak of", "bold") + "\n"
    for one in found.settled:
        yield from _clause(one, style)
    yield "\n" + style.paint("tracks", "bold") + "\n"
    wide = max(len(one.track) for one in found.tracks)
    for track in found.tracks:
        yield f"  {track.track:{wide}}  no level by figures; {at_most_words(track)}\n"
        for level in track.open:
            yield wrap(open_words(level), style.width, "      ") + "\n"


def run_words(run: PublishedRun) -> str:
    """A run in a line: the largest message that was published."""
    size, rate = max(run.points, key=lambda one: one[0] or 0)
    told = shown_bytes(size) if size else "a size that was not stated (taken as 16 GiB)"
    where = f"{counted(run.nodes, 'node')}, {counted(run.ranks, 'GPU')}"
    note = f"; {run.note}" if run.note else ""
    source = f"{run.source}, {run.confidence}"
    return (
        f"{run.collective}, {where}: {rate / _GIGA:g} GB/s at {told} ({source}{note})"
    )


def _clause(one: Settled, style: Style) -> Iterator[str]:
    word = style.paint(WORDS[one.outcome], _COLOURS[one.outcome])
    kind = f"{one.level}, {one.certification_level}"
    yield f"  {one.clause}  {word}  ({kind}): {one.title}\n"
    for told in figure_words(one):
        yield style.paint(wrap(printable(told), style.width, "      "), "dim") + "\n"


def figure_words(one: Settled) -> list[str]:
    """Each figure of a clause; those that tell no more than the title are left out."""
    return [
        f"{figure.outcome}: {figure.message}{_required(figure)}"
        for figure in one.figures
        if figure.message != one.title
    ]


def _required(figure: Figure) -> str:
    needed = figure.required
    if needed is None or "required" in figure.message:
        return ""
    shown = needed if isinstance(needed, str) else f"{needed:g}"
    return f"; required: {shown}"


def at_most_words(track: DryTrack) -> str:
    """How far a track could come at all, and what stops it."""
    against = [
        one.clause
        for one in track.settled
        if one.outcome == "fail" and one.level == "must"
    ]
    if track.at_most is None:
        return f"none is left: {', '.join(against)} would fail"
    if against:
        return f"{track.at_most} at most: {', '.join(against)} would fail"
    if not track.settled:
        return "no figure speaks of it"
    still = [
        one.clause
        for one in track.settled
        if one.outcome == "unknown" and one.level == "must"
    ]
    told = f"no figure speaks against {track.at_most}"
    return f"{told}; {', '.join(still)} stays open" if still else told


def open_words(one: Open) -> str:
    """What a level of a track still wants."""
    counts = [counted(one.musts, "must"), counted(one.shoulds, "should")]
    told = " and ".join(
        text for text, n in zip(counts, (one.musts, one.shoulds), strict=True) if n
    )
    if not told:
        return f"{one.level}: nothing is open"
    kinds = ", ".join(one.kinds[:_MOST_KINDS])
    more = ", ..." if len(one.kinds) > _MOST_KINDS else ""
    return f"{one.level}: {told} open" + (f": {kinds}{more}" if kinds else "")
