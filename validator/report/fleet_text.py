"""The report on a fleet: what few nodes have first, on one screen."""

import shlex
from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.engine.locate import located, sources_of
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.verdict import FleetVerdict, Unfit
from speccheck.validator.node.host_names import is_host_name, natural
from speccheck.validator.report.context import FleetContext
from speccheck.validator.report.edition_names import own_number_lines, tailored_headline
from speccheck.validator.report.style import Style, counted, joined, printable, wrap
from speccheck.validator.report.wording import shown_names

_Key = tuple[str, str, str, str, bool]  # rule, clause, level, outcome, of the job
LEVELS = ("error", "warning", "info")


class FleetValue(Record):
    """The same message about some nodes.

    Attributes:
        subject: the part of a node that it is about.
        message: what was found.
        hosts: the nodes; none for the fleet as a whole.
        finding: the finding that stands for all of them.

    """

    subject: str
    message: str
    hosts: tuple[str, ...]
    finding: Finding

    @property
    def statement(self) -> str:
        """The message after the part of a node that it is about."""
        subject = self.subject if self.subject != "node" else ""
        return f"{subject}: {self.message}" if subject else self.message

    def places(self, run: FleetRun, most: int) -> Iterator[str]:
        """Yield where it stands in the files of the job."""
        for at in located(self.finding, sources_of(run.job)).locations[:most]:
            position = f":{at.line}:{at.column}" if at.line else ""
            yield f"{at.file}{position}: {at.key}"


class FleetGroup(Record):
    """All that one rule says, what few nodes have first.

    hosts: all of them. others: those with messages that were not kept. is_of_job: it
    speaks against the files of the job, and against no node.
    """

    rule: str
    clause: str
    title: str
    level: str
    outcome: str
    values: tuple[FleetValue, ...]
    hosts: tuple[str, ...]
    others: int = 0
    is_of_job: bool = False

    @property
    def finding(self) -> Finding:
        """The finding that stands for the group."""
        return self.values[0].finding

    def where(self, total: int) -> str:
        """Return on how many nodes of a fleet it is so."""
        count = len(self.hosts)
        if self.is_of_job:
            return "in the job"
        if not count:
            return ""
        return "on all nodes" if count == total else f"on {counted(count, 'node')}"

    def is_of_all(self, value: FleetValue, total: int) -> bool:
        """Return whether a message needs no names of nodes."""
        return self.is_of_job or (len(value.hosts) == total and total > 1)


def fleet_groups(run: FleetRun, *outcomes: str) -> list[FleetGroup]:
    """Return the groups of these outcomes: errors first, then what few nodes have."""
    values: dict[_Key, list[FleetValue]] = {}
    for finding, hosts, is_of_job in _each(run):
        if finding.outcome not in outcomes or finding.waiver is not None:
            continue
        key = finding.rule, finding.clause, finding.level, finding.outcome, is_of_job
        values.setdefault(key, []).append(
            FleetValue(finding.subject, finding.message, hosts, finding)
        )
    groups = [_group(run, key, value) for key, value in values.items()]
    return sorted(groups, key=_rank)


def loosened_groups(run: FleetRun) -> list[FleetGroup]:
    """Return what fails by the edition's own numbers and passes by the user's."""
    if not run.edition.tailoring:
        return []
    groups = fleet_groups(run, "pass", "not_applicable")
    loosened = (
        group._replace(
            values=tuple(value for value in group.values if value.finding.is_loosened)
        )
        for group in groups
    )
    return [fleet_group for fleet_group in loosened if fleet_group.values]


def _each(run: FleetRun) -> Iterable[tuple[Finding, tuple[str, ...], bool]]:
    for item in run.findings:
        names = {run.nodes[number].name for number in item.nodes}
        yield item.finding, tuple(sorted(names, key=natural)), run.is_of_job(item)
    for finding in run.of_fleet:
        yield finding, finding.hosts, False


def _group(run: FleetRun, key: _Key, fleet_values: list[FleetValue]) -> FleetGroup:
    rule, clause, level, outcome, is_of_job = key
    more = () if is_of_job else run.more.get((rule or clause, outcome), ())
    hosts = {name for fleet_value in fleet_values for name in fleet_value.hosts}
    others = {run.nodes[number].name for number in more} - hosts
    titles = (fleet_value.finding.title for fleet_value in fleet_values)
    return FleetGroup(
        rule=rule,
        clause=clause,
        title=next(filter(None, titles), ""),
        level=level,
        outcome=outcome,
        values=tuple(
            sorted(
                fleet_values,
                key=lambda fleet_value: (len(fleet_value.hosts), fleet_value.message),
            )
        ),
        hosts=tuple(sorted(hosts | others, key=natural)),
        others=len(others),
        is_of_job=is_of_job,
    )


def _rank(group: FleetGroup) -> tuple[int, int, str, str]:
    return LEVELS.index(group.level), len(group.hosts), group.clause, group.rule


def rule_name(group: FleetGroup) -> str:
    """Return the clause and rule, without what a hostile line may add."""
    return printable(f"{group.clause} {group.rule}").strip()


# With more rules than that a report with remedies is longer than a screen.
MOST_WITH_REMEDIES = 6
_MOST_BRIEF = 22
_LEAST_NAMES = 24


def brief(groups: Sequence[FleetGroup], style: Style) -> Iterator[str]:
    """Yield each rule with its nodes, and what it says of the fewest of them."""
    for group in groups[:_MOST_BRIEF]:
        outcome = "bug" if group.outcome == "error" else group.level
        rule = rule_name(group)
        room = max(_LEAST_NAMES, style.width - len(outcome) - len(rule) - 3)
        names = "in the job" if group.is_of_job else ""
        if group.hosts and not group.is_of_job:
            names = printable(shown_names(group.hosts, full=False, most=room))
        painted = style.paint(names, "dim" if group.is_of_job else "bold")
        head = f"{style.paint(outcome, group.level)} {rule}"
        yield f"{head}  {painted}\n" if names else f"{head}\n"
        yield f"{_message(group, style)}\n"
        if group.finding.remedy:
            yield f"{_remedy(group, style)}\n"
    rest = len(groups) - _MOST_BRIEF
    more = f"and {counted(rest, 'rule')} more; " if rest > 0 else ""
    text = f"{more}--full shows all that they say"
    yield style.paint(f"{text}\n", "dim")


def _message(group: FleetGroup, style: Style) -> str:
    value = group.values[0]
    others = len(group.values) - 1 + group.others
    more = f" (and {others:,} more)" if others else ""
    return wrap(printable(value.statement) + more, style.width, _INDENT)


def _remedy(group: FleetGroup, style: Style) -> str:
    """Return what to change: never cut."""
    text = wrap(printable(group.finding.remedy), style.width, "       ").lstrip()
    return f"{_INDENT}{style.paint('fix', 'good')}  {text}"


_MOST_VALUES = 3  # of one rule
_MOST_GROUPS = 8  # of one level, and of what is not known
_MOST_PLACES = 2
_MOST_ARGUMENTS = 3
_FEW = 20  # nodes that are named in a line
_INDENT, _DEEPER = "  ", "    "
_STATES = (
    ("no-go", "no-go"),
    ("inconclusive", "inconclusive"),
    ("usage", "without a verdict"),
    ("bug", "where speccheck broke"),
    ("unread", "unread"),
    ("missing", "missing"),
)


def fleet_text(context: FleetContext, style: Style) -> Iterator[str]:
    """Yield the report, block by block."""
    run, verdict = context.run, context.verdict
    yield _header(context, style)
    if synthetic := len({node.name for node in run.nodes if node.is_synthetic}):
        text = (
            f"synthetic: {counted(synthetic, 'node')} made by speccheck simulate; "
            "this says nothing of any machine"
        )
        yield style.paint(wrap(text, style.width, ""), "warning") + "\n"
    yield f"\n{_verdict(verdict, style)}\n"
    failed = fleet_groups(run, "error", "fail")
    above = [fleet_group for fleet_group in failed if fleet_group.level != "info"]
    if len(above) > MOST_WITH_REMEDIES and not context.full:
        yield "\n"
        yield from brief(above, style)
    else:
        for fleet_group in above:
            yield (
                "\n"
                + "\n".join(_group_lines(fleet_group, run, style, full=context.full))
                + "\n"
            )
    yield from _advice(
        [fleet_group for fleet_group in failed if fleet_group.level == "info"],
        context,
        style,
    )
    yield from _own_words(verdict, style, full=context.full)
    yield from _unknowns(fleet_groups(run, "unknown"), style, full=context.full)
    yield from _loosened(run, style, full=context.full)
    if context.since is not None:
        yield from _since(context, style)
    if ignored := run.listing.ignored:
        text = f"{counted(ignored, 'file')} of other kinds not read"
        yield f"\n{style.paint(text, 'dim')}\n"
    yield f"\n{_totals(verdict, style)}\n"


def _loosened(run: FleetRun, style: Style, *, full: bool) -> Iterator[str]:
    """Yield what holds by own numbers alone, a paragraph a rule."""
    groups = loosened_groups(run)
    if groups:
        yield "\n"
    for group in groups if full else groups[:_MOST_GROUPS]:
        names = {name for value in group.values for name in value.hosts}
        where = counted(len(names), "node")
        text = f"loosened {rule_name(group)} on {where}: {group.finding.note}"
        yield wrap(printable(text), style.width, "") + "\n"
    if len(groups) > _MOST_GROUPS and not full:
        rest = counted(len(groups) - _MOST_GROUPS, "loosened rule")
        yield style.paint(f"and {rest} more: --full\n", "dim")


def _since(context: FleetContext, style: Style) -> Iterator[str]:
    from speccheck.validator.report.fleet_days_text import (  # noqa: PLC0415 - of few
        since_text,
    )

    if context.since is not None:
        yield from since_text(context.since, style, full=context.full)


def _header(context: FleetContext, style: Style) -> str:
    run = context.run
    size = f", size {run.size}" if run.size else ""
    parts = [
        _arguments(context.arguments),
        counted(len({node.name for node in run.nodes}), "node"),
        *([f"{run.gpus:,} GPUs"] if run.gpus else []),
        f"edition {run.edition.id}",
        *filter(None, [tailored_headline(run.edition)]),
        f"profile {run.use}{size}",
    ]
    head = joined(parts, f" {style.dot} ", style.width) + "\n"
    lines = own_number_lines(run.edition, full=context.full)
    return head + "".join(
        wrap(printable(line), style.width, "  ") + "\n" for line in lines
    )


def _arguments(paths: Sequence[str]) -> str:
    """Return what was judged; a shell makes one word of a command thousands."""
    shown = [printable(path) for path in paths[:_MOST_ARGUMENTS]]
    rest = len(paths) - len(shown)
    return " ".join((*shown, *([f"and {rest:,} more"] if rest else ())))


def _verdict(verdict: FleetVerdict, style: Style) -> str:
    colour = {"go": "good", "no-go": "error"}.get(verdict.word, "warning")
    word = style.paint(verdict.word, colour)
    text = printable(verdict.reason)
    return f"{word}  {wrap(text, style.width - len(verdict.word) - 2, '').lstrip()}"


