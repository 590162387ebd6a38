"""Applies the fixes of findings in memory, and keeps those that stand to be judged.

All that do not touch each other are made at once and judged; what spoils the judgement
is left out. What was in the way of another has its turn in the next pass.
"""

from collections.abc import Callable, Iterable

from speccheck.validator.changes.fixes.edit import CannotEdit, Edit, edited, overlaps
from speccheck.validator.changes.fixes.edits import FileEdits, edits_of
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.finding import Change, Fix
from speccheck.validator.evidence.record import Record
from speccheck.validator.run.fixing.comparison import (
    Owned,
    PlanKey,
    objections,
    plan_key,
)
from speccheck.validator.run.plan_judges import PlanJudges
from speccheck.validator.run.run import Run, run
from speccheck.validator.sources.documents.reading import keeping
from speccheck.validator.sources.reader import Source

MOST_PASSES = 10
_ORDER = {"error": 0, "warning": 1, "info": 2}

Texts = dict[str, str]


class Made(Record):
    """A fix that is made, and the findings that are gone by it."""

    fix: Fix
    mended: tuple[Owned, ...]


class NotMade(Record):
    """A fix that is not made, and why; is_judged: for what would come of it."""

    fix: Fix
    owned: Owned
    reason: str
    is_judged: bool = False


class Mended(Record):
    """What came of the fixes of a run.

    found: what was judged at first; left: what is judged with all that was made.
    texts: the files that change, as they were read and as they become.
    unsafe: fixes that are made only when they are asked for.
    is_cut_off: the last pass has made something, so that another may make more.
    """

    found: Run
    left: Run
    texts: dict[str, tuple[str, str]]
    made: tuple[Made, ...]
    not_made: tuple[NotMade, ...]
    unsafe: int
    is_cut_off: bool


class _Candidate(Record):
    """A fix with its findings and its edits of the texts of one pass."""

    fix: Fix
    mended: tuple[Owned, ...]
    edits: FileEdits


def mended(
    request: Request,
    refusal: Callable[[Run, str], str | None],
    *,
    unsafe: bool,
) -> Mended:
    """Judge files and make the fixes of what fails, in memory.

    Args:
        request: what is judged.
        refusal: says of a run and the name of a file why it is not to be edited.
        unsafe: whether fixes are made that change what the model learns.

    Raises what `run` raises.
    """
    mending = _Mending(request, refusal, unsafe=unsafe)
    for _ in range(MOST_PASSES):
        if not mending.improve():
            break
    return mending.outcome()


