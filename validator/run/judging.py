"""Judges a plan: evidence to findings with positions, then one step after another."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from speccheck.validator.editions.edition import Edition
from speccheck.validator.engine.applicability import plan_size_class
from speccheck.validator.engine.assemble import PlanEvidence, assemble
from speccheck.validator.engine.judge import Judge
from speccheck.validator.engine.judges import Judges
from speccheck.validator.engine.locate import LocatedFinding, located, sources_of
from speccheck.validator.engine.request import Judging, Policy, Request
from speccheck.validator.evidence.finding import Finding, may_hold_waivers
from speccheck.validator.evidence.forks import CommandParser, advice_for
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.files import FileStatus
from speccheck.validator.sources.joining.grouping import PlanFiles
from speccheck.validator.sources.reader import Source

if TYPE_CHECKING:
    from speccheck.validator.measurements.measured import Measurements
    from speccheck.validator.run.plan_dump import PlanDump
    from speccheck.validator.run.suppressions import Suppressed, Suppressions
    from speccheck.validator.run.waivers.apply import Waivers
    from speccheck.validator.run.waivers.baseline import Baseline

# Clauses whose failures a change of settings can mend, and the plans of a run for which
# one is sought: each costs up to as much as judging a hundred plans.
MENDED = frozenset({"MEM-001", "MEM-002", "MEM-020", "BATCH-001", "BATCH-003"})
MOST_SOUGHT = 20
MOST_SHOWN = 50  # plans whose values are kept for a report: 40 kB each
# What a plan is about, the first that it has: its settings file is that of this one.
_ROLES = (
    "config",
    "launcher",
    "engine",
    "model",
    "environment",
    "measurement",
    "node",
)
_OF_SCALE = tuple(
    f"cluster.{name}"
    for name in (
        *("nodes", "gpus_per_node", "world_size"),
        *("accelerator", "compute_capability", "instance_type"),
    )
)


class JobScale:
    """How large a job is: the leaves that reports keep of a plan."""

    __slots__ = ("_leaves",)

    def __init__(self, plan: TrainingPlan) -> None:
        """Keep the numbers of nodes and GPUs, and what these are."""
        self._leaves = {name: plan.value(name) for name in _OF_SCALE}

    def value(self, name: str) -> Value[Any]:
        """Return the leaf of a name; raises KeyError for one that is not kept."""
        return self._leaves[name]


class JudgedPlan(Record):
    """One plan: its files, the size of the job, and its findings.

    Attributes:
        files: those that make it.
        grouping: why these are one plan; empty for a single file.
        plan: the size of the job.
        size: its class.
        findings: with positions.
        measured: what was measured under load; None for nothing.
        shown: all values of the plan, where a report asks for them.
        settings: the files that it is judged by, the closest first.
        left_out: what would be judged without them.
        synthetic: the snapshots of machines that do not exist.

    """

    files: tuple[FileStatus, ...]
    grouping: tuple[str, ...]
    plan: JobScale
    size: str | None
    findings: tuple[LocatedFinding, ...]
    measured: "Measurements | None" = None
    shown: "PlanDump | None" = None
    settings: tuple[str, ...] = ()
    left_out: "tuple[Suppressed, ...]" = ()
    synthetic: tuple[str, ...] = ()


class ShadowEdition(Record):
    """What comes of a shadow edition, of which only warnings count.

    Attributes:
        edition: beside the one that counts.
        found: its failures that the other does not give.
        unknown: clauses that it could not judge and the other did not leave open.
        broken: rules that broke.

    """

    edition: Edition
    failures: int = 0
    unknown: int = 0
    broken: int = 0


class WaivedPlans(Record):
    """The plans of a run that the same waivers were applied to.

    Attributes:
        waivers: by one policy.
        numbers: of the plans.
        judges: by which they were judged, those of the last.

    """

    waivers: "Waivers"
    numbers: tuple[int, ...]
    judges: Judges


class RunState:
    """What the plans of a run share.

    Attributes:
        request: of the run.
        proposes: whether changes are sought that mend what fails.
        baseline: that of all plans, before what settings say.
        judges: of plans for which no settings say otherwise.
        judges_of_plans: of each plan in turn.
        waivers: by the policy that asks for them.
        suppressions: of judges that a selection narrows.
        steps: what is added to a plan once its rules are judged, in order.
        left_to_mend: plans for which changes may still be sought.
        unsought: plans that would need changes, and got none.
        left_to_show: plans whose values may still be kept.

    """

    def __init__(
        self,
        request: Request,
        *,
        proposes: bool = True,
        baseline: "Baseline | None" = None,
    ) -> None:
        """Load what all plans need; raises what `Judges` raises, and WaiverFault."""
        self.request = request
        self.proposes = proposes
        self.baseline = baseline
        self.left_to_mend = MOST_SOUGHT
        self.unsought = 0
        self.left_to_show = MOST_SHOWN
        self.waivers: dict[Policy, Waivers] = {}
        self.suppressions: dict[Judge, Suppressions] = {}
        # By the id of the finding, which stays its own as long as it is held here. Most
        # findings are the same object in every plan: that a clause does not apply.
        self.located: dict[int, LocatedFinding] = {}
        self.passed: dict[tuple[object, ...], LocatedFinding] = {}
        self._judges: dict[Judging, Judges] = {}
        self.judges = self._judges_by(request.judging)
        self.judges_of_plans: list[Judges] = []
        self.steps: tuple[PlanStep, ...] = STEPS

    @property
    def warnings(self) -> tuple[str, ...]:
        """What settings and command line say in vain."""
        texts = (text for judges in self._judges.values() for text in judges.warnings)
        return tuple(dict.fromkeys(texts))

    def judges_of(self, group: PlanFiles) -> Judges:
        """Return the judges by the settings of a plan; raises as when a run begins."""
        if self.request.for_files is None:
            return self.judges
        return self._judges_by(self.request.for_files(names_of(group)))

    def _judges_by(self, judging: Judging) -> Judges:
        judges = self._judges.get(judging)
        if judges is None:
            judges = Judges(self.request.judging_by(judging))
            self._judges[judging] = judges
            policy = judging.policy
            has_files = policy.waivers or policy.baseline or policy.file_ignores
            if has_files or self.baseline is not None:
                self.waivers_of(judges)
        return judges

    def waivers_of(self, judges: Judges) -> "Waivers":
        """Return what waives failures by the policy of judges; raises WaiverFault."""
        policy = judges.request.judging.policy
        waivers = self.waivers.get(policy)
        if waivers is None:
            from speccheck.validator.run.waivers.apply import (  # noqa: PLC0415 - seldom
                Waivers,
            )

            waivers = Waivers(policy, judges.edition, judges.entries, self.baseline)
            self.waivers[policy] = waivers
        return waivers

    def waived_plans(self) -> Iterator[WaivedPlans]:
        """Yield what waived failures, each with the plans that it was applied to."""
        for policy, waivers in self.waivers.items():
            by_policy = {
                number: judges
                for number, judges in enumerate(self.judges_of_plans)
                if judges.request.judging.policy == policy
            }
            # To plans before the first file with waivers nothing was applied.
            numbers = tuple(by_policy)[len(by_policy) - len(waivers.plans) :]
            if numbers:
                yield WaivedPlans(waivers, numbers, by_policy[numbers[-1]])


def names_of(group: PlanFiles) -> tuple[str, ...]:
    """Return the files of a plan, the one that it is about first.

    Whichever order they were given in: it must not decide which settings count.
    """
    ranked = sorted((_ROLES.index(file.role), file.status.path) for file in group.files)
    return tuple(dict.fromkeys(path for _, path in ranked))


def settled(request: Request, group: PlanFiles) -> Request:
    """Return the request for a plan by the settings closest to it."""
    if request.for_files is None:
        return request
    return request.judging_by(request.for_files(names_of(group)))


class PlanInputs(Record):
    """What the steps see of a plan.

    Attributes:
        group: its files.
        evidence: as it was read or as it was changed.
        judges: by its settings.
        judge: by its profiles.
        sources: its files and those that they inherit from, by name.

    """

    group: PlanFiles
    evidence: PlanEvidence
    judges: Judges
    judge: Judge
    sources: dict[str, Source]


PlanStep = Callable[[JudgedPlan, PlanInputs, RunState], JudgedPlan]


def judge_plan(
    group: PlanFiles, state: RunState, evidence: PlanEvidence | None = None
) -> JudgedPlan:
    """Judge the plan that files make together.

    Args:
        group: the files.
        state: of the run.
        evidence: of the plan, where it is not that of the files alone.

    Raises what `RunState.judges_of` raises.

    """
    judges = state.judges_of(group)
    state.judges_of_plans.append(judges)
    request = judges.request
    if evidence is None:
        evidence = assemble(group.files, request.judging.context)
        if request.declaration is not None:
            evidence = evidence.and_also(request.declaration)
    judge = judges.of(evidence.plan, scopes=evidence.scopes, measured=evidence.measured)
    inputs = PlanInputs(group, evidence, judges, judge, sources_of(group.files))
    judged = JudgedPlan(
        files=tuple(dict.fromkeys(file.status for file in group.files)),
        grouping=group.reasons,
        plan=JobScale(evidence.plan),
        size=plan_size_class(evidence.plan),
        findings=tuple(_with_positions(judge(evidence), inputs, state)),
        settings=request.judging.settings,
        synthetic=tuple(
            file.status.path
            for file in group.files
            if any(reading.node and reading.node.synthetic for reading in file.readings)
        ),
    )
    for step in state.steps:
        judged = step(judged, inputs, state)
    return judged


def _with_positions(
    findings: Iterable[Finding], inputs: PlanInputs, state: RunState
) -> Iterator[LocatedFinding]:
    judges = inputs.judges
    is_full, has_edits = judges.request.full, judges.request.edits
    parsers = [
        file.parser
        for file in inputs.evidence[StatedKeys].files
        if file.parser is not None
    ]
    for finding in findings:
        known = state.located.get(id(finding))
        if known is not None:
            yield known
            continue
        if finding.outcome == "pass" and not is_full and not finding.is_loosened:
            # One for all plans in which a rule holds: only its clause counts.
            key = judges, finding.clause, finding.rule, finding.clause_level
            known = state.passed.get(key)
            if known is None:
                bare = finding._replace(message="", places=())
                known = state.passed[key] = LocatedFinding(bare, ())
            yield known
            continue
        known = located(_advised(finding, parsers), inputs.sources)
        if finding.fix is not None:
            from speccheck.validator.changes.fixes.cautions import (  # noqa: PLC0415 - seldom
                cautioned,
            )

            known = cautioned(known, inputs.sources)
        if finding.fix is not None and has_edits:
            from speccheck.validator.changes.fixes.edits import (  # noqa: PLC0415 - seldom
                placed_edits,
            )

            known = known._replace(edits=placed_edits(finding, inputs.sources))
        elif not finding.places and known.finding is finding:
            state.located[id(finding)] = known
        yield known


def _advised(finding: Finding, parsers: Sequence[CommandParser]) -> Finding:
    """Return a finding that proposes no option that no parser of the plan has."""
    if not parsers or finding.outcome != "fail":
        return finding
    fix, remedy = finding.fix, advice_for(finding.remedy, parsers)
    if fix is not None and any(
        change.name and advice_for(change.name, parsers) != change.name
        for change in fix.changes
    ):
        fix = None
    if fix is finding.fix and remedy == finding.remedy:
        return finding
    return finding._replace(fix=fix, remedy=remedy)


def with_waivers(judged: JudgedPlan, inputs: PlanInputs, state: RunState) -> JudgedPlan:
    """Mark the failures that comments, settings or files waive, if any do."""
    policy = inputs.judges.request.judging.policy
    if policy not in state.waivers and not (
        policy.inline_ignores
        and any(may_hold_waivers(source.text) for source in inputs.sources.values())
    ):
        return judged
    waivers = state.waivers_of(inputs.judges)
    findings = waivers.applied(
        judged.findings, inputs.group.files, inputs.sources, inputs.evidence
    )
    return judged._replace(findings=findings)


def with_proposals(
    judged: JudgedPlan, inputs: PlanInputs, state: RunState
) -> JudgedPlan:
    """Give settings that mend them to the failures that settings can mend."""
    failed = [
        finding
        for finding in judged.findings
        if finding.finding.outcome == "fail"
        and finding.finding.clause in MENDED
        and not finding.finding.waiver
    ]
    if not failed or not state.proposes:
        return judged
    if not state.left_to_mend:
        state.unsought += 1
        mended = {
            id(located_finding): located_finding._replace(proposals=None)
            for located_finding in failed
        }
    else:
        # The search is no part of a run in which nothing of it fails.
        from speccheck.validator.changes.what_if.proposals import (  # noqa: PLC0415
            propose,
        )

        state.left_to_mend -= 1
        context = inputs.judges.request.judging.context
        # A proposal must stand all rules.
        judge_of = inputs.judges.by_all_rules().of
        mended = {
            id(located_finding): located_finding._replace(
                proposals=propose(
                    inputs.group,
                    inputs.evidence,
                    located_finding.finding,
                    context,
                    judge_of,
                )
            )
            for located_finding in failed
        }
    findings = tuple(mended.get(id(finding), finding) for finding in judged.findings)
    return judged._replace(findings=findings)


def with_measurements(
    judged: JudgedPlan, inputs: PlanInputs, _: RunState
) -> JudgedPlan:
    """Add what was measured under load."""
    evidence = inputs.evidence
    if not evidence.measured:
        return judged
    from speccheck.validator.measurements.measured import measured_of  # noqa: PLC0415 - seldom

    return judged._replace(measured=measured_of(evidence.measured, evidence))


def with_dump(judged: JudgedPlan, inputs: PlanInputs, state: RunState) -> JudgedPlan:
    """Add the values of the first plans, where a report asks for them."""
    if not inputs.judges.request.keeps_plans or not state.left_to_show:
        return judged
    from speccheck.validator.run.plan_dump import dump_plan  # noqa: PLC0415 - seldom

    state.left_to_show -= 1
    return judged._replace(shown=dump_plan(inputs.group, inputs.evidence))


def with_suppressed(
    judged: JudgedPlan, inputs: PlanInputs, state: RunState
) -> JudgedPlan:
    """Add the clauses and rules that a selection leaves out of what applies."""
    selection = inputs.judges.request.judging.selection
    if not selection.select and not selection.ignore:
        return judged
    from speccheck.validator.run.suppressions import (  # noqa: PLC0415 - seldom
        Suppressions,
    )

    judge = inputs.judge
    if judge not in state.suppressions:
        state.suppressions[judge] = Suppressions(inputs.judges, judge)
    return judged._replace(left_out=state.suppressions[judge](inputs.evidence))


STEPS: tuple[PlanStep, ...] = (
    with_waivers,
    with_proposals,
    with_measurements,
    with_dump,
    with_suppressed,
)
