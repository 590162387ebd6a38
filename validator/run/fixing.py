"""Writes edited files: all of them or none, each whole, and none that has changed."""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress

from speccheck.validator.changes.fixes.edit import CannotEdit, Edit, edited, overlaps
from speccheck.validator.changes.fixes.edits import FileEdits, edits_of
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.paths import repository_root
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.finding import Change, Finding, Fix
from speccheck.validator.evidence.record import Record
from speccheck.validator.run.judging import JudgedPlan, RunState
from speccheck.validator.run.run import RunResult, run
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import keeping, read_file_text
from speccheck.validator.sources.reader import Source

PlanKey = tuple[str, ...]
_RANKS = {"not_applicable": 0, "pass": 0, "unknown": 1, "fail": 2, "error": 3}
_SHOWN_LEVELS = frozenset({"error", "warning"})


class Owned(Record):
    """A finding and the plan that it is of."""

    plan: PlanKey
    finding: Finding


def plan_key(plan: JudgedPlan) -> PlanKey:
    """Return what a plan is known by in several runs: the files that make it."""
    return tuple(file.path for file in plan.files)


def all_findings(result: RunResult) -> Iterator[Owned]:
    """Yield the findings of all plans."""
    for plan in result.plans:
        key = plan_key(plan)
        for finding in plan.findings:
            yield Owned(key, finding.finding)


def objections(
    before: RunResult, now: RunResult, mended: Iterable[Owned]
) -> dict[PlanKey | None, str]:
    """Return why edits are not to be kept, by the plans that speak against them.

    Under None stands what cannot be laid to one plan; nothing where they may be kept.

    Args:
        before: judged without them.
        now: judged with them.
        mended: the findings that they should make go away.
    """
    result: dict[PlanKey | None, str] = {}
    for plan, reason in (
        *_changed_files(before, now),
        *_still_there(before, now, tuple(mended)),
        *_new_failures(before, now),
        *_worse_clauses(before, now),
    ):
        result.setdefault(plan, reason)
    return result


def _changed_files(
    before: RunResult, now: RunResult
) -> Iterator[tuple[PlanKey | None, str]]:
    keys = set(map(plan_key, before.plans))
    old = {file.path: (file.state, file.format) for file in before.files}
    new = {file.path: (file.state, file.format) for file in now.files}
    for path, was in old.items():
        if new.get(path) != was:
            reason = f"{path} would not be read as {was[1] or 'before'} any more"
            yield from ((key, reason) for key in keys if path in key)
    reason = "the files would not make the same plans any more"
    new_keys = set(map(plan_key, now.plans))
    yield from ((key, reason) for key in keys - new_keys)
    if new_keys - keys and not keys - new_keys:
        yield None, reason


def _still_there(
    before: RunResult, now: RunResult, mended: tuple[Owned, ...]
) -> Iterator[tuple[PlanKey, str]]:
    """Yield failures by place, and by rule: a fix here may not move them elsewhere."""
    for key in (_placed, _ruled):
        were, are = (Counter(map(key, _failures(item))) for item in (before, now))
        counts = Counter(map(key, mended))
        for owned in mended:
            own = key(owned)
            if are[own] > max(were[own] - counts[own], 0):
                yield owned.plan, "what it should mend fails all the same"


def _failures(result: RunResult) -> Iterator[Owned]:
    return (
        finding
        for finding in all_findings(result)
        if finding.finding.outcome in {"fail", "error"}
    )


def _placed(owned: Owned) -> tuple[object, ...]:
    places = tuple((at.file, at.key) for at in owned.finding.places)
    return (*_ruled(owned), places)


def _ruled(owned: Owned) -> tuple[object, ...]:
    finding = owned.finding
    return owned.plan, finding.clause, finding.rule, finding.subject