def _advice(
    groups: Sequence[FleetGroup], context: FleetContext, style: Style
) -> Iterator[str]:
    """Yield what fails a may: one line a rule, unless everything is listed."""
    if context.full:
        for group in groups:
            yield (
                "\n"
                + "\n".join(_group_lines(group, context.run, style, full=True))
                + "\n"
            )
        return
    if groups:
        yield "\n"
    total = len({node.name for node in context.run.nodes})
    for group in groups[:_MOST_GROUPS]:
        head = f"{style.paint('info', 'info')} {rule_name(group)}"
        where = group.where(total)
        if group.hosts and not group.is_of_job and len(group.hosts) < _FEW:
            where = shown_names(group.hosts, full=False)
        yield f"{head}  {style.paint(printable(where), 'dim')}\n"
    if len(groups) > _MOST_GROUPS:
        rest = counted(len(groups) - _MOST_GROUPS, "info rule")
        yield style.paint(f"and {rest} more: --full\n", "dim")


def _group_lines(
    group: FleetGroup, run: FleetRun, style: Style, *, full: bool
) -> Iterator[str]:
    outcome = "bug" if group.outcome == "error" else group.level
    head = f"{style.paint(outcome, group.level)} {rule_name(group)}"
    total = len({node.name for node in run.nodes})
    where = group.where(total)
    yield f"{head}  {style.paint(where, 'dim')}" if where else head
    shown = group.values if full else group.values[:_MOST_VALUES]
    for value in shown:
        is_all = group.is_of_all(value, total)
        yield from _value(value, style, is_all=is_all, full=full)
        if group.is_of_job:
            for place in value.places(run, _MOST_PLACES):
                yield style.paint(printable(f"{_DEEPER}{place}"), "dim")
    rest = len(group.values) - len(shown)
    if rest or group.others:
        hosts = {name for value in group.values[len(shown) :] for name in value.hosts}
        many = len(hosts) + group.others
        text = f"and {rest + group.others:,} more on {counted(many, 'node')}: --full"
        yield style.paint(f"{_INDENT}{text}", "dim")
    if group.finding.remedy:
        yield _remedy(group, style)


def _value(
    value: FleetValue, style: Style, *, is_all: bool, full: bool
) -> Iterator[str]:
    yield wrap(printable(value.statement), style.width, _INDENT)
    if value.hosts and not is_all:
        names = shown_names(value.hosts, full=full)
        yield style.paint(wrap(printable(names), style.width, _DEEPER), "bold")


def _own_words(verdict: FleetVerdict, style: Style, *, full: bool) -> Iterator[str]:
    """Yield why nodes are out where no rule says so: what they said of themselves."""
    names: dict[str, list[str]] = {}
    for node in verdict.of("no-go", "usage", "bug", "inconclusive"):
        for reason in node.reasons:
            if not reason.rule:
                names.setdefault(reason.message, []).append(node.name)
    shown = [*names.items()] if full else [*names.items()][:_MOST_GROUPS]
    for message, hosts in shown:
        text = wrap(printable(message), style.width, _INDENT).lstrip()
        words = wrap(printable(shown_names(hosts, full=full)), style.width, _DEEPER)
        yield f"\n{text}\n{style.paint(words, 'bold')}\n"
    if len(shown) < len(names):
        text = f"and {len(names) - len(shown):,} more such words of nodes: --full"
        yield style.paint(f"{text}\n", "dim")


def _unknowns(
    groups: Sequence[FleetGroup], style: Style, *, full: bool
) -> Iterator[str]:
    """Yield what could not be judged: of musts each, of the others a number."""
    musts = [group for group in groups if group.finding.clause_level == "must"]
    # Where no rule judges a clause yet, no evidence would settle it.
    of_nodes = [
        must
        for must in musts
        if not must.is_of_job and (must.rule or must.finding.missing)
    ]
    shown = of_nodes if full else of_nodes[:_MOST_GROUPS]
    if groups:
        yield "\n"
    for fleet_group in shown:
        head = f"{style.paint('not run', 'unknown')} {rule_name(fleet_group)}"
        names = shown_names(fleet_group.hosts, full=full) if fleet_group.hosts else ""
        where = f"  {style.paint(printable(names), 'dim')}" if names else ""
        message = wrap(printable(fleet_group.finding.message), style.width, _INDENT)
        yield f"{head}{where}\n{message}\n"
    of_job = sum(must.is_of_job for must in musts)
    if of_job:
        text = f"{counted(of_job, 'required check')} of the job could not run: its "
        text += "files say too little; speccheck FILE lists what would help"
        yield wrap(text, style.width, "") + "\n"
    rest = len(groups) - len(shown) - of_job
    if rest:
        text = f"{counted(rest, 'more check')} could not run for want of evidence"
        yield style.paint(f"{text}: --full\n" if not full else f"{text}\n", "dim")


