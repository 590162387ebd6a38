"""Findings on a fleet, grouped by rule and by what they say, with their nodes."""

from collections.abc import Iterable, Sequence

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.node.host_names import fold, natural
from speccheck.validator.report.style import counted, printable

_Key = tuple[str, str, str, str, bool]  # rule, clause, level, outcome, of the job
LEVELS = ("error", "warning", "info")


class FleetValue(Record):
    """The same said of some nodes; hosts: none for the fleet as a whole."""

    subject: str
    message: str
    hosts: tuple[str, ...]
    finding: Finding


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


def fleet_groups(run: FleetRun, *outcomes: str) -> list[FleetGroup]:
    """The groups of these outcomes: errors first, then what few nodes have."""
    values: dict[_Key, list[FleetValue]] = {}
    for finding, hosts, is_of_job in _each(run):
        if finding.outcome not in outcomes or finding.waiver is not None:
            continue
        key = finding.rule, finding.clause, finding.level, finding.outcome, is_of_job
        values.setdefault(key, []).append(
            FleetValue(finding.subject, finding.message, hosts, finding)
        )
    groups = [_group(run, key, found) for key, found in values.items()]
    return sorted(groups, key=_rank)


def loosened_groups(run: FleetRun) -> list[FleetGroup]:
    """What fails by the edition's own numbers, and not by those in their place."""
    if not run.edition.tailoring:
        return []
    groups = fleet_groups(run, "pass", "not_applicable")
    loosened = (
        one._replace(values=tuple(o for o in one.values if o.finding.is_loosened))
        for one in groups
    )
    return [one for one in loosened if one.values]


def _each(run: FleetRun) -> Iterable[tuple[Finding, tuple[str, ...], bool]]:
    for one in run.found:
        names = {run.nodes[number].name for number in one.nodes}
        yield one.finding, tuple(sorted(names, key=natural)), run.is_of_job(one)
    for finding in run.of_fleet:
        yield finding, finding.hosts, False


def _group(run: FleetRun, key: _Key, found: list[FleetValue]) -> FleetGroup:
    rule, clause, level, outcome, is_of_job = key
    more = () if is_of_job else run.more.get((rule or clause, outcome), ())
    hosts = {name for one in found for name in one.hosts}
    others = {run.nodes[number].name for number in more} - hosts
    titles = (one.finding.title for one in found)
    return FleetGroup(
        rule=rule,
        clause=clause,
        title=next(filter(None, titles), ""),
        level=level,
        outcome=outcome,
        values=tuple(sorted(found, key=lambda one: (len(one.hosts), one.message))),
        hosts=tuple(sorted(hosts | others, key=natural)),
        others=len(others),
        is_of_job=is_of_job,
    )


def _rank(group: FleetGroup) -> tuple[int, int, str, str]:
    return LEVELS.index(group.level), len(group.hosts), group.clause, group.rule


def told_rule(group: FleetGroup) -> str:
    """Clause and rule, without what a hostile result line may hold of them."""
    return printable(f"{group.clause} {group.rule}").strip()


_MOST_NAMES = 140  # characters of a folded list of nodes


def shown_names(hosts: Sequence[str], *, full: bool, most: int = _MOST_NAMES) -> str:
    """A folded list of nodes, cut where it is long: to a line or two, or to `most`."""
    names = fold(hosts)
    if full or len(names) <= most:
        return names
    count = counted(len(hosts), "node")
    room = max(1, most - len(count) - len(",...] ()"))
    cut = names[:room].rpartition(",")[0] or names[:room]
    closing = "]" if cut.count("[") > cut.count("]") else ""
    return f"{cut},...{closing} ({count})"
