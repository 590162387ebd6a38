"""The clauses of a certificate by track: how each came out, and who judged so."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from speccheck.validator.certification.certificate_model import (
    Certificate,
    ClauseResult,
    Judgement,
)
from speccheck.validator.report.certificate_text import OUTCOMES
from speccheck.validator.report.forms.html_text import (
    breakable,
    escaped,
    folded,
    listed,
    row,
    table,
)
from speccheck.validator.report.style import counted
from speccheck.validator.report.wording import folded_subjects, written

_COLOURS = {
    "pass": "good",
    "fail": "error",
    "error": "error",
    "unknown": "unknown",
    "waived": "warning",
}
_FEW = 2  # judgements that are read without a click
_MOST_JUDGEMENTS, _FEWEST_JUDGEMENTS = 40, 4  # of a clause
_MOST_OF_ALL = 4000  # judgements of all clauses together
_MOST_SUBJECTS = 64
_MOST_CLAUSES = 800
_Alike = tuple[str, str, str]  # outcome, rule, what was found


def clauses_html(found: Certificate) -> str:
    """All clauses; a clause of several tracks is told under the first of them."""
    names = {one.name: at for at, one in enumerate(found.specimens, start=1)}
    order = list(OUTCOMES)
    shown = sorted(
        found.clauses[:_MOST_CLAUSES], key=lambda one: order.index(one.outcome)
    )
    tracks = [one.track for one in found.tracks]
    others = sorted({one.tracks[0] for one in shown if one.tracks} - {*tracks})
    most = max(_FEWEST_JUDGEMENTS, _MOST_OF_ALL // max(1, len(shown)))
    most = min(_MOST_JUDGEMENTS, most)
    parts = [
        _track(
            track,
            [one for one in shown if (one.tracks or [""])[0] == track],
            [one for one in shown if track in one.tracks[1:]],
            partial(_row, names=names, most=most),
        )
        for track in (*tracks, *others, "")
    ]
    if len(found.clauses) > _MOST_CLAUSES:
        more = len(found.clauses) - _MOST_CLAUSES
        parts.append(f'<p class="note">and {more:,} more clauses</p>\n')
    return "".join(parts)


def _track(
    track: str,
    own: Sequence[ClauseResult],
    also: Sequence[ClauseResult],
    told: Callable[[ClauseResult], str],
) -> str:
    if not own and not also:
        return ""
    judged = [one for one in own if one.outcome != "not_applicable"]
    idle = [one for one in own if one.outcome == "not_applicable"]
    parts = [f"<h3>{escaped(track or 'of no track')}</h3>\n"]
    heads = ("clause", "level", "outcome", "what was found")
    if judged:
        rows = map(told, judged)
        parts.append(table(f"Clauses of {track}", heads, rows, name="clauses"))
    if idle:
        body = listed(map(_idle, idle), "idle")
        parts.append(folded(f"{counted(len(idle), 'clause')} not applicable", body))
    if also:
        links = ", ".join(_link(one) for one in also)
        parts.append(f'<p class="note">of this track too: {links}</p>\n')
    return "".join(parts)


def _idle(one: ClauseResult) -> str:
    name = escaped(one.clause)
    return (
        f'<span class="id" id="clause-{name}">{name}</span> {escaped(one.title)} '
        f"<small>{one.level}, {one.certification_level}</small>"
    )


def _link(one: ClauseResult) -> str:
    name = escaped(one.clause)
    return f'<a href="#clause-{name}">{name}</a> {OUTCOMES[one.outcome][1]}'


def _row(one: ClauseResult, *, names: Mapping[str, int], most: int) -> str:
    mark, words = OUTCOMES[one.outcome]
    colour = _COLOURS.get(one.outcome, "none")
    told = list(_judgements(one.judgements, names, most))
    rest = "".join(told[_FEW:])
    more = folded(f"{len(told) - _FEW} more", rest) if rest else ""
    name, title = escaped(one.clause), escaped(one.title)
    return row(
        [
            f'<span class="id" id="clause-{name}">{name}</span> <br>{title}',
            f'<span class="id">{one.level}, {one.certification_level}</span>',
            f'<span class="id {colour}">{mark} {words}</span>',
            "".join(told[:_FEW]) + more,
        ]
    )


def _judgements(
    found: Sequence[Judgement], names: Mapping[str, int], most: int
) -> Iterator[str]:
    """What rules say, the same of several parts and specimens once."""
    order = list(OUTCOMES)
    alike: dict[_Alike, list[Judgement]] = {}
    for one in sorted(found, key=lambda one: order.index(_shown_as(one))):
        key = _shown_as(one), one.rule, _told(one)
        alike.setdefault(key, []).append(one)
    groups = list(alike.items())
    for key, group in groups[:most]:
        yield _judgement(key, group, names)
    if len(groups) > most:
        more = counted(len(groups) - most, "more judgement")
        yield f'<p class="note">{more} in the certificate</p>\n'


def _shown_as(one: Judgement) -> str:
    """The outcome; what fails and is waived is not shown as a failure alone."""
    return "waived" if one.waived and one.outcome == "fail" else one.outcome


def _told(one: Judgement) -> str:
    """What was found; a rule is named for what it looks for, and finds it seldom."""
    if one.message:
        return one.message
    if one.measured is not None and one.required is not None:
        return f"{written(one.measured)} against {written(one.required)}"
    return "not found:" if one.outcome == "pass" else ""


def _judgement(
    key: _Alike,
    group: Sequence[Judgement],
    names: Mapping[str, int],
) -> str:
    outcome, rule, told = key
    mark = OUTCOMES[outcome][0]
    numbers = sorted({names[one.specimen] for one in group if one.specimen in names})
    subjects = [one.subject for one in group if one.subject not in {"", "node"}]
    about = [folded_subjects(subjects[:_MOST_SUBJECTS])] if subjects else []
    if numbers:
        plural = "s" if len(numbers) > 1 else ""
        about.append(f"specimen{plural} {_ranges(numbers)}")
    where = f"{', '.join(about)}: " if about else ""
    return (
        f'<p class="judgement">{mark} {escaped(where)}{escaped(told)} '
        f"<small>{breakable(rule)}</small></p>\n"
    )


def _ranges(numbers: Sequence[int]) -> str:
    """1, 2, 3, 5 as 1-3, 5."""
    runs: list[list[int]] = []
    for one in numbers:
        if runs and one == runs[-1][-1] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return ", ".join(
        f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs
    )
