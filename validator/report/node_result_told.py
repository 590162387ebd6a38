"""The result line of a node, made of what a report tells."""

from collections.abc import Iterable, Iterator, Mapping

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.node.node import Launch
from speccheck.validator.evidence.record import Record
from speccheck.validator.node.result import (
    COUNTED,
    VERDICTS,
    JudgedBy,
    KeptSnapshot,
    NodeResult,
    ResultFinding,
    Scalar,
)
from speccheck.validator.report.told import Told
from speccheck.validator.run.plan_judge import JudgedPlan


class Situation(Record):
    """What is known of a run before anything was judged.

    name: of the node. taken: when it began, in UTC.
    """

    launch: Launch
    name: str
    taken: str
    tier: int = 0

    def result(self, verdict: str, seconds: float, reason: str) -> NodeResult:
        """The result of a run that comes to this."""
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
    """The result where nothing was judged: it counts the node all the same."""
    return situation.result(VERDICTS.get(code, "bug"), seconds, message)


def told_result(
    situation: Situation,
    told: Told,
    seconds: float,
    kept: KeptSnapshot | None,
    facts: Mapping[str, Scalar],
) -> NodeResult:
    """The result of what was judged."""
    edition = told.run.edition
    verdict = VERDICTS.get(told.ending.code, "bug")
    result = situation.result(verdict, seconds, told.ending.reason)
    rows = told.summary.clauses.values()
    return result._replace(
        counts={name: sum(row[name] for row in rows) for name in COUNTED},
        findings=tuple(_failed(told.run.plans)),
        missing=tuple(_missing(told.run.plans)),
        facts=facts,
        snapshot=kept,
        edition=JudgedBy(edition.id, edition.sha256, len(edition.tailoring)),
    )


def _failed(plans: Iterable[JudgedPlan]) -> Iterator[ResultFinding]:
    """Each failure once, though several plans on the machine have it."""
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
    """What musts lack that could not be judged; the most wanted first."""
    found: dict[str, int] = {}
    for one in _findings(plans):
        if one.outcome == "unknown" and one.clause_level == "must":
            for leaf in one.missing:
                found[leaf] = found.get(leaf, 0) + 1
    return sorted(found, key=lambda leaf: -found[leaf])


def _findings(plans: Iterable[JudgedPlan]) -> Iterator[Finding]:
    return (located.finding for plan in plans for located in plan.findings)
