"""What leads to a certificate, as text: published figures, a run plan, a kit."""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.catalogue.published_runs import PublishedRun
from speccheck.validator.certification.kit import KINDS, Kit
from speccheck.validator.certification.manifest import ManifestDifference, Missing
from speccheck.validator.certification.needs import LevelRequest, Review
from speccheck.validator.certification.published import (
    DryRun,
    DryTrack,
    Open,
    PublishedFigure,
    Settled,
)
from speccheck.validator.certification.run_plan import PlannedStep, RunPlan
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


def dry_run_text(dry_run: DryRun, style: Style) -> Iterator[str]:
    """Yield the report, line by line."""
    name = style.paint(printable(dry_run.instance), "bold")
    runs = counted(len(dry_run.runs), "published run")
    yield f"{name} of {dry_run.provider}: {runs}, edition {dry_run.edition}\n"
    yield style.paint(wrap(NOTHING, style.width, ""), "warning") + "\n"
    if not dry_run.runs:
        yield "nothing that was measured of this type is in the catalogue\n"
    for run in dry_run.runs:
        yield wrap(printable(run_words(run)), style.width, "  ") + "\n"
    if dry_run.settled:
        yield "\n" + style.paint("clauses that figures speak of", "bold") + "\n"
    for settled in dry_run.settled:
        yield from _clause(settled, style)
    yield "\n" + style.paint("tracks", "bold") + "\n"
    wide = max(len(track.track) for track in dry_run.tracks)
    for track in dry_run.tracks:
        yield f"  {track.track:{wide}}  no level by figures; {at_most_words(track)}\n"
        for level in track.open:
            yield wrap(open_words(level), style.width, "      ") + "\n"


def run_words(run: PublishedRun) -> str:
    """Return a run in a line: the largest message that was published."""
    size, rate = max(run.points, key=lambda point: point[0] or 0)
    words = (
        shown_bytes(size) if size else "a size that was not stated (taken as 16 GiB)"
    )
    where = f"{counted(run.nodes, 'node')}, {counted(run.ranks, 'GPU')}"
    note = f"; {run.note}" if run.note else ""
    source = f"{run.source}, {run.confidence}"
    return (
        f"{run.collective}, {where}: {rate / _GIGA:g} GB/s at {words} ({source}{note})"
    )


def _clause(settled: Settled, style: Style) -> Iterator[str]:
    word = style.paint(WORDS[settled.outcome], _COLOURS[settled.outcome])
    kind = f"{settled.level}, {settled.certification_level}"
    yield f"  {settled.clause}  {word}  ({kind}): {settled.title}\n"
    for words in figure_words(settled):
        yield style.paint(wrap(printable(words), style.width, "      "), "dim") + "\n"


def figure_words(settled: Settled) -> list[str]:
    """Return each figure of a clause, less those that say no more than the title."""
    return [
        f"{figure.outcome}: {figure.message}{_required(figure)}"
        for figure in settled.figures
        if figure.message != settled.title
    ]


def _required(figure: PublishedFigure) -> str:
    needed = figure.required
    if needed is None or "required" in figure.message:
        return ""
    shown = needed if isinstance(needed, str) else f"{needed:g}"
    return f"; required: {shown}"


def at_most_words(track: DryTrack) -> str:
    """Return how far a track could come at all, and what stops it."""
    against = [
        settled.clause
        for settled in track.settled
        if settled.outcome == "fail" and settled.level == "must"
    ]
    if track.at_most is None:
        return f"none is left: {', '.join(against)} would fail"
    if against:
        return f"{track.at_most} at most: {', '.join(against)} would fail"
    if not track.settled:
        return "no figure speaks of it"
    still = [
        settled.clause
        for settled in track.settled
        if settled.outcome == "unknown" and settled.level == "must"
    ]
    words = f"no figure speaks against {track.at_most}"
    return f"{words}; {', '.join(still)} stays open" if still else words


def open_words(open_: Open) -> str:
    """Return what a level of a track still wants."""
    counts = [counted(open_.musts, "must"), counted(open_.shoulds, "should")]
    words = " and ".join(
        text for text, n in zip(counts, (open_.musts, open_.shoulds), strict=True) if n
    )
    if not words:
        return f"{open_.level}: nothing is open"
    kinds = ", ".join(open_.kinds[:_MOST_KINDS])
    more = ", ..." if len(open_.kinds) > _MOST_KINDS else ""
    return f"{open_.level}: {words} open" + (f": {kinds}{more}" if kinds else "")


_WIDTH = 88
_MINUTE, _HOUR = 60, 3600


def run_plan_text(plan: RunPlan) -> str:
    """Return the steps in order: why, on how many nodes, how long, and the commands."""
    lines = [*_plan_head(plan)]
    for number, step in enumerate(plan.steps, 1):
        lines.extend(("", *_step(number, step)))
    rows = (row for line in lines for row in line.split("\n"))
    return "\n".join(map(printable, rows)) + "\n"


def _plan_head(plan: RunPlan) -> Iterator[str]:
    result = plan.request
    of = f" for {result.instance_type}" if result.instance_type else ""
    yield (
        f"Level {result.level} of edition {result.composed.edition.id}{of}: "
        f"{counted(len(plan.steps), 'step')}, {counted(plan.nodes, 'node')} with "
        f"{counted(plan.gpus, 'GPU')} each, about {about(plan.seconds)}"
    )
    yield wrap(f"{plan.engine}: {plan.note}", _WIDTH, "")


