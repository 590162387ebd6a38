"""The judgement of a tournament on a terminal: answer, table, what to do next."""

from collections.abc import Iterator, Sequence

from speccheck.validator.node.host_names import fold
from speccheck.validator.report.style import Style, counted, printable, wrap
from speccheck.validator.straggler_search.follow_up import SearchOutcome
from speccheck.validator.straggler_search.judgement import (
    JudgedNode,
    JudgedSets,
    Limits,
    SearchJudgement,
    condition_words,
    rate_words,
    set_words,
    undecided_words,
)
from speccheck.validator.straggler_search.rounds import SearchPlan

_MOST_SETS = 4
_MOST_ROWS = 24
_MOST_NAMES = 400
_HEADINGS = ("node", "GB/s", "of peers", "MAD below", "slow sets", "verdict")
_COLOURS = {"slow": "error", "suspect": "warning", "cleared": "good"}


def judgement_text(
    outcome: SearchOutcome,
    limits: Limits,
    style: Style,
    *,
    full: bool,
    written: str = "",
) -> Iterator[str]:
    """Yield the report; `written` is the file that holds the next plan, if one does."""
    judgement = outcome.judgement
    yield from _headline(outcome, style)
    for condition in judgement.conditions:
        yield from _conditions(condition, limits, style)
    yield from _table(judgement.nodes, style, full=full)
    yield from _gaps(outcome, style)
    yield from _following(outcome, style, written)
    if any(condition.state == "judged" for condition in judgement.conditions):
        words = (
            "Peers tell who is slower than the rest, and not whether all are slow: "
            "speccheck RESULT holds the rates against what the fabric can reach."
        )
        yield "\n" + wrap(words, style.width, "") + "\n"


def _headline(outcome: SearchOutcome, style: Style) -> Iterator[str]:
    judgement = outcome.judgement
    slow, suspects = judgement.hosts("slow"), judgement.hosts("suspect")
    number = len(judgement.nodes) + len(judgement.open)
    if slow:
        text = f"SLOW: {_names(slow)}"
        text += f"; suspected: {_names(suspects)}" if suspects else ""
        colour = "error"
    elif suspects:
        text = f"NOT DECIDED: {counted(len(suspects), 'suspect')}, {_names(suspects)}"
        colour = "warning"
    elif outcome.answer == "inconclusive":
        planned = outcome.planned
        why = "the results do not tell"
        if judgement.nodes and not judgement.open and planned is not None:
            why = f"{counted(len(planned.missing), 'planned node')} not measured"
        text, colour = f"NOT DECIDED: {why}", "warning"
    else:
        text, colour = f"NO SLOW NODE among {number:,}", "good"
    yield style.paint(wrap(text, style.width, ""), colour) + "\n"


def _names(hosts: Sequence[str]) -> str:
    text = printable(fold(hosts))
    if len(text) <= _MOST_NAMES:
        return text
    return f"{text[:_MOST_NAMES]}... ({counted(len(hosts), 'node')})"


def _conditions(judged_sets: JudgedSets, limits: Limits, style: Style) -> Iterator[str]:
    what = printable(set_words(judged_sets.sets))
    more = printable(condition_words(judged_sets.sets))
    yield "\n" + style.paint(what, "bold") + (f"  {more}" if more else "") + "\n"
    peers = judged_sets.peers
    if judged_sets.state != "judged" or peers is None:
        text = f"not judged: {undecided_words(judged_sets, limits)}"
    else:
        share = peers.least / peers.median if peers.median else 0
        text = (
            f"{counted(len(judged_sets.sets.trials), 'set')}, "
            f"{judged_sets.slow_sets:,} of them slow; "
            f"median {rate_words(peers.median)} GB/s, MAD "
            f"{rate_words(peers.deviation)}; slow is below "
            f"{rate_words(peers.least)} ({share:.0%})"
        )
    yield wrap(text, style.width, "  ") + "\n"


