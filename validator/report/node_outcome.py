"""What a run on one node comes to: verdict, result line, Nagios line, next tier."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from speccheck.validator.editions.edition import Edition, load_edition
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.measurement.cost import COSTS, MEASUREMENTS
from speccheck.validator.evidence.node.node import MEASURED, ProcessLaunch
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.node.host_names import fold
from speccheck.validator.node.result import (
    COUNTED,
    VERDICTS,
    JudgedBy,
    KeptSnapshot,
    NodeResult,
    ResultFinding,
    Scalar,
    in_order,
    shown_text,
)
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.verdict import exit_of
from speccheck.validator.run.judging import JobScale, JudgedPlan
from speccheck.validator.run.run import RunResult
from speccheck.validator.sources.files import FileStatus

_WORDS = {0: "go", 1: "no-go", 3: "inconclusive", 4: "bug"}
_FILE = FileStatus("node", "snapshot")


class NodeOutcome:
    """Tells the verdict on a node; can be handed to another process."""

    def __init__(self, use: str, fail_on: str) -> None:
        """Take the use of the profile, and the level from which on a failure counts."""
        self._use = use
        self._fail_on = fail_on

    def __call__(self, findings: Sequence[Finding]) -> str:
        """Return the word of the verdict: go, no-go, inconclusive or bug."""
        located = tuple(LocatedFinding(finding, ()) for finding in findings)
        plan = JudgedPlan((_FILE,), (), _nothing(), None, located)
        run = RunResult(load_edition(), self._use, (_FILE,), (plan,))
        return _WORDS[exit_of(run, summarize([plan]), self._fail_on).code]


@cache
def _nothing() -> JobScale:
    return JobScale(TrainingPlan({}))


class Situation(Record):
    """What is known of a run before anything was judged.

    name: of the node. taken: when it began, in UTC.
    """

    launch: ProcessLaunch
    name: str
    taken: str
    tier: int = 0

    def result(self, verdict: str, seconds: float, reason: str) -> NodeResult:
        """Return the result of a run that comes to this."""
        launch = self.launch
        return NodeResult(
            node=self.name,
            verdict=verdict,
            engine=launch.engine,
            job=launch.job,
            rank=launch.rank,
            ranks=launch.ranks,
            nodes=launch.nodes,
            node_list=launch.node_list,
            attempt=launch.attempt,
            taken=self.taken,
            seconds=seconds,
            tier=self.tier,
            reason=reason,
        )


def refused_result(
    situation: Situation, message: str, code: int, seconds: float
) -> NodeResult:
    """Return the result where nothing was judged: it counts the node all the same."""
    return situation.result(VERDICTS.get(code, "bug"), seconds, message)


def judged_result(
    situation: Situation,
    context: ReportContext,
    seconds: float,
    kept: KeptSnapshot | None,
    facts: Mapping[str, Scalar],
) -> NodeResult:
    """Return the result of what was judged."""
    edition = context.run.edition
    verdict = VERDICTS.get(context.ending.code, "bug")
    result = situation.result(verdict, seconds, context.ending.reason)
    rows = context.summary.clauses.values()
    return result._replace(
        counts={name: sum(row[name] for row in rows) for name in COUNTED},
        findings=tuple(_failed(context.run.plans)),
        missing=tuple(_missing(context.run.plans)),
        facts=facts,
        snapshot=kept,
        edition=JudgedBy(edition.id, edition.sha256, len(edition.tailoring)),
    )


def _failed(plans: Iterable[JudgedPlan]) -> Iterator[ResultFinding]:
    """Yield each failure once, though several plans on the machine have it."""
    seen: set[tuple[str, ...]] = set()
    for finding in _findings(plans):
        if finding.outcome not in {"fail", "error"} or finding.waiver is not None:
            continue
        key = finding.clause, finding.rule, finding.subject, finding.message
        if key in seen:
            continue
        seen.add(key)
        yield ResultFinding(
            finding.clause,
            finding.rule,
            finding.level,
            finding.subject,
            finding.message,
            finding.action,
        )


def _missing(plans: Iterable[JudgedPlan]) -> list[str]:
    """Return what musts lack that could not be judged; the most wanted first."""
    result: dict[str, int] = {}
    for finding in _findings(plans):
        if finding.outcome == "unknown" and finding.clause_level == "must":
            for leaf in finding.missing:
                result[leaf] = result.get(leaf, 0) + 1
    return sorted(result, key=lambda leaf: -result[leaf])


def _findings(plans: Iterable[JudgedPlan]) -> Iterator[Finding]:
    return (located.finding for plan in plans for located in plan.findings)


CODES = {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}
_MOST_NAMES = 4
_MOST_CHARACTERS = 300


def nagios_state(result: NodeResult, warnings: int) -> str:
    """Return the state: of a warning only where nothing fails."""
    if result.verdict == "no-go":
        return "CRITICAL"
    if result.verdict == "go":
        return "WARNING" if warnings else "OK"
    return "UNKNOWN"  # nobody knows how the node is: bad usage, our bug, no evidence


def nagios_line(result: NodeResult, failed: dict[str, int]) -> str:
    """Return the line; failed: findings by their level."""
    state = nagios_state(result, failed.get("warning", 0))
    text = f"{result.verdict}: {result.reason}"
    names = [*dict.fromkeys(map(_name, _worst(result)))]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if names[_MOST_NAMES:] else ""
        text += f": {', '.join(names[:_MOST_NAMES])}{more}"
    text = shown_text(text[:_MOST_CHARACTERS]).replace("|", "/")
    counts = result.counts
    data = (
        f"errors={failed.get('error', 0)};;0;0",
        f"warnings={failed.get('warning', 0)};0;;0",
        *(f"{name}={counts.get(name, 0)};;;0" for name in ("pass", "fail", "unknown")),
        f"time={result.seconds:.3f}s;;;0",
    )
    return f"SPECCHECK {state} - {text} | {' '.join(data)}\n"


def _worst(result: NodeResult) -> Iterable[tuple[str, str]]:
    """Yield the rules that failed, of the highest level that any did."""
    ordered = in_order(result.findings)
    level = ordered[0].level if ordered else ""
    return (
        (result_finding.rule, result_finding.subject)
        for result_finding in ordered
        if result_finding.level == level
    )


def _name(texts: tuple[str, str]) -> str:
    rule, subject = texts
    return f"{rule} ({subject})" if subject and subject != "node" else rule


def higher_tiers(
    tier: int, plans: Sequence[JudgedPlan], edition: Edition
) -> tuple[str, ...]:
    """Return the line, where a higher tier would judge anything that was not judged."""
    judged = {finding.finding.clause for plan in plans for finding in plan.findings}
    parts: list[str] = []
    for higher in sorted(
        {measurement.tier for measurement in MEASUREMENTS if measurement.tier > tier}
    ):
        kinds = {
            measurement.kind
            for measurement in MEASUREMENTS
            if measurement.tier == higher
        }
        clauses = [*_clauses(edition, kinds, judged)]
        judged.update(clauses)
        if clauses:
            seconds = sum(COSTS[kind].seconds for kind in kinds)
            words = ", ".join(_folded(clauses))
            parts.append(f"--tier {higher} (about {seconds:g} s more) judges {words}")
    return (f"not measured: {'; '.join(parts)}",) if parts else ()


def _clauses(edition: Edition, kinds: set[str], judged: set[str]) -> Iterator[str]:
    """Yield the clauses that such evidence would let be judged."""
    words = {word for kind in kinds for word in MEASURED[kind]}
    for name, clause in edition.clauses.items():
        if name not in judged and words.intersection(clause.evidence):
            yield name


def _folded(clauses: Sequence[str]) -> Iterator[str]:
    """Yield clauses by area: HW-[005,150-152]."""
    for area in dict.fromkeys(name.partition("-")[0] for name in clauses):
        yield fold(name for name in clauses if name.partition("-")[0] == area)