def _new_failures(before: RunResult, now: RunResult) -> Iterator[tuple[PlanKey, str]]:
    """Yield the errors and warnings that were none before.

    Those of a rule are counted.
    """
    were = Counter(map(_levelled, _failures(before)))
    are = Counter(map(_levelled, _failures(now)))
    for plan, finding in _failures(now):
        key = _levelled(Owned(plan, finding))
        if finding.level in _SHOWN_LEVELS and are[key] > were[key]:
            yield plan, f"it would bring {finding.clause} {finding.rule}"


def _levelled(owned: Owned) -> tuple[object, ...]:
    return (*_ruled(owned), owned.finding.level)


def _worse_clauses(before: RunResult, now: RunResult) -> Iterator[tuple[PlanKey, str]]:
    were, are = _worst(before), _worst(now)
    for key, (rank, outcome) in are.items():
        was = were.get(key, (0, ""))
        # What begins to apply may be open: nothing that held is in doubt by that.
        begins_open = was[1] != "pass" and outcome == "unknown"
        if rank > was[0] and not begins_open:
            yield key[0], f"{key[1]} would be {outcome.replace('_', ' ')} then"


def _worst(result: RunResult) -> dict[tuple[PlanKey, str], tuple[int, str]]:
    """Return the worst outcome of each must and should, in each plan."""
    worst: dict[tuple[PlanKey, str], tuple[int, str]] = {}
    for plan, finding in all_findings(result):
        if finding.clause_level == "may":
            continue
        key = plan, finding.clause
        rank = _RANKS[finding.outcome], finding.outcome
        worst[key] = max(worst.get(key, (0, "")), rank)
    return worst


MOST_PASSES = 10
_ORDER = {"error": 0, "warning": 1, "info": 2}

Texts = dict[str, str]


class Made(Record):
    """A fix that is made, and the findings that are gone by it."""

    fix: Fix
    mended: tuple[Owned, ...]


class RejectedFix(Record):
    """A fix that is not made, and why; is_judged: for what would come of it."""

    fix: Fix
    owned: Owned
    reason: str
    is_judged: bool = False


class FixedRun(Record):
    """The outcome of fixing the files of a run.

    found: what was judged at first; left: what is judged with all that was made.
    texts: the files that change, as they were read and as they become.
    unsafe: fixes that are made on demand alone.
    is_cut_off: the last pass has made something, so that another may make more.
    """

    before: RunResult
    left: RunResult
    texts: dict[str, tuple[str, str]]
    made: tuple[Made, ...]
    not_made: tuple[RejectedFix, ...]
    unsafe: int
    is_cut_off: bool


class _Candidate(Record):
    """A fix with its findings and its edits of the texts of one pass."""

    fix: Fix
    mended: tuple[Owned, ...]
    edits: FileEdits


