"""`speccheck fleet DIR --output html=FILE`: the report on a fleet as one page.

What the text says on one screen, with a map of all nodes, and what they measured. The
page stays below two megabytes for ten thousand nodes.
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.verdict import FleetVerdict
from speccheck.validator.report.context import FleetContext
from speccheck.validator.report.document import (
    Code,
    Figure,
    Fold,
    Items,
    Paragraph,
    Parts,
    ReportSection,
    Table,
    Terms,
    Verbatim,
    Word,
    level_word,
    note,
)
from speccheck.validator.report.fleet_text import (
    FleetGroup,
    FleetValue,
    fleet_groups,
)
from speccheck.validator.report.forms.html_fleet_map import map_html, rates_parts
from speccheck.validator.report.forms.html_page import header, page, synthetic_html
from speccheck.validator.report.style import Style, counted
from speccheck.validator.report.wording import shown_names

_SHEETS = ("html_synthetic", "html_fleet")
_SCRIPTS = ("html_fleet",)
_COLOURS = {"go": "good", "no-go": "error"}
_WIDE = Style(unicode=True, width=100)
_MOST_ARGUMENTS = 5
_MOST_WARNINGS = 20
_LONGEST = 1000  # characters of a reason
_MOST_VALUES = 12  # of one rule
_MOST_GROUPS = 200
_MOST_PLACES = 3
_MOST_NAMES = 600  # characters of a list of nodes
_MOST_ROWS = 300
_LONGEST_MESSAGE = 500
_LONGEST_REASONS = 250  # of a group of nodes
_STATES = {
    "no-go": "no-go",
    "inconclusive": "inconclusive",
    "usage": "without a verdict",
    "bug": "speccheck broke",
    "unread": "unread",
    "missing": "missing",
}


def fleet_html(context: FleetContext) -> Iterator[str]:
    """Write the page in pieces."""
    run, verdict = context.run, context.verdict
    top: list[Parts] = []
    synthetic = len({node.name for node in run.nodes if node.is_synthetic})
    if synthetic:
        many = counted(synthetic, "node")
        text = f"{many} made by speccheck simulate; this says nothing of any machine."
        top.append(synthetic_html(text))
    top.append(_head(context))
    sections = (
        ReportSection("map", "All nodes", Figure(map_html(run, verdict))),
        ReportSection("findings", "What fails", _findings(context)),
        ReportSection("drain", "Nodes that are not fit", _drain(context)),
        ReportSection("attendance", "Who reported", _attendance(run)),
        ReportSection("unknown", "Not judged", _unknown(run)),
        ReportSection("measured", "Measured", rates_parts(run)),
        ReportSection("since", "Since the other day", _since(context)),
    )
    title = f"{verdict.word}: {verdict.reason}"[:_LONGEST]
    yield from page(title, top, sections, sheets=_SHEETS, scripts=_SCRIPTS)


def _head(context: FleetContext) -> Figure:
    run, verdict = context.run, context.verdict
    needed = "" if verdict.needed is None else f" of {verdict.needed:,} needed"
    size = f", size {run.size}" if run.size else ""
    facts: list[tuple[str, Parts]] = [
        ("Nodes", f"{len({node.name for node in run.nodes}):,}"),
        ("GPUs", f"{run.gpus:,}" if run.gpus else ""),
        ("Fit", f"{verdict.fit:,}{needed}"),
        ("Spares", _spares(verdict)),
        ("Exit code", str(verdict.code)),
        ("Profile", f"{run.use}{size}"),
        ("Edition", run.edition.id),
        ("sha256", Code(run.edition.sha256)),
    ]
    paths = [path[:_LONGEST] for path in context.arguments[:_MOST_ARGUMENTS]]
    more = len(context.arguments) - len(paths)
    judged = " ".join((*paths, *([f"and {more:,} more"] if more else ())))
    notes = [warning[:_LONGEST] for warning in run.warnings[:_MOST_WARNINGS]]
    if run.listing.ignored:
        notes.append(f"{counted(run.listing.ignored, 'file')} of other kinds not read")
    return header(
        _COLOURS.get(verdict.word, "unknown"),
        "speccheck fleet",
        verdict.word,
        verdict.reason[:_LONGEST],
        [(name, value) for name, value in facts if value],
        above=Paragraph(judged, "judged"),
        below=map(note, notes),
    )


def _spares(verdict: FleetVerdict) -> str:
    if not verdict.spares:
        return ""
    wanted = verdict.spares.wanted
    return (
        f"{verdict.spares.at_hand:,}, wanted {wanted.value:,.0f} "
        f"({wanted.lower:,.0f} to {wanted.upper:,.0f})"
    )


def _more(count: int, words: str) -> Paragraph:
    return note(f"and {counted(count, words)}: --full")


def _findings(context: FleetContext) -> Iterator[Parts]:
    """Yield the rules that fail, worst first, with the nodes of each message."""
    groups = fleet_groups(context.run, "error", "fail")
    if not groups:
        yield note("Nothing that was judged fails.")
    total = len({node.name for node in context.run.nodes})
    for group in groups[:_MOST_GROUPS]:
        yield _group(group, context, total)
    if len(groups) > _MOST_GROUPS:
        yield _more(len(groups) - _MOST_GROUPS, "more rule")


def _group(group: FleetGroup, context: FleetContext, total: int) -> Fold:
    finding, level = group.finding, group.level
    where = group.where(total)
    head = (
        level_word(level, group.outcome),
        " ",
        Word(group.clause, "clause"),
        " ",
        Word(group.rule, "name"),
        *([" ", Word(where, "where")] if where else []),
        Paragraph(group.title, "message"),
    )
    shown = group.values if context.full else group.values[:_MOST_VALUES]
    body: list[Parts] = [_value(value, group, context, total) for value in shown]
    rest = len(group.values) - len(shown) + group.others
    if rest:
        body.append(_more(rest, "more message"))
    advice = (("do", finding.action or ""), ("fix", finding.remedy))
    pairs = [(name, text[:_LONGEST_MESSAGE]) for name, text in advice if text]
    body.append(Terms(pairs, "advice"))
    return Fold(head, body, f"finding {level}", is_open=level == "error")


def _value(
    value: FleetValue, group: FleetGroup, context: FleetContext, total: int
) -> Iterator[Paragraph]:
    yield Paragraph(value.statement[:_LONGEST_MESSAGE], "message")
    if value.hosts and not group.is_of_all(value, total):
        names = shown_names(value.hosts, full=False, most=_MOST_NAMES)
        yield Paragraph(Code(names), "place")
    if group.is_of_job:
        for place in value.places(context.run, _MOST_PLACES):
            yield Paragraph(Code(place), "place")


def _drain(context: FleetContext) -> Iterator[Parts]:
    """Yield the nodes that must not take part, those with the same reason together."""
    verdict = context.verdict
    if not verdict.unfit:
        return
    alike: dict[tuple[str, str, str], list[str]] = {}
    for unfit in verdict.unfit:
        rules = dict.fromkeys(reason.rule or reason.message for reason in unfit.reasons)
        actions = dict.fromkeys(reason.action or "" for reason in unfit.reasons)
        key = unfit.state, ", ".join(filter(None, actions)), ", ".join(rules)
        alike.setdefault(key, []).append(unfit.name)
    order = list(_STATES)
    ranked = sorted(
        alike.items(), key=lambda group: (order.index(group[0][0]), -len(group[1]))
    )
    rows: list[Sequence[Parts]] = [
        (
            Code(shown_names(names, full=context.full, most=_MOST_NAMES)),
            f"{len(names):,}",
            _STATES[state],
            Code(action),
            reasons[:_LONGEST_REASONS],
        )
        for (state, action, reasons), names in ranked[:_MOST_ROWS]
    ]
    heads = ("nodes", ">count", "state", "do", "because of")
    yield Table("Nodes that are not fit", heads, rows, "long")
    if len(ranked) > _MOST_ROWS:
        yield _more(len(ranked) - _MOST_ROWS, "more group")
    drained = {node.name for node in verdict.of("no-go")}
    if drained:
        names = {node.name for node in context.run.nodes if node.is_synthetic}
        made_up = " They are synthetic." if names.issuperset(drained) else ""
        yield note(
            f"To drain: {counted(len(verdict.of('no-go')), 'node')}, those that are "
            f"no-go; the others are for a person to look at.{made_up} ",
            Code("--drain-list slurm"),
            " writes the commands.",
        )


def _attendance(run: FleetRun) -> Iterator[Parts]:
    """Yield who is missing, unexpected, unread, or came twice; nothing for nobody."""
    attendance = run.fleet.attendance
    for words, names in (
        ("Missing", attendance.missing),
        ("Not expected", attendance.unexpected),
    ):
        if names:
            shown = Code(shown_names(names, full=False, most=_MOST_NAMES))
            yield Paragraph((f"{words}: {len(names):,}: ", shown))
    for words, texts in (
        ("Unread", [f"{file.file}: {file.problem}" for file in attendance.unread]),
        (
            "More than once",
            [f"{node.name}: {node.problem}" for node in attendance.repeated],
        ),
    ):
        if texts:
            yield Paragraph(f"{words}: {len(texts):,}")
            yield Items([Code(text[:_LONGEST_MESSAGE]) for text in texts[:_MOST_ROWS]])
        if len(texts) > _MOST_ROWS:
            yield _more(len(texts) - _MOST_ROWS, "more")
    if not attendance.expected.is_known:
        yield note(f"How many were expected is not known: {attendance.expected.note}")


def _unknown(run: FleetRun) -> Parts:
    """Return what could not be judged, and of which nodes."""
    groups = fleet_groups(run, "unknown")
    rows: list[Sequence[Parts]] = []
    for group in groups[:_MOST_GROUPS]:
        messages = dict.fromkeys(value.message for value in group.values)
        hosts = shown_names(group.hosts, full=False) if group.hosts else ""
        rows.append(
            (
                Word(group.clause, "id"),
                group.finding.clause_level,
                Code(group.rule) if group.rule else group.title,
                "; ".join(list(messages)[:2])[:_LONGEST_MESSAGE],
                Code(hosts),
            )
        )
    if not rows:
        return ""
    heads = ("clause", "level", "rule", "what is missing", "nodes")
    table = Table("What could not be judged", heads, rows)
    return Fold(f"{counted(len(groups), 'rule')} not judged", table)


def _since(context: FleetContext) -> Parts:
    if context.since is None:
        return ""
    from speccheck.validator.report.fleet_days_text import (  # noqa: PLC0415 - of few
        since_text,
    )

    text = "".join(since_text(context.since, _WIDE, full=False))
    return Verbatim(text.strip("\n"))