class _Mending:
    """The state between passes: texts, and how they are judged."""

    def __init__(
        self,
        request: Request,
        refusal: Callable[[Run, str], str | None],
        *,
        unsafe: bool,
    ) -> None:
        self.request = request
        self.refusal = refusal
        self.unsafe = unsafe
        self.texts: Texts = {}
        with keeping(self.texts):
            self.found = run(request)
        self.original = dict(self.texts)
        self.judged = self.found
        self.made: list[Made] = []
        self.not_made: dict[tuple[Change, ...], NotMade] = {}
        self._accepted: list[_Candidate] = []

    def improve(self) -> bool:
        """One pass; tells whether another one may make more.

        It may after anything was made, and where what is left out now was in the way.
        """
        if self._accepted:  # on what is made by now it may be judged otherwise
            self.not_made = {
                changes: one
                for changes, one in self.not_made.items()
                if not one.is_judged
            }
            if self.unsafe:
                with keeping(self.texts):
                    self.judged = run(self.request)  # with proposals
        base = dict(self.texts)
        left_out = len(self.not_made)
        candidates = self._candidates(base)
        self._accepted = []
        self._accept(base, candidates)
        self.made += [Made(one.fix, one.mended) for one in self._accepted]
        return bool(self._accepted) or len(self.not_made) > left_out

    def outcome(self) -> Mended:
        """What came of all passes."""
        left = self.judged
        if self.made and (self._accepted or not self.unsafe):
            # In between no proposals were sought.
            with keeping(self.texts):
                left = run(self.request)
        texts = {
            name: (text, self.texts[name])
            for name, text in self.original.items()
            if self.texts[name] != text
        }
        wanted = {fix.changes: fix for fix, _ in _wanted(left, unsafe=True)}
        unsafe = sum(not fix.is_safe for fix in wanted.values())
        not_made = tuple(
            one for changes, one in self.not_made.items() if changes in wanted
        )
        return Mended(
            self.found,
            left,
            texts,
            tuple(self.made),
            not_made,
            0 if self.unsafe else unsafe,
            bool(self._accepted),
        )

    def _candidates(self, base: Texts) -> list[_Candidate]:
        """The fixes that can be made side by side, the most urgent first."""
        sources = {name: Source(name, text) for name, text in base.items()}
        taken: dict[str, list[Edit]] = {}
        found: list[_Candidate] = []
        for fix, owned in _wanted(self.judged, unsafe=self.unsafe):
            if fix.changes in self.not_made:
                continue
            try:
                self._demand_editable(fix)
                edits = edits_of(fix, sources)
            except CannotEdit as error:
                self._leave(fix, owned[0], str(error), judged=False)
                continue
            if any(overlaps(new, taken.get(file, ())) for file, new in edits.items()):
                continue
            for file, new in edits.items():
                taken.setdefault(file, []).extend(new)
            found.append(_Candidate(fix, owned, edits))
        return found

    def _demand_editable(self, fix: Fix) -> None:
        for file in dict.fromkeys(change.place.file for change in fix.changes):
            reason = self.refusal(self.found, file)
            if reason is not None:
                raise CannotEdit(reason)

    def _leave(self, fix: Fix, owned: Owned, reason: str, *, judged: bool) -> None:
        self.not_made[fix.changes] = NotMade(fix, owned, reason, judged)

    def _accept(self, base: Texts, candidates: list[_Candidate]) -> None:
        """Make those that no plan speaks against.

        A plan is judged by its own files, so that no other waits for a spoiled one. Of
        several candidates in a spoiled plan the first half stays, and the others wait
        for the next pass.
        """
        while candidates:
            texts = _with(base, (*self._accepted, *candidates))
            with keeping(texts):
                judged = run(self.request, PlanJudges(self.request, proposes=False))
            owned = [one for candidate in candidates for one in candidate.mended]
            spoiled = objections(self.judged, judged, owned)
            if not spoiled:
                self._accepted += candidates
                self.texts, self.judged = texts, judged
                return
            dropped: list[_Candidate] = []
            for plan, reason in spoiled.items():
                touching = [one for one in candidates if _touches(one, plan)]
                suspects = touching or candidates  # a plan of files that inherit
                first = suspects[0]
                if len(suspects) == 1:
                    self._leave(first.fix, first.mended[0], reason, judged=True)
                dropped += suspects[len(suspects) // 2 :]
            candidates = [one for one in candidates if one not in dropped]


def _touches(candidate: _Candidate, plan: PlanKey | None) -> bool:
    """Whether a fix edits a file of a plan; of all plans, each one does."""
    return plan is None or not candidate.edits.keys().isdisjoint(plan)


def _with(base: Texts, candidates: Iterable[_Candidate]) -> Texts:
    """The texts with the edits of all candidates."""
    edits: dict[str, list[Edit]] = {}
    for candidate in candidates:
        for file, new in candidate.edits.items():
            edits.setdefault(file, []).extend(new)
    return {**base, **{file: edited(base[file], new) for file, new in edits.items()}}


def _wanted(found: Run, *, unsafe: bool) -> list[tuple[Fix, tuple[Owned, ...]]]:
    """The fixes of what fails and is not waived, each once, the worst level first."""
    ranked: list[tuple[int, Fix, Owned]] = []
    for plan in found.plans:
        key = plan_key(plan)
        for located in plan.findings:
            finding = located.finding
            if finding.outcome != "fail" or finding.waiver is not None:
                continue
            ranked += [
                (_ORDER[finding.level], fix, Owned(key, finding))
                for fix in _fixes(located, unsafe=unsafe)
            ]
    ranked.sort(key=lambda one: one[0])
    by_changes: dict[tuple[Change, ...], tuple[Fix, list[Owned]]] = {}
    for _, fix, owned in ranked:
        by_changes.setdefault(fix.changes, (fix, []))[1].append(owned)
    return [(fix, tuple(owned)) for fix, owned in by_changes.values()]


def _fixes(located: LocatedFinding, *, unsafe: bool) -> list[Fix]:
    """The fix of a rule; where it gives none, settings that were tried."""
    fix = located.finding.fix
    if fix is not None:
        return [fix] if fix.is_safe or unsafe else []
    if not unsafe or not located.proposals:
        return []
    from speccheck.validator.changes.fixes.proposed import proposed_fix  # noqa: PLC0415 - seldom

    found = (proposed_fix(one) for one in located.proposals)
    return [one for one in found if one is not None][:1]
