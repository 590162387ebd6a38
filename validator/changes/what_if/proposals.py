"""Settings under which a failed rule holds, found by trying them.

Each candidate is worked into the plan as `--what-if` does it and judged again. What is
printed was judged to hold; what cannot be judged for want of facts is called that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Generic, TypeVar

from speccheck.validator.changes.what_if.assignments import FLAG, Assignment, set_leaf
from speccheck.validator.changes.what_if.levers import (
    GLOBAL,
    MICRO,
    STEPS,
    Lever,
    LeverStep,
    batch_levers,
    memory_levers,
    pipeline_levers,
)
from speccheck.validator.changes.what_if.overrides import overridden
from speccheck.validator.engine.assemble import PlanEvidence, evidence_of, merged_leaves
from speccheck.validator.engine.judge import Judge
from speccheck.validator.engine.locate import sources_of
from speccheck.validator.evidence.finding import Finding, Proposal, ProposedSetting
from speccheck.validator.evidence.plan import TrainingPlan, leaf_names, plan_evidence
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.sources.context import COMMAND_LINE, Context
from speccheck.validator.sources.joining.grouping import PlanFiles
from speccheck.validator.sources.joining.merge import Leaves, derive
from speccheck.validator.sources.reader import Source

_NOT_SET = " is not set: "
_AFTER_KEY = "= \t\"'"


def own_keys(
    leaf: Value[Any], stated: StatedKeys, sources: Mapping[str, Source]
) -> tuple[Place, ...]:
    """Return the places to change, all of them; None if one of them is no such key."""
    if leaf.status == "default" and not leaf.places:
        return tuple(_of_default(leaf))
    places = tuple(_key(place, leaf.value, stated, sources) for place in leaf.places)
    if leaf.status not in {"stated", "default"}:
        return ()
    known = tuple(place for place in places if place is not None)
    return known if len(known) == len(places) else ()


def _of_default(leaf: Value[Any]) -> Iterator[Place]:
    """Yield the key that a default's note names: `fsdp_degree is not set: 1 in ...`."""
    key, is_key, rest = leaf.note.partition(_NOT_SET)
    value = rest.partition(" in ")[0].rstrip(".")
    if is_key and " " not in key and _is_same(value, leaf.value):
        yield Place("", key)


def _key(
    place: Place, value: object, stated: StatedKeys, sources: Mapping[str, Source]
) -> Place | None:
    if place.file == COMMAND_LINE:
        return place if place.key.startswith("--") else None
    if place.span is not None:
        return place if _line_says(place, value, sources.get(place.file)) else None
    for file in stated.files:
        if file.file == place.file:
            for key in file.keys:
                at = key.place
                if at.path == place.path and at.document == place.document:
                    return place if _is_same(key.value, value) else None
    return None


def _line_says(place: Place, value: object, source: Source | None) -> bool:
    """Return whether a line of a script holds the key and, after it, the value."""
    if source is None or place.span is None:
        return False
    lines = source.text.split("\n")[place.span.line - 1 : place.span.line + 1]
    _, text, rest = " ".join(lines).partition(place.key)
    words = rest.lstrip(_AFTER_KEY).replace('"', " ").replace("'", " ").split()
    return bool(text and words) and _is_same(words[0], value)


def _is_same(written: object, value: object) -> bool:
    if isinstance(written, bool) or isinstance(value, bool):
        return written is value or str(written).lower() == str(value).lower()
    return str(written) == str(value)


Candidate = tuple[LeverStep, ...]
Item = TypeVar("Item")

# What a glance says: FAILS, LACKS facts to be judged, or HOLDS.
FAILS, LACKS, HOLDS = range(3)

_MOST_TRIES = 400
_MOST_KEPT = 2
_COST_OF_VERIFYING = 4  # glances; it judges by all rules


class Search(Generic[Item]):
    """Tries candidates, none of them twice, and no more than a fixed number of them."""

    def __init__(
        self,
        glance: Callable[[Candidate], int],
        verified: Callable[[Candidate], Item | None],
        is_clean: Callable[[Item], bool],
    ) -> None:
        """Take the two ways to judge a candidate.

        Args:
            glance: what the rules in question say of it, quickly.
            verified: what comes of it by all rules; None for nothing of use.
            is_clean: whether nothing else fails then; of the others the first is kept
                as `second`, and no larger change is looked for.

        """
        self._glance = glance
        self._verified = verified
        self._is_clean = is_clean
        self.second: Item | None = None
        self._known: dict[Candidate, int] = {}
        self.tries = 0

    def combined(self, levers: Sequence[Lever], most: int) -> list[Item]:
        """Return one lever before two, then by the order of the levers.

        Cheap ones first.

        Where facts are missing even at the end of all levers, candidates that lack
        them are all that there is to find.
        """
        if not levers:
            return []
        wanted = self._says(_ends(levers))
        for count in range(1, most + 1 if wanted > FAILS else 1):
            result: list[Item] = []
            for chosen in combinations(levers, count):
                outcome = self._least((), chosen, wanted)
                if outcome is not None:
                    result.append(outcome)
                if len(result) == _MOST_KEPT:
                    break
            if result or self.second is not None:
                return result
        return []

    def single(self, levers: Sequence[Lever]) -> list[Item]:
        """Return the first step of each lever that does."""
        result: list[Item] = []
        for lever in levers:
            tried = (self._tried((step,), HOLDS) for step in lever.steps)
            outcome = next((item for item in tried if item is not None), None)
            if outcome is not None and len(result) < _MOST_KEPT:
                result.append(outcome)
        return result

    def _least(
        self, pulled: Candidate, still: Sequence[Lever], wanted: int
    ) -> Item | None:
        """Return the candidate that pulls the dearest lever least, then the next."""
        if self._says((*_ends(still), *pulled)) < wanted:
            return None
        if not still:
            return self._tried(pulled, wanted)
        for step in still[-1].steps:
            result = self._least((step, *pulled), still[:-1], wanted)
            if result is not None:
                return result
        return None

    def _tried(self, candidate: Candidate, wanted: int) -> Item | None:
        if self._says(candidate) < wanted or self.tries >= _MOST_TRIES:
            return None
        self.tries += _COST_OF_VERIFYING
        result = self._verified(candidate)
        if result is None or self._is_clean(result):
            return result
        if self.second is None:
            self.second = result
        return None

    def _says(self, candidate: Candidate) -> int:
        known = self._known.get(candidate)
        if known is None:
            if self.tries >= _MOST_TRIES:
                return FAILS
            self.tries += 1
            known = self._known[candidate] = self._glance(candidate)
        return known


