"""What an evidence kit holds and lacks, as text for people."""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.certification.kit import KINDS, Kit
from speccheck.validator.certification.manifest import Difference, Missing
from speccheck.validator.certification.needs import Asked, Review
from speccheck.validator.report.style import counted, printable, wrap

_WIDTH = 88
_MOST_NAMED = 5
_NOUNS = {
    "config": "file of the job",
    "snapshot": "snapshot",
    "measurement": "measurement",
    "log": "log",
    "drill": "drill",
    "other": "other file",
}


def kit_text(kit: Kit, asked: Asked, review: Review, written: str) -> str:
    """What was packed, and what is missing; written: the manifest."""
    lines = [
        *_head(kit),
        "",
        *_problems(kit),
        *_asked(asked),
        *missing_lines(review.missing),
        *_against(review, asked),
        written,
    ]
    return _joined(lines)


def listed_text(
    kit: Kit, differences: Sequence[Difference], *, has_manifest: bool
) -> str:
    """Each file of a kit in a line, and what differs from its manifest."""
    rows = [
        (one.kind, one.format or "-", one.specimen or "-", one.taken or "-", one.path)
        for one in kit.files
    ]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
    lines = [*_head(kit), ""]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        lines.append(f"  {'  '.join(cells)}  {row[-1]}")
    lines.extend(("", *_problems(kit)))
    if not has_manifest:
        lines.append("not packed yet: speccheck evidence pack lists it with hashes")
    elif differences:
        lines.extend(f"{one.path}: {one.text}" for one in differences)
    else:
        lines.append("all files are those that evidence.json lists")
    return _joined(lines)


def _joined(lines: Iterable[str]) -> str:
    rows = (row for line in lines for row in line.split("\n"))
    return "\n".join(map(printable, rows)) + "\n"


def _head(kit: Kit) -> Iterator[str]:
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
        by = ", ".join(sorted({one.synthetic for one in made_up}))
        all_files = counted(len(kit.files), "file")
        yield f"  synthetic: {len(made_up)} of {all_files}, by {by}"


def _problems(kit: Kit) -> Iterator[str]:
    for one in kit.problems:
        yield f"{one.path}: {one.text}"
    for one in kit.passed_over:
        if one.text != "hidden":
            yield f"{one.path}: passed over: {one.text}"


def _asked(asked: Asked) -> Iterator[str]:
    profiles = [one.id for one in asked.composed.profiles if one.id != "base"]
    edition = asked.composed.edition.id
    yield f"asked for: level {asked.level} of edition {edition}, {', '.join(profiles)}"


def missing_lines(missing: Sequence[Missing]) -> Iterator[str]:
    """What is missing, track by track; what only shoulds want comes last."""
    denying = [one for one in missing if one.denies]
    if not denying:
        yield "every must has evidence of its kind"
    else:
        yield ""
        yield "missing"
    yield from _by_track(denying)
    others = [one for one in missing if not one.denies]
    if others:
        yield ""
        yield "missing for shoulds alone"
        yield from _by_track(others)
    yield ""


def _by_track(missing: Iterable[Missing]) -> Iterator[str]:
    track = None
    for one in missing:
        if one.track != track:
            track = one.track
            yield f"  {track or 'all tracks'}"
        clauses = named(one.musts or one.clauses)
        more = len(one.clauses) - len(one.musts) if one.musts else 0
        beside = f" and {counted(more, 'should')}" if more else ""
        text = f"{one.level}  {one.text}"
        yield wrap(f"{text}: {clauses}{beside}" if clauses else text, _WIDTH, "    ")


def _against(review: Review, asked: Asked) -> Iterator[str]:
    found = [
        *_stale(review),
        *(
            f"machines of several types: {', '.join(review.types)}: a certificate is "
            "of one type; pack a folder for each"
            for _ in review.types[:1]
        ),
        *(
            f"{one.path}: a machine of type {one.instance_type}, not of "
            f"{asked.instance_type}"
            for one in review.foreign
        ),
        *(
            f"{one.path}:{one.line}: holds a credential ({one.kind}): take it out, and "
            "renew it where others saw it"
            for one in review.secrets
        ),
    ]
    if found:
        yield from (wrap(one, _WIDTH, "") for one in found)
        yield ""


def _stale(review: Review) -> Iterator[str]:
    if review.stale:
        files = named([f"{one.path} ({one.taken})" for one in review.stale])
        yield f"older than {review.age_days} days: {files}: measure again"
    if review.undated:
        files = named([one.path for one in review.undated])
        yield (
            f"does not tell when it was taken: {files}: nobody can see that it is not "
            "old; a comment line `# taken: 2026-11-22T10:00:00Z` says so"
        )


def named(names: Sequence[str]) -> str:
    """The first of several names, and how many there are besides."""
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown
