"""Go or no-go for a fleet: which nodes are fit, and whether they are enough."""

from collections.abc import Iterator, Mapping
from typing import Literal

from speccheck.validator.evidence.finding import Action, Finding, Level
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.models.estimate import Estimate
from speccheck.validator.models.failures import NODE_FAILURES, hot_spares
from speccheck.validator.node.host_names import natural

State = Literal["no-go", "inconclusive", "usage", "bug", "unread", "missing"]
_WEIGHTS: dict[str, int] = {"info": 1, "warning": 2, "error": 3}
_UNTOLD = "its own pre-flight said no-go"
_REPAIR_DAYS, _QUANTILE = 1, 0.99  # as hot spares are usually sized


class Reason(Record):
    """Why a node is not fit; rule: empty where no rule says so."""

    rule: str
    message: str
    action: Action | None = None


class Unfit(Record):
    """A node that must not take part, or of which that is not known."""

    name: str
    state: State
    reasons: tuple[Reason, ...] = ()


class Spares(Record):
    """Nodes that stand by for those which break while the job runs.

    at_hand: fit nodes beyond those that the job needs. wanted: as the failure model
    sizes them, with its bounds.
    """

    at_hand: int
    wanted: Estimate


class FleetVerdict(Record):
    """Whether the job may start.

    fit: nodes that may take part. needed: nodes that the job takes; None if unknown.
    """

    word: str
    code: int
    reason: str
    fit: int
    needed: int | None
    unfit: tuple[Unfit, ...]
    spares: Spares | None = None

    def of(self, *states: State) -> tuple[Unfit, ...]:
        """Return the nodes in one of these states."""
        return tuple(unfit for unfit in self.unfit if unfit.state in states)


def fleet_verdict(
    run: FleetRun, need: int | None = None, fail_on: str = "error"
) -> FleetVerdict:
    """Go or no-go.

    Args:
        run: what was judged.
        need: nodes that the job takes, if fewer than are expected: the others stand by.
        fail_on: the level from which on a failure keeps a node out.

    """
    weight = _WEIGHTS.get(fail_on, len(_WEIGHTS) + 1)
    unfit = _unfit(run, weight)
    names = {node.name for node in run.nodes}
    fit = len(names - unfit.keys())
    expected = run.fleet.attendance.expected.value
    if need is None and run.job_nodes != expected:
        need = run.job_nodes
    needed = need or expected
    ending = _ending(run, unfit, fit, need, weight)
    ordered = sorted(unfit.values(), key=lambda unfit: natural(unfit.name))
    word = {0: "go", 1: "no-go", 3: "inconclusive"}.get(ending.code, "not complete")
    return FleetVerdict(
        word="no-go" if _lacking(run) else word,  # the job cannot start without them
        code=ending.code,
        reason=ending.reason,
        fit=fit,
        needed=needed,
        unfit=tuple(ordered),
        spares=_spares(fit, needed) if needed else None,
    )


class _Ending(Record):
    code: int
    reason: str


def _ending(
    run: FleetRun, unfit: Mapping[str, Unfit], fit: int, need: int | None, weight: int
) -> _Ending:
    """Return the exit code and why; the first that is true counts."""
    return (
        _broken(run, unfit)
        or _absent(run)
        or _failed_together(run, weight)
        or _failed_job(run, weight, unfit, fit)
        or _too_few(run, unfit, fit, need)
        or _complete(run, fit, need)
    )


def _broken(run: FleetRun, unfit: Mapping[str, Unfit]) -> _Ending | None:
    bugs = sum(item.state == "bug" for item in unfit.values())
    broken = sum(finding.outcome == "error" for finding in run.of_fleet)
    if not bugs and not broken:
        return None
    return _Ending(4, f"a bug of speccheck on {_nodes(bugs)}" if bugs else "a bug")


def _absent(run: FleetRun) -> _Ending | None:
    if not run.nodes:
        return _Ending(3, "no node reported anything that could be read")
    lacking = _lacking(run)
    if not lacking:
        return None
    expected = run.fleet.attendance.expected.need()
    text = "sent what can be read" if run.fleet.attendance.unread else "reported"
    return _Ending(3, f"{expected - lacking:,} of {expected:,} nodes {text}")


def _failed_together(run: FleetRun, weight: int) -> _Ending | None:
    """Return a failure of the fleet for which no node is to blame."""
    for finding in run.of_fleet:
        if _is_against(finding, weight) and not finding.hosts:
            return _Ending(1, f"{finding.rule}: {finding.message}")
    return None


def _failed_job(
    run: FleetRun, weight: int, unfit: Mapping[str, Unfit], fit: int
) -> _Ending | None:
    """Return the files of the job, which no node is to blame for."""
    rules = {
        item.finding.rule
        for item in run.findings
        if _is_against(item.finding, weight) and run.is_of_job(item)
    }
    if not rules:
        return None
    faults = f"{len(rules):,} fault{'s' if len(rules) > 1 else ''}"
    nodes = f"{fit:,} of {_nodes(fit + len(unfit))} are fit"
    return _Ending(1, f"{faults} in the files of the job; {nodes}")


def _too_few(
    run: FleetRun, unfit: Mapping[str, Unfit], fit: int, need: int | None
) -> _Ending | None:
    blocked = sum(item.state == "no-go" for item in unfit.values())
    if need is not None:
        if fit >= need:
            return None
        code = 3 if unfit and not blocked else 1
        return _Ending(code, _of_those_needed(fit, need))
    if blocked:
        many = _nodes(fit + len(unfit))
        return _Ending(1, f"{blocked:,} of {many} are not fit")
    if unfit:
        return _Ending(
            3,
            f"{_nodes(len(unfit))} without the evidence that {run.use} needs",
        )
    return None


def _of_those_needed(fit: int, need: int) -> str:
    are = "is" if fit == 1 else "are"
    return f"{_nodes(fit)} {are} fit, {need:,} are needed"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"


def _complete(run: FleetRun, fit: int, need: int | None) -> _Ending:
    """Go, where it is known that nobody is missing and nothing was left unread."""
    enough = f"all {fit:,} nodes are fit" if need is None else ""
    reason = enough or _of_those_needed(fit, need or 0)
    expected = run.fleet.attendance.expected
    if not expected.is_known:
        text = f"how many were expected is not known ({expected.note})"
        return _Ending(3, f"{reason}, but {text}")
    if "inconclusive" in run.of_job:
        text = f"the files of the job lack evidence that {run.use} needs"
        return _Ending(3, f"{reason}, but {text}")
    for finding in run.of_fleet:
        is_open = finding.outcome == "unknown" and finding.clause_level == "must"
        if is_open and finding.missing and run.use != "ci":
            return _Ending(3, f"{reason}, but {finding.rule} {finding.message}")
    missing = {
        finding.clause
        for finding in (*run.of_fleet, *(item.finding for item in run.findings))
        if finding.outcome == "unknown" and finding.clause_level == "must"
    }
    if missing:
        noun = "required check" if len(missing) == 1 else "required checks"
        reason = f"{reason}; {len(missing):,} {noun} could not run"
    return _Ending(0, reason)


def _lacking(run: FleetRun) -> int:
    """Return how many of the expected nodes did not report."""
    attendance = run.fleet.attendance
    if attendance.names:
        return len(attendance.missing)
    expected = attendance.expected.value or 0
    return max(0, expected - len({node.name for node in run.nodes}))