def _table(nodes: Sequence[JudgedNode], style: Style, *, full: bool) -> Iterator[str]:
    accused = [node for node in nodes if full or node.verdict != "cleared"]
    cleared = [node for node in nodes if not full and node.verdict == "cleared"]
    beyond = 0 if full else max(0, len(accused) - _MOST_ROWS)
    accused = accused[: len(accused) - beyond]
    rows = [_row(judged_node) for judged_node in accused]
    if cleared:
        rows.append(_row_of_all(cleared, are_others=bool(accused)))
    if not rows:
        return
    widths = [
        max(len(row[at]) for row in (_HEADINGS, *rows))
        for at in range(len(_HEADINGS) - 1)
    ]
    yield "\n" + style.paint(_line(_HEADINGS, widths), "dim") + "\n"
    verdicts = [*(judged_node.verdict for judged_node in accused), "cleared"]
    for row, verdict in zip(rows, verdicts, strict=False):
        indent = " " * (sum(widths) + 2 * len(widths) + 2)
        why = wrap(row[-1], max(style.width, len(indent) + 30), indent).lstrip()
        yield _line((*row[:-1], style.paint(why, _COLOURS[verdict])), widths) + "\n"
    if beyond:
        yield f"  and {beyond:,} more that are slow or suspected: --full shows them\n"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.ljust(width) if index == 0 else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=False))
    )
    return "  " + "  ".join([first, *rest, cells[-1]])


def _row(judged_node: JudgedNode) -> tuple[str, ...]:
    return (
        printable(judged_node.host),
        rate_words(judged_node.bytes_per_second),
        "-" if judged_node.share is None else f"{judged_node.share:.0%}",
        "-" if judged_node.deviations is None else f"{judged_node.deviations:.0f}",
        f"{judged_node.slow_sets}/{judged_node.sets}",
        f"{judged_node.verdict}: {printable(judged_node.why)}",
    )


def _row_of_all(cleared: Sequence[JudgedNode], *, are_others: bool) -> tuple[str, ...]:
    rates = [
        judged_node.bytes_per_second
        for judged_node in cleared
        if judged_node.bytes_per_second
    ]
    shares = [judged_node.share for judged_node in cleared if judged_node.share]
    swung = sum(judged_node.slow_sets > 0 for judged_node in cleared)
    seldom = f"; {swung:,} slow at times" if swung else ""
    sets = sum(judged_node.sets for judged_node in cleared)
    return (
        f"{len(cleared):,} {'others' if are_others else 'nodes'}",
        f"{rate_words(min(rates))} to {rate_words(max(rates))}" if rates else "-",
        f"{min(shares):.0%} to {max(shares):.0%}" if shares else "-",
        "-",
        f"{sum(judged_node.slow_sets for judged_node in cleared)}/{sets}",
        f"cleared: each at full speed in a set{seldom}",
    )


def _gaps(outcome: SearchOutcome, style: Style) -> Iterator[str]:
    judgement, planned = outcome.judgement, outcome.planned
    lines: list[str] = []
    if judgement.open:
        lines.append(f"measured, not judged: {_names(judgement.open)}")
    if planned is not None:
        text = f"planned: {planned.sets_measured:,} of {planned.sets:,} sets measured"
        if planned.missing:
            text += f"; not measured at all: {_names(planned.missing)}"
        lines.append(text)
    lines.extend(
        f"left out: {counted(runs, 'run')} that {reason}"
        if runs == 1
        else f"left out: {counted(runs, 'run')}, each of which {reason}"
        for reason, runs in judgement.left_out
    )
    lines.extend(f"not read: {printable(text)}" for text in outcome.not_read)
    if lines:
        yield "\n"
    yield from (wrap(line, style.width, "") + "\n" for line in lines)


def _following(outcome: SearchOutcome, style: Style, written: str) -> Iterator[str]:
    plan = outcome.following
    steps: list[str] = []
    slow = outcome.judgement.hosts("slow")
    if slow:
        steps.append(
            f"take {_names(slow)} out of the job, and probe it there: speccheck probe"
        )
    if plan is not None and plan.rounds:
        steps.append(_measuring(plan, outcome.judgement, written))
    if not steps:
        return
    yield "\n" + style.paint("next", "bold") + "\n"
    yield from (wrap(step, style.width, "  ") + "\n" for step in steps)


def _together(hosts: Sequence[str]) -> str:
    """Return a set: the suspect comes first, and then who fills it."""
    return f"{printable(hosts[0])} with {_names(hosts[1:])}"


def _measuring(plan: SearchPlan, judgement: SearchJudgement, written: str) -> str:
    rounds = counted(len(plan.rounds), "round")
    sets = [texts for each in plan.rounds for texts in each]
    shown = "; ".join(_together(set_) for set_ in sets[:_MOST_SETS])
    more = f"; and {len(sets) - _MOST_SETS:,} more sets" if sets[_MOST_SETS:] else ""
    what = "suspects with cleared nodes" if judgement.accused else "anew"
    how = f"run {printable(written)}" if written else "--next FILE writes the plan"
    return (
        f"measure {what}, {rounds} of sets of {plan.largest_set} ({shown}{more}): "
        f"{how}, and judge all results together: speccheck bench judge RESULT ..."
    )
