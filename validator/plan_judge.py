"""Judges plan after plan: evidence to findings, with their positions in the files."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from speccheck.validator.assemble import PlanEvidence, assemble
from speccheck.validator.engine import Judge
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.training_plan import TrainingPlan
from speccheck.validator.gate import plan_size_class
from speccheck.validator.job_scale import JobScale
from speccheck.validator.live_evidence import asked_of, at_hand_of
from speccheck.validator.locate import LocatedFinding, located, sources_of
from speccheck.validator.request import Request
from speccheck.validator.rule import OF_FILES, Scope
from speccheck.validator.rule_index import RuleEntry, RulesByClause, rule_entries
from speccheck.validator.selection import Selection
from speccheck.validator.sources.files import FileStatus
from speccheck.validator.sources.joining.grouping import PlanFiles
from speccheck.validator.sources.source import Source
from speccheck.validator.spec.compose import JudgedClause, compose
from speccheck.validator.spec.edition import load_edition

if TYPE_CHECKING:
    from speccheck.validator.measured import Measured

# Clauses whose failures a change of settings can mend, and the plans of a run for which
# one is sought: each costs up to as much as judging a hundred plans.
MENDED = frozenset({"MEM-001", "MEM-002", "MEM-020", "BATCH-001", "BATCH-003"})
MOST_SOUGHT = 20


class JudgedPlan(Record):
    """One plan: its files, the size of the job, and what was found.

    grouping: why these files are one plan; empty for a single file.
    measured: what was measured under load; None for nothing.
    """

    files: tuple[FileStatus, ...]
    grouping: tuple[str, ...]
    plan: JobScale
    size: str | None
    findings: tuple[LocatedFinding, ...]
    measured: "Measured | None" = None


def all_rules(request: Request) -> tuple[RuleEntry, ...]:
    """The rules of the run; raises PluginFault."""
    if not request.plugins:
        return rule_entries()
    from speccheck.validator.plugins import plugin_rules  # noqa: PLC0415 - seldom

    return (*rule_entries(), *plugin_rules())


class PlanJudge:
    """Judges plan after plan by one edition; composed profiles are kept."""

    def __init__(self, request: Request, *, proposes: bool = True) -> None:
        """Load the edition and the rules once.

        Args:
            request: what is judged, and how.
            proposes: whether changes are sought that mend what fails.

        """
        self.request = request
        self.unsought = 0
        self._left = MOST_SOUGHT if proposes else 0
        self._proposes = proposes
        self._wide: PlanJudge | None = None
        self.edition = load_edition(request.spec)
        self.entries = all_rules(request)
        request.selection.verify(self.edition, self.entries)
        self._selected = request.selection.rules(self.entries)
        self._rules: dict[tuple[Scope, ...], RulesByClause] = {}
        self._judges: dict[tuple[object, ...], Judge] = {}
        # By the id of the finding, which stays its own as long as it is held here. Most
        # findings are the same object in every plan: that a clause does not apply.
        self._shared: dict[int, LocatedFinding] = {}
        self._passed: dict[tuple[str, ...], LocatedFinding] = {}

    def __call__(self, group: PlanFiles) -> JudgedPlan:
        """Judge the plan that these files make together."""
        return self.judged(group, assemble(group.files, self.request.context))

    def judged(self, group: PlanFiles, evidence: PlanEvidence) -> JudgedPlan:
        """Judge the evidence of a plan, as it was read or as it was changed."""
        files = group.files
        judge = self.judge_of(
            evidence.plan, scopes=evidence.scopes, measured=evidence.measured
        )
        findings = judge(evidence.by_type)
        by_name = sources_of(files)
        return JudgedPlan(
            files=tuple(dict.fromkeys(file.status for file in files)),
            grouping=group.reasons,
            plan=JobScale(evidence.plan),
            size=plan_size_class(evidence.plan),
            findings=self._mended(
                tuple(self._located(one, by_name) for one in findings), group, evidence
            ),
            measured=_measured(evidence) if evidence.measured else None,
        )

    def _mended(
        self,
        found: tuple[LocatedFinding, ...],
        group: PlanFiles,
        evidence: PlanEvidence,
    ) -> tuple[LocatedFinding, ...]:
        """The findings, those that settings can mend with the settings."""
        failed = [
            one
            for one in found
            if one.finding.outcome == "fail" and one.finding.clause in MENDED
        ]
        if not failed or not self._proposes:
            return found
        if not self._left:
            self.unsought += 1
            mended = {id(one): one._replace(proposals=None) for one in failed}
        else:
            # The search is no part of a run in which nothing of it fails.
            from speccheck.validator.what_if.proposals import (  # noqa: PLC0415
                propose,
            )

            self._left -= 1
            context = self.request.context
            judge_of = self._judging_all().judge_of
            mended = {
                id(one): one._replace(
                    proposals=propose(group, evidence, one.finding, context, judge_of)
                )
                for one in failed
            }
        return tuple(mended.get(id(one), one) for one in found)

    def _judging_all(self) -> "PlanJudge":
        """A judge by all rules that are not ignored: a proposal must stand them all."""
        if self._wide is None:
            selection = Selection(ignore=self.request.selection.ignore)
            request = self.request._replace(selection=selection)
            self._wide = PlanJudge(request, proposes=False)
        return self._wide

    def _located(self, finding: Finding, sources: dict[str, Source]) -> LocatedFinding:
        known = self._shared.get(id(finding))
        if known is not None:
            return known
        if finding.outcome == "pass" and not self.request.full:
            return self._held(finding)
        found = located(finding, sources)
        if finding.fix is not None and self.request.edits:
            from speccheck.validator.fixing.placed import (  # noqa: PLC0415 - seldom
                placed_edits,
            )

            return found._replace(edits=placed_edits(finding, sources))
        if not finding.places and found.finding is finding:
            self._shared[id(finding)] = found
        return found

    def _held(self, finding: Finding) -> LocatedFinding:
        """One finding for all plans in which a rule holds: only its clause counts."""
        key = finding.clause, finding.rule, finding.clause_level
        found = self._passed.get(key)
        if found is None:
            found = LocatedFinding(finding._replace(message="", places=()), ())
            self._passed[key] = found
        return found

    def judge_of(
        self,
        plan: TrainingPlan,
        clauses: Sequence[str] = (),
        scopes: tuple[Scope, ...] = OF_FILES,
        measured: tuple[str, ...] = (),
    ) -> Judge:
        """The judge by the profiles that fit a plan, by some clauses or by all.

        Args:
            plan: tells the profiles.
            clauses: the only ones to judge by; none for all.
            scopes: of the rules for which there is evidence.
            measured: kinds of measurements at hand.

        Raises what `compose` raises.
        """
        key: tuple[str | None, ...] = (
            plan_size_class(plan),
            plan.value("cluster.fabric").value,
            plan.value("cluster.accelerator").value,
            plan.value("cluster.instance_type").value,
        )
        named = (key, scopes, measured, *clauses)
        judge = self._judges.get(named)
        if judge is None:
            size, fabric, accelerator, instance = key
            composed = compose(
                self.edition,
                use=self.request.use,
                size=size,
                fabric=fabric,
                accelerator=accelerator,
                instance=instance,
                profiles=self.request.profiles,
                evidence=at_hand_of(scopes, measured),
            )
            asked, wanted = asked_of(self.request.use, scopes, measured)
            narrowed = self.request.selection.narrow(composed, self.entries)
            if clauses:
                narrowed = narrowed.selecting(lambda one: one.clause.id in clauses)
            if "plan" not in scopes:
                narrowed = narrowed.selecting(
                    lambda one: self._concerns_live(one, wanted, asked)
                )
            judge = Judge(narrowed, self._rules_of(asked))
            self._judges[named] = judge
        return judge

    def _rules_of(self, scopes: tuple[Scope, ...]) -> RulesByClause:
        if scopes not in self._rules:
            entries = [one for one in self._selected if one.scope in scopes]
            self._rules[scopes] = RulesByClause(entries)
        return self._rules[scopes]

    def _concerns_live(
        self, judged: JudgedClause, at_hand: tuple[str, ...], by: tuple[Scope, ...]
    ) -> bool:
        """Whether a clause is judged, by such rules, where no file is at hand."""
        clause = judged.clause
        if not judged.is_selected or set(at_hand).isdisjoint(clause.evidence):
            return False
        scopes = {one.scope for one in self.entries if one.clause == clause.id}
        return not scopes or not scopes.isdisjoint(by)


def _measured(evidence: PlanEvidence) -> "Measured":
    from speccheck.validator.measured import measured_of  # noqa: PLC0415 - seldom

    return measured_of(evidence.measured, evidence.by_type)