def _unfit(run: FleetRun, weight: int) -> dict[str, Unfit]:
    """Return the nodes that must not take part, or of which that is not known."""
    result: dict[str, Unfit] = {}
    own = dict(run.own)
    for node in run.nodes:
        if node.verdict == "go" or (node.verdict == "no-go" and node.name not in own):
            continue  # why it is no-go is told by what was found on it
        reason = Reason("", own[node.name]) if node.name in own else None
        state: State = node.verdict  # type: ignore[assignment]
        result[node.name] = Unfit(node.name, state, (reason,) if reason else ())
    for name, reason in _blamed(run, weight):
        known = result.get(name) or Unfit(name, "no-go")
        state = "no-go" if known.state != "bug" else known.state
        result[name] = known._replace(state=state, reasons=(*known.reasons, reason))
    for name, reason in _in_doubt(run, weight):
        known = result.get(name) or Unfit(name, "inconclusive")
        result[name] = known._replace(reasons=(*known.reasons, reason))
    for name in _by_own_word(run, weight) - result.keys():
        result[name] = Unfit(name, "no-go", (Reason("", _UNTOLD),))
    attendance = run.fleet.attendance
    for unread in attendance.unread:
        if unread.node and unread.node not in result:
            problem = Reason("", f"{unread.file} {unread.problem}")
            result[unread.node] = Unfit(unread.node, "unread", (problem,))
    for name in attendance.missing:
        result.setdefault(name, Unfit(name, "missing"))
    return result


def _by_own_word(run: FleetRun, weight: int) -> set[str]:
    """Return the nodes whose result line says no-go without a failure that says why.

    A line is cut to a size, and the pre-flight of the node may have been stricter.
    """
    if weight > max(_WEIGHTS.values()):
        return set()
    texts = {
        run.nodes[number].name
        for item in run.findings
        if _is_against(item.finding, weight)
        for number in item.nodes
    }
    words = {
        node.name for node in run.nodes if node.verdict == "no-go" and not node.is_whole
    }
    return words - texts


def _blamed(run: FleetRun, weight: int) -> Iterator[tuple[str, Reason]]:
    """Yield the nodes with the findings that keep them out, the rules in order."""
    likes: dict[str, Finding] = {}
    for item in run.findings:
        if _is_against(item.finding, weight) and not run.is_of_job(item):
            likes.setdefault(item.finding.rule, item.finding)
            reason = _reason(item.finding)
            for number in item.nodes:
                yield run.nodes[number].name, reason
    for (rule, outcome), numbers in run.more.items():
        if outcome == "fail" and rule in likes:
            reason = Reason(rule, likes[rule].title, likes[rule].action)
            for number in numbers:
                yield run.nodes[number].name, reason
    for finding in run.of_fleet:
        if _is_against(finding, weight) and finding.action is not None:
            for name in finding.hosts:
                yield name, _reason(finding)


def _in_doubt(run: FleetRun, weight: int) -> Iterator[tuple[str, Reason]]:
    """Yield the nodes whose reports fail, and of which no more is known.

    What is old, or came twice, is asked for again: nothing is to be done with a
    machine. Who did not come is missing or unread already.
    """
    came = {node.name for node in run.nodes}
    for finding in run.of_fleet:
        if _is_against(finding, weight) and finding.action is None:
            for name in came.intersection(finding.hosts):
                yield name, _reason(finding)


def _is_against(finding: Finding, weight: int) -> bool:
    is_failed = finding.outcome == "fail" and finding.waiver is None
    level: Level = finding.level
    return is_failed and _WEIGHTS[level] >= weight


def _reason(finding: Finding) -> Reason:
    subject = f"{finding.subject}: " if finding.subject not in {"", "node"} else ""
    return Reason(finding.rule, f"{subject}{finding.message}", finding.action)


def _spares(fit: int, needed: int) -> Spares:
    usual, low, high = (
        hot_spares(needed * rate * _REPAIR_DAYS, _QUANTILE).value
        for rate in (NODE_FAILURES.usual, NODE_FAILURES.low, NODE_FAILURES.high)
    )
    wanted = Estimate(usual, low, high, "advisory", NODE_FAILURES.source)
    return Spares(max(0, fit - needed), wanted)
