"""Judges plan after plan: evidence to findings, with their positions in the files."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from speccheck.validator.editions.compose import ComposedEdition, JudgedClause, compose
from speccheck.validator.engine.applicability import plan_size_class
from speccheck.validator.engine.assemble import PlanEvidence, assemble
from speccheck.validator.engine.edition_in_use import edition_of, lapsed_texts
from speccheck.validator.engine.engine import Judge
from speccheck.validator.engine.locate import LocatedFinding, located, sources_of
from speccheck.validator.engine.policy import Policy
from speccheck.validator.engine.request import Request
from speccheck.validator.engine.rule_index import RuleEntry, RulesByClause, rule_entries
from speccheck.validator.engine.scopes import OF_WAIVERS, asked_of, at_hand_of
from speccheck.validator.engine.severity import with_levels
from speccheck.validator.evidence.finding import Finding, may_hold_waivers
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.rule import OF_FILES, Scope
from speccheck.validator.run.job_scale import JobScale
from speccheck.validator.sources.files import FileStatus, ReadFile
from speccheck.validator.sources.joining.grouping import PlanFiles
from speccheck.validator.sources.reader import Source

if TYPE_CHECKING:
    from speccheck.validator.measurements.measured import Measured
    from speccheck.validator.run.plan_dump import ShownPlan
    from speccheck.validator.run.suppressions import LeftOut, Silences
    from speccheck.validator.run.waivers.apply import Silence
    from speccheck.validator.run.waivers.baseline import Baseline

# Clauses whose failures a change of settings can mend, and the plans of a run for which
# one is sought: each costs up to as much as judging a hundred plans.
MENDED = frozenset({"MEM-001", "MEM-002", "MEM-020", "BATCH-001", "BATCH-003"})
MOST_SOUGHT = 20
MOST_SHOWN = 50  # plans whose values are kept for a report: 40 kB each


class JudgedPlan(Record):
    """One plan: its files, the size of the job, and what was found.

    grouping: why these files are one plan; empty for a single file.
    measured: what was measured under load; None for nothing. settings: the files that
    it is judged by, the closest first. left_out: what would be judged without them.
    synthetic: the snapshots of machines that do not exist.
    shown: all values of the plan, where a report asks for them.
    """

    files: tuple[FileStatus, ...]
    grouping: tuple[str, ...]
    plan: JobScale
    size: str | None
    findings: tuple[LocatedFinding, ...]
    measured: "Measured | None" = None
    shown: "ShownPlan | None" = None
    settings: tuple[str, ...] = ()
    left_out: "tuple[LeftOut, ...]" = ()
    synthetic: tuple[str, ...] = ()


class OfAllPlans:
    """What the judges of a run share: how much was done, and what silences failures."""

    def __init__(self, baseline: "Baseline | None" = None) -> None:
        """Begin; baseline: the one of all plans, whatever settings say."""
        self.baseline = baseline
        self.left_to_mend = MOST_SOUGHT
        self.unsought = 0  # plans that would need changes, and got none
        self.left_to_show = MOST_SHOWN
        self.silences: dict[Policy, Silence] = {}


def all_rules(request: Request) -> tuple[RuleEntry, ...]:
    """The rules of the run; raises PluginFault."""
    if not request.plugins:
        return rule_entries()
    from speccheck.validator.engine.plugins import plugin_rules  # noqa: PLC0415 - seldom

    return (*rule_entries(), *plugin_rules())


class PlanJudge:
    """Judges plan after plan by one edition; composed profiles are kept."""

    def __init__(
        self,
        request: Request,
        *,
        proposes: bool = True,
        shared: OfAllPlans | None = None,
    ) -> None:
        """Load the edition and the rules once.

        Args:
            request: what is judged, and how.
            proposes: whether changes are sought that mend what fails.
            shared: with the other judges of a run.

        """
        self.request = request
        self._of_all = shared or OfAllPlans()
        self._proposes = proposes
        self._wide: PlanJudge | None = None
        self._of_fleets: set[str] | None = None  # clauses that compare nodes alone
        self.edition = edition_of(request)
        self.entries = all_rules(request)
        self.warnings = (*lapsed_texts(self.edition), *self._verified())
        self._selected = request.selection.rules(self.entries)
        self._rules: dict[tuple[Scope, ...], RulesByClause] = {}
        self._judges: dict[tuple[object, ...], Judge] = {}
        self._silences: dict[Judge, Silences] = {}
        # By the id of the finding, which stays its own as long as it is held here. Most
        # findings are the same object in every plan: that a clause does not apply.
        self._shared: dict[int, LocatedFinding] = {}
        self._passed: dict[tuple[str, ...], LocatedFinding] = {}
        policy = request.policy
        has_files = policy.waivers or policy.baseline or policy.file_ignores
        if has_files or self._of_all.baseline is not None:
            self.read_silence()

    def _verified(self) -> tuple[str, ...]:
        """What is asked for in vain; raises UnknownSelection."""
        policy = self.request.policy
        if self.request.selection.is_empty and not (
            policy.levels or policy.file_ignores
        ):
            return ()
        # Most runs name no clause, area or rule.
        from speccheck.validator.engine.selection_names import verified  # noqa: PLC0415

        return verified(self.request, self.edition, self.entries)

    def __call__(self, group: PlanFiles) -> JudgedPlan:
        """Judge the plan that these files make together."""
        evidence = assemble(group.files, self.request.context)
        if self.request.declaration is not None:
            evidence = evidence.and_also(self.request.declaration)
        return self.judged(group, evidence)

    def judged(self, group: PlanFiles, evidence: PlanEvidence) -> JudgedPlan:
        """Judge the evidence of a plan, as it was read or as it was changed."""
        files = group.files
        judge = self.judge_of(
            evidence.plan, scopes=evidence.scopes, measured=evidence.measured
        )
        findings = judge(evidence.by_type)
        by_name = sources_of(files)
        found = tuple(self._located(one, by_name) for one in findings)
        if self._may_silence(by_name):
            found = self.read_silence().applied(
                found, group.files, by_name, evidence.by_type
            )
        return JudgedPlan(
            files=tuple(dict.fromkeys(file.status for file in files)),
            grouping=group.reasons,
            plan=JobScale(evidence.plan),
            size=plan_size_class(evidence.plan),
            findings=self._mended(found, group, evidence),
            measured=_measured(evidence) if evidence.measured else None,
            shown=self._shown(group, evidence),
            settings=self.request.settings,
            left_out=self._silences[judge](evidence.by_type)
            if judge in self._silences
            else (),
            synthetic=_synthetic(files),
        )

    def _shown(self, group: PlanFiles, evidence: PlanEvidence) -> "ShownPlan | None":
        """The values of the first plans, where a report asks for them."""
        if not self.request.keeps_plans or not self._of_all.left_to_show:
            return None
        from speccheck.validator.run.plan_dump import shown_plan  # noqa: PLC0415 - seldom

        self._of_all.left_to_show -= 1
        return shown_plan(group, evidence)

    @property
    def silence(self) -> "Silence | None":
        """What waives failures of these plans, as far as anything does."""
        return self._of_all.silences.get(self.request.policy)

    def _may_silence(self, sources: dict[str, Source]) -> bool:
        """Whether there is anything that waives: seldom, and then it is read."""
        if self.silence is not None:
            return True
        return self.request.policy.inline_ignores and any(
            may_hold_waivers(source.text) for source in sources.values()
        )

    def read_silence(self) -> "Silence":
        """The same, begun where there is none; raises WaiverFault."""
        found = self.silence
        if found is None:
            from speccheck.validator.run.waivers.apply import (  # noqa: PLC0415 - seldom
                Silence,
            )

            found = Silence(
                self.request, self.edition, self.entries, self._of_all.baseline
            )
            self._of_all.silences[self.request.policy] = found
        return found

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
            if one.finding.outcome == "fail"
            and one.finding.clause in MENDED
            and not one.finding.waiver
        ]
        if not failed or not self._proposes:
            return found
        if not self._of_all.left_to_mend:
            self._of_all.unsought += 1
            mended = {id(one): one._replace(proposals=None) for one in failed}
        else:
            # The search is no part of a run in which nothing of it fails.
            from speccheck.validator.changes.what_if.proposals import (  # noqa: PLC0415
                propose,
            )

            self._of_all.left_to_mend -= 1
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
            selection = self.request.selection._replace(select=(), extend_select=())
            request = self.request._replace(selection=selection, policy=Policy())
            self._wide = PlanJudge(request, proposes=False)
        return self._wide

    def _located(self, finding: Finding, sources: dict[str, Source]) -> LocatedFinding:
        known = self._shared.get(id(finding))
        if known is not None:
            return known
        is_held = finding.outcome == "pass" and not finding.is_loosened
        if is_held and not self.request.full:
            return self._held(finding)
        found = located(finding, sources)
        if finding.fix is not None and self.request.edits:
            from speccheck.validator.changes.fixes.placed import (  # noqa: PLC0415 - seldom
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
            if "fleet" not in asked:  # so that no selection is said to leave them out
                composed = composed.selecting(self._is_for_one_node)
            narrowed = self.request.selection.narrow(composed, self.entries)
            if "fleet" not in asked:  # also where one is asked for by its name
                narrowed = narrowed.selecting(self._is_for_one_node)
            if self.request.selection.select and scopes != OF_WAIVERS:
                narrowed = narrowed.selecting(_concerns_no_waivers)
            if clauses:
                narrowed = narrowed.selecting(lambda one: one.clause.id in clauses)
            if "plan" not in scopes:
                narrowed = narrowed.selecting(
                    lambda one: self._concerns_live(one, wanted, asked)
                )
            narrowed = with_levels(narrowed, self.request.policy.levels, self.entries)
            judge = Judge(narrowed, self._rules_of(asked))
            self._judges[named] = judge
            if not clauses:
                if "plan" not in scopes:
                    composed = composed.selecting(
                        lambda one: self._concerns_live(one, wanted, asked)
                    )
                self._note_silences(judge, composed, narrowed, asked)
        return judge

    def _note_silences(
        self,
        judge: Judge,
        before: ComposedEdition,
        after: ComposedEdition,
        scopes: tuple[Scope, ...],
    ) -> None:
        """Keep what the selection leaves out of what such plans are judged by."""
        selection = self.request.selection
        if not selection.select and not selection.ignore:
            return
        from speccheck.validator.run.suppressions import Silences  # noqa: PLC0415 - seldom

        rules = [one for one in self.entries if one.scope in scopes]
        self._silences[judge] = Silences(
            selection, before, after, rules, self._selected
        )

    def _rules_of(self, scopes: tuple[Scope, ...]) -> RulesByClause:
        if scopes not in self._rules:
            entries = [one for one in self._selected if one.scope in scopes]
            self._rules[scopes] = RulesByClause(entries)
        return self._rules[scopes]

    def _is_for_one_node(self, judged: JudgedClause) -> bool:
        """Whether a selected clause asks for more than to compare many nodes."""
        if self._of_fleets is None:
            scopes: dict[str, set[Scope]] = {}
            for one in self.entries:
                scopes.setdefault(one.clause, set()).add(one.scope)
            self._of_fleets = {one for one in scopes if scopes[one] == {"fleet"}}
        return judged.is_selected and judged.clause.id not in self._of_fleets

    def _concerns_live(
        self, judged: JudgedClause, at_hand: tuple[str, ...], by: tuple[Scope, ...]
    ) -> bool:
        """Whether a clause is judged, by such rules, where no file is at hand."""
        clause = judged.clause
        if not judged.is_selected or set(at_hand).isdisjoint(clause.evidence):
            return False
        scopes = {one.scope for one in self.entries if one.clause == clause.id}
        return not scopes or not scopes.isdisjoint(by)


def _concerns_no_waivers(judged: JudgedClause) -> bool:
    """Whether a selected clause is judged with the plans, not after them."""
    return judged.is_selected and "waivers" not in judged.clause.evidence


def _synthetic(files: Iterable[ReadFile]) -> tuple[str, ...]:
    """The files that say of themselves that they are made up."""
    return tuple(
        file.status.path
        for file in files
        if any(one.node and one.node.synthetic for one in file.readings)
    )


def _measured(evidence: PlanEvidence) -> "Measured":
    from speccheck.validator.measurements.measured import measured_of  # noqa: PLC0415 - seldom

    return measured_of(evidence.measured, evidence.by_type)
