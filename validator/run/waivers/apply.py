"""Silences failures: which waiver covers which finding, and what may not be silenced.

Findings stay failures. What came of each waiver is kept for the rules that judge
waivers (told.py), after all plans.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from speccheck.validator.editions.edition import Edition
from speccheck.validator.engine.dates import days_left, today
from speccheck.validator.engine.locate import LocatedFinding, Location
from speccheck.validator.engine.policy import FileIgnore, own_files
from speccheck.validator.engine.request import Request
from speccheck.validator.engine.rule_index import RuleEntry
from speccheck.validator.engine.waiver_text import KnownNames, Written, read_comment
from speccheck.validator.evidence.finding import Waiver, may_hold_waivers
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.run.waivers.comment import (
    Comment,
    comments_of,
    comments_of_script,
)
from speccheck.validator.run.waivers.entry import Entry, InFiles, InLines, PlanFacts
from speccheck.validator.run.waivers.scan import MOST_COMMENTS
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.reader import Source

if TYPE_CHECKING:
    from speccheck.validator.run.waivers.baseline import Baseline, Known

_NO_COMMENTS = (
    "comments in JSON waive nothing: write an entry of a waivers file and name it with "
    "--waivers (docs/suppressions.md)"
)
_LIVE = ("node", "measurement")
OF_WAIVERS = "waivers"  # the evidence of clauses that judge waivers
_NO_LINES = (0, 0)
_ALL_LINES = (-1, -1)


class _Named(Protocol):
    @property
    def rule(self) -> str: ...
    @property
    def clause(self) -> str: ...


class Silence:
    """All waivers of a run, and what came of them so far."""

    def __init__(
        self,
        request: Request,
        edition: Edition,
        rules: Sequence[RuleEntry],
        baseline: "Baseline | None" = None,
    ) -> None:
        """Read the files of waivers, the baseline where none is given.

        Raises WaiverFault for what is wrong in them.
        """
        policy = request.policy
        self.today = today()
        self.entries: list[Entry] = []
        self.used: set[int] = set()
        self.locked: dict[int, dict[str, None]] = {}
        self.plans: list[PlanFacts] = []
        self.locations: dict[Place, Location] = {}
        self.baseline = baseline
        if baseline is not None:
            policy = policy._replace(baseline=baseline.path)
        self.own_files = own_files(policy)
        self._reads_comments = policy.inline_ignores
        self._mandatory = {one.name.lower() for one in policy.mandatory}
        self._areas = {rule.name.lower(): rule.area for rule in rules}
        self._of_waivers = {
            one.id for one in edition.clauses.values() if OF_WAIVERS in one.evidence
        }
        self._known = KnownNames(
            {rule.name.lower(): rule.clause.lower() for rule in rules},
            frozenset(one.lower() for one in edition.clauses),
            frozenset(
                name.lower()
                for rule in rules
                for name in (rule.area, rule.clause.partition("-")[0])
            ),
            {name.lower(): one.text for name, one in edition.withdrawn.items()},
        )
        self._by_name: dict[str, list[int]] = {}
        self._looked_into: set[tuple[str, int]] = set()
        if policy.waivers is not None:
            from speccheck.validator.run.waivers.file import (  # noqa: PLC0415 - seldom
                load_waivers,
            )

            for one in load_waivers(policy.waivers, self._known):
                left = days_left(one.waiver.until, self.today)
                self._add(one._replace(days_left=left))
        for ignore in policy.file_ignores:
            self._add(_of_setting(ignore))
        if baseline is None and policy.baseline is not None:
            from speccheck.validator.run.waivers.baseline import (  # noqa: PLC0415 - seldom
                load_baseline,
            )

            self.baseline = load_baseline(policy.baseline)

    def applied(
        self,
        found: tuple[LocatedFinding, ...],
        files: Sequence[ReadFile],
        sources: Mapping[str, Source],
        evidence: Mapping[type, object],
    ) -> tuple[LocatedFinding, ...]:
        """The findings of a plan, those that a waiver covers with it."""
        if self._reads_comments:
            self._read_comments(files, sources)
        is_live = any(file.role in _LIVE for file in files)
        plan = PlanFacts(frozenset(sources), _host_of(evidence) if is_live else "")
        self.plans.append(plan)
        waived = [
            self._waived(one, plan) if one.finding.outcome == "fail" else one
            for one in found
        ]
        if self.baseline is not None:
            first = files[0].status.path
            waived = [*self._by_baseline(self.baseline, waived, sources, first)]
        return tuple(waived)

    def _waived(self, found: LocatedFinding, plan: PlanFacts) -> LocatedFinding:
        hits = {
            index
            for name in self.names_of(found.finding)
            for index in self._by_name.get(name, ())
            if self.entries[index].scope.covers(found, plan)
        }
        if self.is_locked(found.finding):
            for index in hits:
                self.locked.setdefault(index, {})[found.finding.clause] = None
            return found
        effective = [index for index in hits if self.entries[index].has_effect]
        self.used.update(effective)
        if not effective:
            return found
        waivers = (self.entries[index].waiver for index in sorted(effective))
        return _with(found, min(waivers, key=lambda one: _RANK[one.kind]))

    def _by_baseline(
        self,
        baseline: "Baseline",
        findings: Iterable[LocatedFinding],
        sources: Mapping[str, Source],
        first: str,
    ) -> Iterator[LocatedFinding]:
        """The findings of a plan, those that the baseline lists with it."""
        in_plan: Counter[Known] = Counter()
        waiver = Waiver("baseline", Place(baseline.path, ""), "in the baseline")
        for one in findings:
            if one.finding.outcome != "fail":
                yield one
                continue
            known = baseline.of(one, sources, first)
            if self.is_locked(one.finding):
                baseline.locked[known] = one
            else:
                is_waived = one.finding.waiver is not None
                is_known = baseline.takes(known, in_plan, is_waived=is_waived)
                if is_known and not is_waived:
                    yield _with(one, waiver)
                    continue
                if not is_known and not is_waived:
                    baseline.new.setdefault(known, []).append(one)
            yield one

    def names_of(self, finding: _Named) -> tuple[str, ...]:
        """What a waiver or a lock may call a finding: rule, clause, areas."""
        rule, clause = finding.rule.lower(), finding.clause.lower()
        area = self._areas.get(rule, "")
        names = (rule, clause, area, clause.partition("-")[0])
        return tuple(name for name in names if name)

    def is_locked(self, finding: _Named) -> bool:
        """Whether nothing may silence a finding."""
        if finding.clause in self._of_waivers:
            return True
        return not self._mandatory.isdisjoint(self.names_of(finding))

    def locked_names(self, entry: Entry) -> tuple[str, ...]:
        """What an entry names that nothing may silence, whatever was found."""
        return tuple(one for one in entry.names if self._is_locked_name(one))

    def _is_locked_name(self, name: str) -> bool:
        clause = self._known.rules.get(name, name).upper()
        known = {name, clause.lower(), clause.partition("-")[0].lower()}
        known.add(self._areas.get(name, ""))
        return clause in self._of_waivers or not self._mandatory.isdisjoint(known)

    def _add(self, entry: Entry) -> None:
        for name in entry.names:
            self._by_name.setdefault(name, []).append(len(self.entries))
        self.entries.append(entry)

    def _read_comments(
        self, files: Sequence[ReadFile], sources: Mapping[str, Source]
    ) -> None:
        """Read those of the files, each once in a run, and of scripts in them."""
        live = {file.source.name for file in files if file.role in _LIVE}
        for name, source in sources.items():
            if name not in live and self._is_new(name, source.text):
                self._take(name, comments_of(source))
        for file in files:
            for reading in file.readings:
                for script in reading.scripts:
                    if self._is_new(script.name, script.text, script=True):
                        text = file.source.text
                        self._take(script.name, comments_of_script(script, text))

    def _is_new(self, name: str, text: str, *, script: bool = False) -> bool:
        if not may_hold_waivers(text):
            return False
        key = (name, hash(text) if script else 0)
        is_new = key not in self._looked_into
        self._looked_into.add(key)
        return is_new

    def _take(self, name: str, comments: Iterable[Comment]) -> None:
        for number, one in enumerate(comments):
            if number >= MOST_COMMENTS:
                fault = f"a file may have {MOST_COMMENTS:,} comments that waive"
                fault += "; this one and those below have no effect"
                self._add(self._of_comment(name, one, Written(faults=(fault,))))
                return
            written = read_comment(one.says, self._known)
            if written is not None and one.is_foreign:
                written = Written(faults=(_NO_COMMENTS,))
            if written is not None:
                self._add(self._of_comment(name, one, written))

    def _of_comment(self, name: str, one: Comment, written: Written) -> Entry:
        span = Span(one.line, one.column, one.length)
        word = "ignore-file" if written.is_of_file else "ignore"
        place = Place(name, f"# speccheck: {word}", span=span)
        self.locations[place] = Location(
            name, place.key, one.line, one.column, one.length, one.text_of_line
        )
        faults = written.faults
        meant = _ALL_LINES if written.is_of_file else (one.first, one.last)
        if meant == _NO_LINES and not faults:
            faults = ("nothing follows it: write it beside a setting or above one",)
        waiver = Waiver(
            "comment",
            place,
            written.reason,
            written.until,
            written.owner,
            written.ticket,
        )
        return Entry(
            waiver,
            "the comment",
            written.names,
            InLines(name, *meant),
            faults,
            days_left(written.until, self.today),
        )


def _host_of(evidence: Mapping[type, object]) -> str:
    """What the machine of a plan calls itself; empty for none."""
    from speccheck.validator.evidence.node.host import Host  # noqa: PLC0415 - seldom

    host = evidence.get(Host)
    return (host.name.value or "") if isinstance(host, Host) else ""


def _with(found: LocatedFinding, waiver: Waiver) -> LocatedFinding:
    return found._replace(finding=found.finding._replace(waiver=waiver))


_RANK = {"comment": 0, "waiver": 1, "setting": 2, "baseline": 3}


def _of_setting(ignore: FileIgnore) -> Entry:
    file = ignore.place.file
    waiver = Waiver("setting", ignore.place, f"per-file-ignores in {file}")
    return Entry(
        waiver,
        f"{ignore.pattern} of per-file-ignores",
        tuple(name.lower() for name in ignore.names),
        InFiles(ignore.folder, (ignore.pattern,)),
    )
