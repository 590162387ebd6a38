"""What nodes that do not exist would have said of themselves, in a line each."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.node.node import read_launch
from speccheck.validator.fleet.node_judge import NodeJudge
from speccheck.validator.fleet.shared_values import told_facts
from speccheck.validator.node.result import (
    COUNTED,
    SCHEMA,
    JudgedBy,
    ResultFinding,
    result_line,
)
from speccheck.validator.report.node_result_told import Situation
from speccheck.validator.report.node_verdict import NodeVerdict
from speccheck.validator.rule.clause_outcome import by_clause
from speccheck.validator.run.plan_judge import PlanJudge
from speccheck.validator.sources.documents.document import ReadError

_USE, _FAIL_ON = "preflight", "error"
_FAMILY = SCHEMA.partition("/")[0]


class ResultTeller:
    """Judges snapshots as a pre-flight of the node would, and tells its line.

    Rules are asked again only about what differs from nodes before (NodeJudge).
    """

    def __init__(self) -> None:
        """Load the edition and its rules."""
        request = Request(arguments=(), use=_USE)
        self._verdict = NodeVerdict(_USE, _FAIL_ON)
        self._judge = NodeJudge(PlanJudge(request, proposes=False), self._word)
        edition = load_edition()
        self._edition = JudgedBy(edition.id, edition.sha256)

    def __call__(self, node: Mapping[str, Any]) -> str:
        """The line of a node, without its end."""
        launch = read_launch(node["launch"])
        situation = Situation(launch, launch.node or "", node["taken"])
        result = situation.result("usage", node["seconds"], "")._replace(
            edition=self._edition, synthetic=node["synthetic"]
        )
        version = node["schema"].partition("/")[2]
        try:
            judged = self._judge(node)
        except ReadError:  # a later version, which a later program has judged
            line = result_line(result._replace(verdict="go")).rstrip()
            return line.replace(SCHEMA, f"{_FAMILY}/{version}", 1)
        verdict, _, counts = judged.verdict.partition(" ")
        findings = tuple(_failed(judged.findings))
        told = result._replace(
            verdict=verdict,
            reason="",
            counts=json.loads(counts),
            findings=findings,
            missing=tuple(_missing(judged.findings)),
            facts=told_facts(node),
        )
        return result_line(told).rstrip()

    def _word(self, findings: Sequence[Finding]) -> str:
        """The verdict with the counts of clauses, which stay where it stays."""
        counts = Counter(one.outcome for one in by_clause(findings))
        rows = {name: counts[name] for name in COUNTED}
        return f"{self._verdict(findings)} {json.dumps(rows)}"


def _failed(findings: Iterable[Finding]) -> Iterable[ResultFinding]:
    for one in findings:
        if one.outcome in {"fail", "error"}:
            yield ResultFinding(
                one.clause, one.rule, one.level, one.subject, one.message, one.action
            )


def _missing(findings: Iterable[Finding]) -> list[str]:
    """What musts lack that could not be judged; the most wanted first."""
    found = Counter(
        leaf
        for one in findings
        if one.outcome == "unknown" and one.clause_level == "must"
        for leaf in one.missing
    )
    return [leaf for leaf, _ in found.most_common()]