def mended(
    request: Request,
    refusal: Callable[[RunResult, str], str | None],
    *,
    unsafe: bool,
) -> FixedRun:
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
        refusal: Callable[[RunResult, str], str | None],
        *,
        unsafe: bool,
    ) -> None:
        self.request = request
        self.refusal = refusal
        self.unsafe = unsafe
        self.texts: Texts = {}
        with keeping(self.texts):
            self.before = run(request)
        self.original = dict(self.texts)
        self.judged = self.before
        self.made: list[Made] = []
        self.not_made: dict[tuple[Change, ...], RejectedFix] = {}
        self._accepted: list[_Candidate] = []

    def improve(self) -> bool:
        """Make one pass; returns whether another one may make more.

        It may after anything was made, and where what is dropped now was in the way.
        """
        if self._accepted:  # on what is made by now it may be judged otherwise
            self.not_made = {
                changes: not_made
                for changes, not_made in self.not_made.items()
                if not not_made.is_judged
            }
            if self.unsafe:
                with keeping(self.texts):
                    self.judged = run(self.request)  # with proposals
        base = dict(self.texts)
        left_out = len(self.not_made)
        candidates = self._candidates(base)
        self._accepted = []
        self._accept(base, candidates)
        self.made += [
            Made(candidate.fix, candidate.mended) for candidate in self._accepted
        ]
        return bool(self._accepted) or len(self.not_made) > left_out

    def outcome(self) -> FixedRun:
        """Return the outcome of all passes."""
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
            not_made for changes, not_made in self.not_made.items() if changes in wanted
        )
        return FixedRun(
            self.before,
            left,
            texts,
            tuple(self.made),
            not_made,
            0 if self.unsafe else unsafe,
            bool(self._accepted),
        )

    def _candidates(self, base: Texts) -> list[_Candidate]:
        """Return the fixes that can be made side by side, the most urgent first."""
        sources = {name: Source(name, text) for name, text in base.items()}
        taken: dict[str, list[Edit]] = {}
        candidates: list[_Candidate] = []
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
            candidates.append(_Candidate(fix, owned, edits))
        return candidates

    def _demand_editable(self, fix: Fix) -> None:
        for file in dict.fromkeys(change.place.file for change in fix.changes):
            reason = self.refusal(self.before, file)
            if reason is not None:
                raise CannotEdit(reason)

    def _leave(self, fix: Fix, owned: Owned, reason: str, *, judged: bool) -> None:
        self.not_made[fix.changes] = RejectedFix(fix, owned, reason, judged)

    def _accept(self, base: Texts, candidates: list[_Candidate]) -> None:
        """Make those that no plan speaks against.

        A plan is judged by its own files, so that no other waits for a spoiled one. Of
        several candidates in a spoiled plan the first half stays, and the others wait
        for the next pass.
        """
        while candidates:
            texts = _with(base, (*self._accepted, *candidates))
            with keeping(texts):
                judged = run(self.request, RunState(self.request, proposes=False))
            owned = [owned for candidate in candidates for owned in candidate.mended]
            spoiled = objections(self.judged, judged, owned)
            if not spoiled:
                self._accepted += candidates
                self.texts, self.judged = texts, judged
                return
            dropped: list[_Candidate] = []
            for plan, reason in spoiled.items():
                touching = [
                    candidate for candidate in candidates if _touches(candidate, plan)
                ]
                suspects = touching or candidates  # a plan of files that inherit
                first = suspects[0]
                if len(suspects) == 1:
                    self._leave(first.fix, first.mended[0], reason, judged=True)
                dropped += suspects[len(suspects) // 2 :]
            candidates = [
                candidate for candidate in candidates if candidate not in dropped
            ]


def _touches(candidate: _Candidate, plan: PlanKey | None) -> bool:
    """Return whether a fix edits a file of a plan; of all plans, each one does."""
    return plan is None or not candidate.edits.keys().isdisjoint(plan)


def _with(base: Texts, candidates: Iterable[_Candidate]) -> Texts:
    """Return the texts with the edits of all candidates."""
    edits: dict[str, list[Edit]] = {}
    for candidate in candidates:
        for file, new in candidate.edits.items():
            edits.setdefault(file, []).extend(new)
    return {**base, **{file: edited(base[file], new) for file, new in edits.items()}}


def _wanted(result: RunResult, *, unsafe: bool) -> list[tuple[Fix, tuple[Owned, ...]]]:
    """Return the fixes of what fails unwaived, each once, the worst level first."""
    ranked: list[tuple[int, Fix, Owned]] = []
    for plan in result.plans:
        key = plan_key(plan)
        for located in plan.findings:
            finding = located.finding
            if finding.outcome != "fail" or finding.waiver is not None:
                continue
            ranked += [
                (_ORDER[finding.level], fix, Owned(key, finding))
                for fix in _fixes(located, unsafe=unsafe)
            ]
    ranked.sort(key=lambda numbers: numbers[0])
    by_changes: dict[tuple[Change, ...], tuple[Fix, list[Owned]]] = {}
    for _, fix, owned in ranked:
        by_changes.setdefault(fix.changes, (fix, []))[1].append(owned)
    return [(fix, tuple(owned)) for fix, owned in by_changes.values()]


def _fixes(located: LocatedFinding, *, unsafe: bool) -> list[Fix]:
    """Return the fix of a rule; where it gives none, settings that were tried."""
    fix = located.finding.fix
    if fix is not None:
        return [fix] if fix.is_safe or unsafe else []
    if not unsafe or not located.proposals:
        return []
    from speccheck.validator.changes.fixes.edits import proposed_fix  # noqa: PLC0415 - seldom

    result = (proposed_fix(proposal) for proposal in located.proposals)
    return [fix for fix in result if fix is not None][:1]


_BOM = b"\xef\xbb\xbf"
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class NotWritten(Exception):  # noqa: N818 - a usage error with its own message
    """No file was changed; the message says which could not be, and why."""


class _Prepared(Record):
    """A file that is written whole, under another name."""

    temporary: str
    path: str


def refusal_of(
    result: RunResult, name: str, stdin: str | None, *, writes: bool
) -> str | None:
    """Return why a file is not to be edited; None where it may be.

    Args:
        result: what was read.
        name: the file as findings name it.
        stdin: the name of what was read from standard input, if anything was.
        writes: whether the file itself is to be changed.
    """
    if name == stdin:
        return "standard input cannot be written" if writes else None
    status = next((file for file in result.files if file.path == name), None)
    if status is None:
        return f"{name} was not given: name it as well"
    if status.followed:
        return f"{name} is only named by another file: give it as well"
    if status.state != "judged":
        return f"{name} was not judged"
    return _refusal_on_disk(name)


def _refusal_on_disk(name: str) -> str | None:
    target = os.path.realpath(name)
    if os.path.islink(name) or target != os.path.abspath(name):
        folder = os.path.realpath(os.path.dirname(os.path.abspath(name)))
        top = repository_root(folder) or os.path.realpath(os.curdir)
        if os.path.commonpath([top, target]) != top:
            return f"{name} is a link that leads out of {top}"
    try:
        mode = os.stat(target).st_mode
    except OSError as error:
        return f"{name}: {error.strerror}"
    if not mode & _WRITABLE or not os.access(target, os.W_OK):
        return f"{name} is read-only"
    return None


def write_all(texts: Mapping[str, tuple[str, str]]) -> None:
    """Write files: all of them whole under other names, then each in its place.

    Args:
        texts: by path, what was read and what is to be written.

    Raises:
        NotWritten: a file has changed since, or cannot be written; none was.
    """
    with ExitStack() as cleaning:
        prepared: list[_Prepared] = []
        for path, (old, new) in texts.items():
            try:
                prepared.append(_prepare(path, old, new, cleaning))
            except OSError as error:
                raise _not_written(path, error) from error
        for path, (old, _) in texts.items():
            _demand_unchanged(path, old)
        for item in prepared:
            try:
                os.replace(item.temporary, item.path)
            except OSError as error:
                raise _not_written(item.path, error) from error


def _not_written(path: str, error: OSError) -> NotWritten:
    return NotWritten(f"{path}: not fixed, and no other file: {error.strerror}")


def _prepare(path: str, old: str, new: str, cleaning: ExitStack) -> _Prepared:
    """Write the new text beside a file, with its mode and its byte order mark."""
    _demand_unchanged(path, old)
    target = os.path.realpath(path)
    with open(target, "rb") as file:
        mark = _BOM if file.read(len(_BOM)) == _BOM else b""
    folder, base = os.path.split(target)
    temporary = os.path.join(folder, f".{base}.{os.getpid()}.fix")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(temporary, flags, 0o600)
    cleaning.callback(_remove, temporary)
    with open(handle, "wb") as file:
        file.write(mark + new.encode())
        file.flush()
        os.fsync(file.fileno())
    status = os.stat(target)
    with suppress(OSError):  # only root may give a file away
        os.chown(temporary, status.st_uid, status.st_gid)
    os.chmod(temporary, stat.S_IMODE(status.st_mode))
    return _Prepared(temporary, target)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _demand_unchanged(path: str, old: str) -> None:
    try:
        is_same = read_file_text(path) == old
    except ReadError as error:
        message = f"{error}; no file was changed"
        raise NotWritten(message) from error
    if not is_same:
        message = f"{path} changed while it was judged: no file was fixed; run again"
        raise NotWritten(message)
