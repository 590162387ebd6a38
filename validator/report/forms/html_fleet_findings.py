"""What fails on a fleet, on which nodes, and which of these are not fit."""

from collections.abc import Iterator, Sequence

from speccheck.validator.engine.locate import located, sources_of
from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.verdict import FleetVerdict
from speccheck.validator.report.context import FleetContext
from speccheck.validator.report.fleet_groups import (
    FleetGroup,
    FleetValue,
    fleet_groups,
    shown_names,
)
from speccheck.validator.report.forms.html_text import (
    code,
    escaped,
    folded,
    level_word,
    listed,
    row,
    table,
)
from speccheck.validator.report.style import counted

_MOST_VALUES = 12  # of one rule
_MOST_GROUPS = 200
_MOST_PLACES = 3
_MOST_NAMES = 600  # characters of a list of nodes
_MOST_ROWS = 300
_LONGEST = 500  # characters of a message
_LONGEST_REASON = 250  # of the reasons of a group of nodes
_STATES = {
    "no-go": "no-go",
    "inconclusive": "inconclusive",
    "usage": "without a verdict",
    "bug": "speccheck broke",
    "unread": "unread",
    "missing": "missing",
}


def findings_html(context: FleetContext) -> str:
    """Rules that fail, the worst first, with the nodes of each thing that they say."""
    groups = fleet_groups(context.run, "error", "fail")
    if not groups:
        return '<p class="note">Nothing that was judged fails.</p>\n'
    total = len({one.name for one in context.run.nodes})
    shown = groups[:_MOST_GROUPS]
    parts = [_group(one, context, total) for one in shown]
    if len(groups) > len(shown):
        parts.append(_more(len(groups) - len(shown), "more rule"))
    return "".join(parts)


def _more(count: int, words: str) -> str:
    return f'<p class="note">and {counted(count, words)}: --full</p>\n'


def _group(group: FleetGroup, context: FleetContext, total: int) -> str:
    finding = group.finding
    count = len(group.hosts)
    where = "in the job" if group.is_of_job else ""
    if count and not where:
        where = "on all nodes" if count == total else f"on {counted(count, 'node')}"
    told_where = f' <span class="where">{where}</span>' if where else ""
    head = (
        f"{level_word(group.level, group.outcome)} "
        f'<span class="clause">{escaped(group.clause)}</span> '
        f'<span class="name">{escaped(group.rule)}</span>{told_where}'
        f'<p class="message">{escaped(group.title)}</p>'
    )
    shown = group.values if context.full else group.values[:_MOST_VALUES]
    body = "".join(_value(one, group, context, total) for one in shown)
    rest = len(group.values) - len(shown) + group.others
    if rest:
        body += _more(rest, "more message")
    advice = [("do", finding.action or ""), ("fix", finding.remedy)]
    pairs = "".join(
        f"<dt>{name}</dt><dd>{escaped(text[:_LONGEST])}</dd>\n"
        for name, text in advice
        if text
    )
    body += f'<dl class="advice">\n{pairs}</dl>\n' if pairs else ""
    level = group.level
    return folded(head, body, is_open=level == "error", name=f"finding {level}")


def _value(
    value: FleetValue, group: FleetGroup, context: FleetContext, total: int
) -> str:
    subject = value.subject if value.subject != "node" else ""
    message = f"{subject}: {value.message}" if subject else value.message
    is_all = group.is_of_job or (len(value.hosts) == total and total > 1)
    names = "" if is_all else shown_names(value.hosts, full=False, most=_MOST_NAMES)
    nodes = f'<p class="place">{code(names)}</p>\n' if names else ""
    return (
        f'<p class="message">{escaped(message[:_LONGEST])}</p>\n{nodes}'
        f"{''.join(_places(value, context.run)) if group.is_of_job else ''}"
    )


def _places(value: FleetValue, run: FleetRun) -> Iterator[str]:
    """Where it stands in the files of the job."""
    found = located(value.finding, sources_of(run.job)).locations
    for one in found[:_MOST_PLACES]:
        position = f":{one.line}:{one.column}" if one.line else ""
        yield f'<p class="place">{code(f"{one.file}{position}: {one.key}")}</p>\n'


def drain_html(run: FleetRun, verdict: FleetVerdict, *, full: bool) -> str:
    """The nodes that must not take part, those with the same reason together."""
    if not verdict.unfit:
        return ""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for one in verdict.unfit:
        rules = dict.fromkeys(reason.rule or reason.message for reason in one.reasons)
        actions = dict.fromkeys(reason.action or "" for reason in one.reasons)
        key = one.state, ", ".join(filter(None, actions)), ", ".join(rules)
        alike.setdefault(key, []).append(one.name)
    ranked = sorted(
        alike.items(), key=lambda one: (list(_STATES).index(one[0][0]), -len(one[1]))
    )
    rows = [
        row(
            [
                code(shown_names(names, full=full, most=_MOST_NAMES)),
                f"{len(names):,}",
                _STATES[state],
                code(action),
                escaped(reasons[:_LONGEST_REASON]),
            ],
            numbers=(1,),
        )
        for (state, action, reasons), names in ranked[:_MOST_ROWS]
    ]
    heads = ("nodes", ">count", "state", "do", "because of")
    body = table("Nodes that are not fit", heads, rows, name="long")
    if len(ranked) > _MOST_ROWS:
        body += _more(len(ranked) - _MOST_ROWS, "more group")
    return body + _drain_note(run, verdict)


def _drain_note(run: FleetRun, verdict: FleetVerdict) -> str:
    drained = verdict.of("no-go")
    if not drained:
        return ""
    names = {one.name for one in run.nodes if one.is_synthetic}
    made_up = (
        " They are synthetic." if names.issuperset(o.name for o in drained) else ""
    )
    return (
        f'<p class="note">To drain: {counted(len(drained), "node")}, those that are '
        f"no-go; the others are for a person to look at.{made_up} "
        "<code>--drain-list slurm</code> writes the commands.</p>\n"
    )


def attendance_html(run: FleetRun) -> str:
    """Who is missing, unexpected, unread, or came twice; empty where nobody is."""
    found = run.fleet.attendance
    parts = []
    for words, names in (
        ("Missing", found.missing),
        ("Not expected", found.unexpected),
    ):
        if names:
            told = code(shown_names(names, full=False, most=_MOST_NAMES))
            parts.append(f"<p>{words}: {len(names):,}: {told}</p>\n")
    parts += _told("Unread", [f"{one.file}: {one.problem}" for one in found.unread])
    repeated = [f"{one.name}: {one.problem}" for one in found.repeated]
    parts += _told("More than once", repeated)
    if not found.expected.is_known:
        note = f"How many were expected is not known: {found.expected.note}"
        parts.append(f'<p class="note">{escaped(note)}</p>\n')
    return "".join(parts)


def _told(title: str, texts: Sequence[str]) -> Iterator[str]:
    if not texts:
        return
    yield f"<p>{title}: {len(texts):,}</p>\n"
    yield listed(code(text[:_LONGEST]) for text in texts[:_MOST_ROWS])
    if len(texts) > _MOST_ROWS:
        yield _more(len(texts) - _MOST_ROWS, "more")


def unknown_html(context: FleetContext) -> str:
    """What could not be judged, and of which nodes."""
    groups = fleet_groups(context.run, "unknown")
    rows = []
    for one in groups[:_MOST_GROUPS]:
        messages = dict.fromkeys(value.message for value in one.values)
        rows.append(
            row(
                [
                    f'<span class="id">{escaped(one.clause)}</span>',
                    one.finding.clause_level,
                    code(one.rule) or escaped(one.title),
                    escaped("; ".join(list(messages)[:2])[:_LONGEST]),
                    code(shown_names(one.hosts, full=False)) if one.hosts else "",
                ]
            )
        )
    if not rows:
        return ""
    heads = ("clause", "level", "rule", "what is missing", "nodes")
    body = table("What could not be judged", heads, rows)
    return folded(f"{counted(len(groups), 'rule')} not judged", body)
