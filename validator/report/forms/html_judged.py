"""What could not be judged, what holds, and which files were read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.report.forms.html_text import (
    code,
    escaped,
    folded,
    row,
    table,
)
from speccheck.validator.report.style import counted
from speccheck.validator.report.unknowns import unknown_groups, unknown_head
from speccheck.validator.report.wording import folded_subjects, written
from speccheck.validator.run.plan_judge import MOST_SOUGHT, JudgedPlan
from speccheck.validator.run.run import Run
from speccheck.validator.sources.files import FileStatus

_MOST_ROWS = 400
_STATES = {
    "unreadable": "could not be read",
    "template": "template, not judged",
    "unrecognised": "of another kind, not judged",
    "excluded": "excluded by settings",
    "judged": "judged",
}


def unknown_html(plans: Sequence[JudgedPlan]) -> str:
    """What would let clauses be judged, and which."""
    groups, levels = unknown_groups(plans)
    if not groups:
        return ""
    rows = (
        row([escaped(need.removesuffix(".")), _clauses(clauses, levels)])
        for need, clauses in groups
    )
    head = f'<p class="note">{escaped(unknown_head(levels))}; musts are bold.</p>\n'
    heads = ("what would let it be judged", "clauses")
    return head + table("What could not be judged", heads, rows)


def _clauses(clauses: Iterable[str], levels: Mapping[str, str]) -> str:
    return ", ".join(
        f'<b class="id">{escaped(one)}</b>'
        if levels[one] == "must"
        else f'<span class="id">{escaped(one)}</span>'
        for one in sorted(clauses)
    )


def unsought_html(run: Run) -> str:
    """That not every plan was searched for settings that mend it."""
    if not run.unsought:
        return ""
    return (
        '<p class="note">Settings that mend memory or batches were sought for the '
        f"first {MOST_SOUGHT} plans that need some, and not for {run.unsought:,} "
        "more: judge those alone.</p>\n"
    )


def holding_html(plans: Sequence[JudgedPlan]) -> str:
    """What holds, and what does not apply, folded."""
    held = _by_rule(plans, "pass")
    idle = _by_rule(plans, "not_applicable")
    parts = []
    for found, title in ((held, "hold"), (idle, "do not apply")):
        if found:
            rows = (_row(key, alike, plans) for key, alike in found.items())
            body = table(
                f"Rules that {title}", ("rule", "clause", "what was found"), rows
            )
            parts.append(folded(f"{counted(len(found), 'rule')} that {title}", body))
    return "".join(parts).replace("1 rule that hold<", "1 rule that holds<")


_Alike = dict[tuple[str, str, str], list[Finding]]


def _by_rule(plans: Iterable[JudgedPlan], outcome: str) -> _Alike:
    found: _Alike = {}
    for plan in plans:
        for located in plan.findings:
            one = located.finding
            if one.outcome == outcome:
                found.setdefault((one.clause, one.rule, one.title), []).append(one)
    return found


def _row(
    key: tuple[str, str, str], found: Sequence[Finding], plans: Sequence[JudgedPlan]
) -> str:
    clause, rule, title = key
    texts = dict.fromkeys(_found(one) for one in found)
    told = [escaped(text) for text in texts if text][:3]
    subjects = [one.subject for one in found if one.subject]
    if subjects and len(plans) == 1:
        told.insert(0, escaped(folded_subjects(subjects)))
    elif len(plans) > 1:
        told = [f"{counted(len(found), 'time')} in {len(plans):,} plans"]
    name = f'<span class="id">{escaped(clause)}</span>'
    return row([code(rule) or escaped(title), name, "<br>".join(told)])


def _found(one: Finding) -> str:
    if one.message or one.measured is None or one.required is None:
        return one.message
    return f"{written(one.measured)} against {written(one.required)}"


def files_html(files: Sequence[FileStatus]) -> str:
    """The files of the run: those that were not judged first."""
    if not files:
        return ""
    order = list(_STATES)
    ranked = sorted(files, key=lambda one: order.index(one.state))
    return "".join(_files(ranked))


def _files(ranked: Sequence[FileStatus]) -> Iterator[str]:
    counts = [
        f"{number:,} {words}"
        for state, words in _STATES.items()
        if (number := sum(one.state == state for one in ranked))
    ]
    yield f'<p class="note">{"; ".join(counts)}</p>\n'
    rows = (
        row([code(one.path), escaped(one.format), _STATES[one.state], _said(one)])
        for one in ranked[:_MOST_ROWS]
    )
    heads = ("file", "format", "", "message")
    body = table("Files of the run", heads, rows, name="long")
    if len(ranked) > _MOST_ROWS:
        body += f'<p class="note">and {len(ranked) - _MOST_ROWS:,} more files</p>\n'
    is_short = len(ranked) <= 12  # noqa: PLR2004 - a glance
    yield body if is_short else folded(f"{len(ranked):,} files", body)


def _said(one: FileStatus) -> str:
    """The message without the name of the file, which stands beside it."""
    return escaped(one.message.removeprefix(f"{one.path}: "))