def _ends(levers: Sequence[Lever]) -> Candidate:
    return tuple(lever.steps[-1] for lever in levers)


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
    """Return the smallest changes that mend a failed finding; None without any.

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
        before = judge_of(evidence.plan, ())(evidence)
        self._failed_before = {
            (finding.clause, finding.rule): finding.level
            for finding in before
            if finding.outcome == "fail"
        }
        self._held = {finding.rule for finding in before if finding.outcome == "pass"}

    def proposals(self) -> tuple[Proposal, ...]:
        """Return the verified ones.

        Else the first that mends this and says what is left.
        """
        search = Search(
            self._glance, self._verified, lambda proposal: not proposal.errors
        )
        levers = tuple(self.subject.levers(self.evidence.plan))
        if self.subject.most:
            proposals = search.combined(levers, self.subject.most)
        else:
            proposals = search.single(levers)
        if search.second is not None:
            proposals.append(search.second)
        return tuple(proposal for proposal in proposals if proposal.verified) or tuple(
            proposals[:1]
        )

    def _glance(self, candidate: Candidate) -> int:
        return self._outcome(self._said(self._leaves(candidate)))

    def _outcome(self, findings: Sequence[Finding]) -> int:
        """Return whether all that applies holds, or lacks facts alone."""
        if not any(self._is_same_rule(finding) for finding in findings):
            return FAILS
        if all(finding.outcome == "pass" for finding in findings):
            return HOLDS
        is_open = all(
            finding.outcome == "pass"
            or (finding.outcome == "unknown" and finding.missing)
            for finding in findings
        )
        return LACKS if is_open else FAILS

    def _is_same_rule(self, finding: Finding) -> bool:
        return (finding.clause, finding.rule) == (self.failed.clause, self.failed.rule)

    def _verified(self, candidate: Candidate) -> Proposal | None:
        """Return what comes of a candidate by all rules: nothing where it is at fault.

        A larger job may have to meet what a small one need not: that is listed.
        """
        leaves = self._leaves(candidate)
        changed = evidence_of(self.group.files, leaves)
        new = self._new_failures(self.judge_of(changed.plan, ())(changed))
        errors = [
            finding for finding in new if "error" in {finding.level, finding.outcome}
        ]
        if any(error.rule in self._held or _is_own(error) for error in errors):
            return None
        findings = self._said(leaves)
        holds = self._outcome(findings) == HOLDS
        missing = tuple(
            dict.fromkeys(name for finding in findings for name in finding.missing)
        )
        return Proposal(
            settings=self._settings(candidate, changed.plan),
            verified=holds and not errors,
            because=_because(findings, changed.plan, is_verified=holds),
            missing=() if holds else missing,
            errors=tuple(f"{error.clause} {error.rule}" for error in errors),
            warnings=tuple(
                f"{finding.clause} {finding.rule}"
                for finding in new
                if finding not in errors
            ),
            what_if=tuple(change.text for change in _changes(candidate)),
        )

    def _leaves(self, candidate: Candidate) -> Leaves:
        return overridden(self.merged, _changes(candidate)).leaves

    def _said(self, leaves: Leaves) -> list[Finding]:
        """Return what the subject's clauses say of other leaves, the rest equal."""
        plan, of_plan = plan_evidence(derive(leaves))
        evidence = self.evidence.with_more(of_plan)
        findings = self.judge_of(plan, self.subject.clauses)(evidence)
        return [finding for finding in findings if finding.outcome != "not_applicable"]

    def _new_failures(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return what fails that did not fail before, or only as less than an error."""
        known = self._failed_before
        return [
            finding
            for finding in findings
            if finding.outcome in {"fail", "error"}
            and known.get((finding.clause, finding.rule))
            not in {finding.level, "error"}
        ]

    def _settings(
        self, candidate: Candidate, after: TrainingPlan
    ) -> tuple[ProposedSetting, ...]:
        """Return what is tried, and the statements of files that it makes untrue.

        No value that the plan only reads out of keys which are named already is listed.
        """
        before = self.evidence.plan
        tried = [step.leaf for step in candidate]
        tried += [name for step in candidate for name, _ in step.beside]
        tried += [
            name
            for name in leaf_names()
            if before.value(name).status == "stated" and name not in tried
        ]
        number_lists = [
            (before.value(name), self._setting(before.value(name), after.value(name)))
            for name in tried
            if before.value(name).value != after.value(name).value
        ]
        named = {
            place
            for leaf, setting in number_lists
            if setting.keys
            for place in leaf.places
        }
        return tuple(
            setting
            for leaf, setting in number_lists
            if setting.keys or not leaf.places or not named.issuperset(leaf.places)
        )

    def _setting(self, before: Value[object], after: Value[object]) -> ProposedSetting:
        stated = self.evidence[StatedKeys]
        keys = own_keys(before, stated, sources_of(self.group.files))
        return ProposedSetting(before.name, before.value, after.value, keys)


def _is_own(failed: Finding) -> bool:
    """Return whether a failure rests on a value that was tried, save the nodes."""
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


def _because(
    findings: Sequence[Finding], plan: TrainingPlan, *, is_verified: bool
) -> str:
    """Return the numbers by which it holds, or why it cannot be judged."""
    if not is_verified:
        unknown = next(finding for finding in findings if finding.outcome == "unknown")
        lacking = [name for name in unknown.missing if name not in unknown.message]
        without = f" without {' and '.join(lacking)}" if lacking else ""
        return f"{unknown.clause} cannot be judged{without}: {unknown.message}"
    texts = [finding.message for finding in findings if finding.message]
    if not texts and any(finding.clause.startswith("BATCH") for finding in findings):
        texts = _batch_arithmetic(plan)
    return texts[0] if texts else ""


def _batch_arithmetic(plan: TrainingPlan) -> list[str]:
    micro, steps, ranks, total = (
        plan.value(name).value for name in (MICRO, STEPS, _DATA, GLOBAL)
    )
    if not micro or not steps or not ranks or not total:
        return []
    return [f"{micro} x {steps} x {ranks:,} ranks = {total:,}"]