def _totals(verdict: FleetVerdict, style: Style) -> str:
    states = [
        f"{count:,} {words}"
        for state, words in _STATES
        if (count := sum(unfit.state == state for unfit in verdict.unfit))
    ]
    lines = [joined((f"{verdict.fit:,} fit", *states), f" {style.dot} ", style.width)]
    out = [unfit.name for unfit in verdict.unfit if unfit.state == "no-go"]
    if out:
        names = shown_names(out, full=False, most=style.width - len("drain "))
        lines.append(f"drain {printable(names)}")
    if verdict.spares is not None:
        wanted = verdict.spares.wanted
        lines.append(
            wrap(
                f"spares {verdict.spares.at_hand:,}; the failure model wants "
                f"{wanted.value:.0f} ({wanted.lower:.0f} to {wanted.upper:.0f}) for "
                f"{verdict.needed:,} nodes and a day of repair",
                style.width,
                "",
            )
        )
    colour = {"go": "good", "no-go": "error"}.get(verdict.word, "warning")
    ending = f"{style.paint(verdict.word, colour)}  exit {verdict.code}"
    return "\n".join((*lines, ending))


_OF_SLURM = {"ALL", "DEFAULT"}  # that scontrol takes for nodes of any name
_MOST_REASON = 200  # characters; Slurm shows a reason in one line


def drain_list(run: FleetRun, verdict: FleetVerdict, form: str) -> Iterator[str]:
    """Yield the lines of the list; of a synthetic fleet, each a comment.

    Without the nodes of `left_out`.
    """
    names = {node.name for node in run.nodes if node.is_synthetic}
    for node in verdict.of("no-go"):
        if not _may_stand(node.name, form):
            continue
        line = _line(node, form)
        if form != "plain" and node.name in names:
            line = f"# synthetic: {line}"
        yield f"{line}\n"


def left_out(verdict: FleetVerdict, form: str) -> tuple[str, ...]:
    """Return the nodes whose name no list may hold: no host's name, or all hosts'.

    Names come out of files that anybody may have written: `n[1-64]` in a snapshot
    would drain what nobody looked at, and other names would run as commands.
    """
    names = (unfit.name for unfit in verdict.of("no-go"))
    return tuple(name for name in names if not _may_stand(name, form))


def _may_stand(name: str, form: str) -> bool:
    is_of_all = form != "kubernetes" and name.upper() in _OF_SLURM
    return is_host_name(name) and not is_of_all


def reason(node: Unfit) -> str:
    """Return why a node is not fit, in one short line."""
    rules = dict.fromkeys(item.rule or item.message for item in node.reasons)
    first = node.reasons[0].message if node.reasons else ""
    text = f"speccheck: {', '.join(rules)}"
    if len(rules) == 1 and first:
        text += f": {first}" if node.reasons[0].rule else ""
    text = " ".join(printable(text).split())
    return text if len(text) <= _MOST_REASON else f"{text[: _MOST_REASON - 3]}..."


def _line(node: Unfit, form: str) -> str:
    name = node.name
    if form == "plain":
        return name
    if form == "slurm":
        texts = reason(node).replace('"', "'")
        words = ("scontrol", "update", f"NodeName={name}", "State=DRAIN")
        return f"{shlex.join(words)} Reason={shlex.quote(texts)}"
    return f"{shlex.join(('kubectl', 'cordon', name))}  # {reason(node)}"