def about(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


def _step(number: int, step: PlannedStep) -> Iterator[str]:
    where = f" · {counted(step.nodes, 'node')}" if step.nodes else ""
    time = f" · about {about(step.seconds)}" if step.seconds else ""
    yield f"{number}. {step.title}{where}{time}"
    for settle in step.settles:
        yield (
            f"   {settle.level} {settle.track}: {_counts(settle.musts, settle.shoulds)}"
        )
    for words in step.words:
        is_line = words.startswith("{")
        yield f"   {words}" if is_line else wrap(words, _WIDTH, "   ")
    if step.commands:
        yield ""
    for command in step.commands:
        yield f"   $ {command}"


def _counts(musts: int, shoulds: int) -> str:
    words = []
    if musts:
        words.append(counted(musts, "must"))
    if shoulds:
        words.append(counted(shoulds, "should"))
    return ", ".join(words)


_MOST_NAMED = 5
_NOUNS = {
    "config": "file of the job",
    "snapshot": "snapshot",
    "measurement": "measurement",
    "log": "log",
    "drill": "drill",
    "other": "other file",
}


def kit_text(kit: Kit, result: LevelRequest, review: Review, written: str) -> str:
    """Return what was packed, and what is missing; written: the manifest."""
    lines = [
        *_kit_head(kit),
        "",
        *_problems(kit),
        *_request_lines(result),
        *missing_lines(review.missing),
        *_against(review, result),
        written,
    ]
    return _joined(lines)


def listed_text(
    kit: Kit, differences: Sequence[ManifestDifference], *, has_manifest: bool
) -> str:
    """Return each file of a kit in a line, and what differs from its manifest."""
    rows = [
        (
            file.kind,
            file.format or "-",
            file.specimen or "-",
            file.taken or "-",
            file.path,
        )
        for file in kit.files
    ]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
    lines = [*_kit_head(kit), ""]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        lines.append(f"  {'  '.join(cells)}  {row[-1]}")
    lines.extend(("", *_problems(kit)))
    if not has_manifest:
        lines.append("not packed yet: speccheck evidence pack lists it with hashes")
    elif differences:
        lines.extend(
            f"{difference.path}: {difference.text}" for difference in differences
        )
    else:
        lines.append("all files are those that evidence.json lists")
    return _joined(lines)


def _joined(lines: Iterable[str]) -> str:
    rows = (row for line in lines for row in line.split("\n"))
    return "\n".join(map(printable, rows)) + "\n"


def _kit_head(kit: Kit) -> Iterator[str]:
    counts = [
        counted(count, _NOUNS[kind]).replace("file of the jobs", "files of the job")
        for kind in KINDS
        if (count := len(kit.of_kind(kind)))
    ]
    yield f"{kit.folder}: {', '.join(counts) or 'no file'}"
    if kit.specimens:
        yield f"  machines: {named(kit.specimens)}"
    made_up = kit.synthetic
    if made_up:
        by = ", ".join(sorted({evidence_file.synthetic for evidence_file in made_up}))
        all_files = counted(len(kit.files), "file")
        yield f"  synthetic: {len(made_up)} of {all_files}, by {by}"


def _problems(kit: Kit) -> Iterator[str]:
    for problem in kit.problems:
        yield f"{problem.path}: {problem.text}"
    for problem in kit.passed_over:
        if problem.text != "hidden":
            yield f"{problem.path}: passed over: {problem.text}"


def _request_lines(result: LevelRequest) -> Iterator[str]:
    profiles = [
        profile.id for profile in result.composed.profiles if profile.id != "base"
    ]
    edition = result.composed.edition.id
    yield f"asked for: level {result.level} of edition {edition}, {', '.join(profiles)}"


def missing_lines(missing: Sequence[Missing]) -> Iterator[str]:
    """Yield what is missing, track by track; what only shoulds want comes last."""
    denying = [item for item in missing if item.denies]
    if not denying:
        yield "every must has evidence of its kind"
    else:
        yield ""
        yield "missing"
    yield from _by_track(denying)
    others = [item for item in missing if not item.denies]
    if others:
        yield ""
        yield "missing for shoulds alone"
        yield from _by_track(others)
    yield ""


def _by_track(missing: Iterable[Missing]) -> Iterator[str]:
    track = None
    for item in missing:
        if item.track != track:
            track = item.track
            yield f"  {track or 'all tracks'}"
        clauses = named(item.musts or item.clauses)
        more = len(item.clauses) - len(item.musts) if item.musts else 0
        beside = f" and {counted(more, 'should')}" if more else ""
        text = f"{item.level}  {item.text}"
        yield wrap(f"{text}: {clauses}{beside}" if clauses else text, _WIDTH, "    ")


def _against(review: Review, result: LevelRequest) -> Iterator[str]:
    texts = [
        *_stale(review),
        *(
            f"machines of several types: {', '.join(review.types)}: a certificate is "
            "of one type; pack a folder for each"
            for _ in review.types[:1]
        ),
        *(
            f"{evidence_file.path}: a machine of type "
            f"{evidence_file.instance_type}, not of "
            f"{result.instance_type}"
            for evidence_file in review.foreign
        ),
        *(
            f"{secret.path}:{secret.line}: holds a credential ({secret.kind}): "
            "take it out, and "
            "renew it where others saw it"
            for secret in review.secrets
        ),
    ]
    if texts:
        yield from (wrap(text, _WIDTH, "") for text in texts)
        yield ""


def _stale(review: Review) -> Iterator[str]:
    if review.stale:
        files = named(
            [
                f"{evidence_file.path} ({evidence_file.taken})"
                for evidence_file in review.stale
            ]
        )
        yield f"older than {review.age_days} days: {files}: measure again"
    if review.undated:
        files = named([evidence_file.path for evidence_file in review.undated])
        yield (
            f"does not tell when it was taken: {files}: nobody can see that it is not "
            "old; a comment line `# taken: 2026-11-22T10:00:00Z` says so"
        )


def named(names: Sequence[str]) -> str:
    """Return the first of several names, and how many there are besides."""
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown
