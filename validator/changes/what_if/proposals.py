"""Settings under which a failed rule holds, found by trying them.

Each candidate is worked into the plan as `--what-if` does it and judged again. What is
printed was judged to hold; what cannot be judged for want of facts is called that.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from speccheck.validator.changes.what_if.assignments import FLAG, Assignment, set_leaf
from speccheck.validator.changes.what_if.levers import (
    GLOBAL,
    MICRO,
    STEPS,
    Lever,
    batch_levers,
    memory_levers,
    pipeline_levers,
)
from speccheck.validator.changes.what_if.overrides import overridden
from speccheck.validator.changes.what_if.own_keys import own_keys
from speccheck.validator.changes.what_if.search import (
    FAILS,
    HOLDS,
    LACKS,
    Candidate,
    Search,
)
from speccheck.validator.engine.assemble import PlanEvidence, evidence_of, merged_leaves
from speccheck.validator.engine.engine import Judge
from speccheck.validator.engine.locate import sources_of
from speccheck.validator.evidence.finding import Finding, Proposal, Setting
from speccheck.validator.evidence.plan import TrainingPlan, leaf_names, plan_evidence
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.joining.grouping import PlanFiles
from speccheck.validator.sources.joining.merge import Leaves, derive

_DATA = "parallelism.data_parallel_size"


class _Subject(Record):
    """How failed rules of a clause are mended.

    Attributes:
        clauses: all of them must hold then.
        levers: what may be changed, the cheap before the dear.
        most: levers that one proposal pulls; 0 for one whose steps have no order.

    """

    clauses: tuple[str, ...]
    levers: Callable[[TrainingPlan], Iterator[Lever]]
    most: int


# Of what is offloaded the memory of the host is judged as well.
_MEMORY = _Subject(("MEM-001", "MEM-002", "MEM-021"), memory_levers, 5)
_SUBJECTS = {
    "MEM-001": _MEMORY,
    "MEM-002": _MEMORY,
    "MEM-020": _Subject(("MEM-020", "MEM-021"), memory_levers, 3),
    "BATCH-001": _Subject(("BATCH-001",), batch_levers, 0),
    "BATCH-003": _Subject(("BATCH-003",), pipeline_levers, 2),
}


def propose(
    group: PlanFiles,
    evidence: PlanEvidence,
    failed: Finding,
    context: Context,
    judge_of: Callable[[TrainingPlan, Sequence[str]], Judge],
) -> tuple[Proposal, ...]:
    """The smallest changes that mend a failed finding; none where none was found.

    Args:
        group: the files of the plan.
        evidence: of the plan as it is.
        failed: what is to be mended.
        context: what the command line states of the plan.
        judge_of: judges a plan by some clauses, or by all where none is named.

    """
    merged = merged_leaves(group.files, context)
    return _Mending(group, evidence, failed, merged, judge_of).proposals()


class _Mending:
    """Tries changes for one failed finding of one plan."""

    def __init__(
        self,
        group: PlanFiles,
        evidence: PlanEvidence,
        failed: Finding,
        merged: Leaves,
        judge_of: Callable[[TrainingPlan, Sequence[str]], Judge],
    ) -> None:
        self.group = group
        self.failed = failed
        self.judge_of = judge_of
        self.evidence = evidence
        self.merged = merged
        self.subject = _SUBJECTS[failed.clause]
        before = judge_of(evidence.plan, ())(evidence.by_type)
        self._failed_before = {
            (one.clause, one.rule): one.level for one in before if one.outcome == "fail"
        }
        self._held = {one.rule for one in before if one.outcome == "pass"}

    def proposals(self) -> tuple[Proposal, ...]:
        """Verified ones; else the first that mends this and says what is left."""
        search = Search(self._glance, self._verified, lambda one: not one.errors)
        levers = tuple(self.subject.levers(self.evidence.plan))
        if self.subject.most:
            found = search.combined(levers, self.subject.most)
        else:
            found = search.single(levers)
        if search.second is not None:
            found.append(search.second)
        return tuple(one for one in found if one.verified) or tuple(found[:1])

    def _glance(self, candidate: Candidate) -> int:
        return self._outcome(self._said(self._leaves(candidate)))

    def _outcome(self, said: Sequence[Finding]) -> int:
        """Whether all that applies holds, or lacks facts alone."""
        if not any(self._is_same_rule(one) for one in said):
            return FAILS
        if all(one.outcome == "pass" for one in said):
            return HOLDS
        is_open = all(
            one.outcome == "pass" or (one.outcome == "unknown" and one.missing)
            for one in said
        )
        return LACKS if is_open else FAILS

    def _is_same_rule(self, finding: Finding) -> bool:
        return (finding.clause, finding.rule) == (self.failed.clause, self.failed.rule)

    def _verified(self, candidate: Candidate) -> Proposal | None:
        """What comes of a candidate by all rules: nothing where it is at fault.

        A larger job may have to meet what a small one need not: that is told.
        """
        leaves = self._leaves(candidate)
        changed = evidence_of(self.group.files, leaves)
        new = self._new_failures(self.judge_of(changed.plan, ())(changed.by_type))
        errors = [one for one in new if "error" in {one.level, one.outcome}]
        if any(one.rule in self._held or _is_own(one) for one in errors):
            return None
        said = self._said(leaves)
        holds = self._outcome(said) == HOLDS
        missing = tuple(dict.fromkeys(name for one in said for name in one.missing))
        return Proposal(
            settings=self._settings(candidate, changed.plan),
            verified=holds and not errors,
            because=_because(said, changed.plan, is_verified=holds),
            missing=() if holds else missing,
            errors=tuple(f"{one.clause} {one.rule}" for one in errors),
            warnings=tuple(
                f"{one.clause} {one.rule}" for one in new if one not in errors
            ),
            what_if=tuple(one.text for one in _changes(candidate)),
        )

    def _leaves(self, candidate: Candidate) -> Leaves:
        return overridden(self.merged, _changes(candidate)).leaves

    def _said(self, leaves: Leaves) -> list[Finding]:
        """What the clauses of the subject say of other leaves, all else being equal."""
        plan, of_plan = plan_evidence(derive(leaves))
        by_type = {**self.evidence.by_type, **of_plan}
        found = self.judge_of(plan, self.subject.clauses)(by_type)
        return [one for one in found if one.outcome != "not_applicable"]

    def _new_failures(self, findings: Iterable[Finding]) -> list[Finding]:
        """What fails that did not fail before, or only as less than an error."""
        known = self._failed_before
        return [
            one
            for one in findings
            if one.outcome in {"fail", "error"}
            and known.get((one.clause, one.rule)) not in {one.level, "error"}
        ]

    def _settings(
        self, candidate: Candidate, after: TrainingPlan
    ) -> tuple[Setting, ...]:
        """What is tried, and the statements of files that it makes untrue.

        A value that the plan only reads out of keys that are named already is left out.
        """
        before = self.evidence.plan
        tried = [step.leaf for step in candidate]
        tried += [name for step in candidate for name, _ in step.beside]
        tried += [
            name
            for name in leaf_names()
            if before.value(name).status == "stated" and name not in tried
        ]
        found = [
            (before.value(name), self._setting(before.value(name), after.value(name)))
            for name in tried
            if before.value(name).value != after.value(name).value
        ]
        named = {place for leaf, one in found if one.keys for place in leaf.places}
        return tuple(
            one
            for leaf, one in found
            if one.keys or not leaf.places or not named.issuperset(leaf.places)
        )

    def _setting(self, before: Value[object], after: Value[object]) -> Setting:
        stated = self.evidence.by_type[StatedKeys]
        keys: tuple[Place, ...] = ()
        if isinstance(stated, StatedKeys):
            keys = own_keys(before, stated, sources_of(self.group.files))
        return Setting(before.name, before.value, after.value, keys)


def _is_own(failed: Finding) -> bool:
    """Whether a failure rests on a value that was tried, other than the nodes."""
    return any(
        place.key.startswith(FLAG) and "cluster." not in place.key
        for place in failed.places
    )


def _changes(candidate: Candidate) -> list[Assignment]:
    wanted: dict[str, object] = {}
    for step in candidate:
        wanted.update(step.beside)
        wanted[step.leaf] = step.value
    return [set_leaf(leaf, value, f"{leaf}={value}") for leaf, value in wanted.items()]


def _because(said: Sequence[Finding], plan: TrainingPlan, *, is_verified: bool) -> str:
    """The numbers by which it holds, or why it cannot be judged."""
    if not is_verified:
        unknown = next(one for one in said if one.outcome == "unknown")
        lacking = [name for name in unknown.missing if name not in unknown.message]
        without = f" without {' and '.join(lacking)}" if lacking else ""
        return f"{unknown.clause} cannot be judged{without}: {unknown.message}"
    told = [one.message for one in said if one.message]
    if not told and any(one.clause.startswith("BATCH") for one in said):
        told = _batch_arithmetic(plan)
    return told[0] if told else ""


def _batch_arithmetic(plan: TrainingPlan) -> list[str]:
    micro, steps, ranks, total = (
        plan.value(name).value for name in (MICRO, STEPS, _DATA, GLOBAL)
    )
    if not micro or not steps or not ranks or not total:
        return []
    return [f"{micro} x {steps} x {ranks:,} ranks = {total:,}"]
