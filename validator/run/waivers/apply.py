"""Silences failures: which waiver covers which finding, and what may not be silenced.

Findings stay failures. What each waiver covers is kept for the rules that judge
waivers (judged.py), after all plans.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from speccheck.validator.editions.edition import Edition
from speccheck.validator.engine.locate import LocatedFinding, Location
from speccheck.validator.engine.request import FileIgnore, Policy, own_files
from speccheck.validator.engine.rule_index import RuleEntry
from speccheck.validator.engine.waiver_text import (
    KnownNames,
    WrittenWaiver,
    days_left,
    read_comment,
    today,
)
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.finding import Finding, Waiver, may_hold_waivers
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.run.waivers.comment_scan import MOST_COMMENTS
from speccheck.validator.run.waivers.comments import (
    Comment,
    comments_of,
    comments_of_script,
)
from speccheck.validator.run.waivers.entries import (
    Entry,
    InFiles,
    InLines,
    PlanFacts,
)
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.reader import Source

if TYPE_CHECKING:
    from speccheck.validator.run.waivers.baseline import Baseline, BaselineEntry


_NO_COMMENTS = (
    "comments in JSON waive nothing: write an entry of a waivers file and name it with "
    "--waivers (docs/suppressions.md)"
)
_LIVE = ("node", "measurement")
OF_WAIVERS = "waivers"  # the evidence of clauses that judge waivers
_NO_LINES = (0, 0)
_ALL_LINES = (-1, -1)


class Waivers:
    """All waivers of a run, and what each of them has covered so far."""

    def __init__(
        self,
        policy: Policy,
        edition: Edition,
        rules: Sequence[RuleEntry],
        baseline: "Baseline | None" = None,
    ) -> None:
        """Read the files of waivers, the baseline where none is given.

        Raises WaiverFault for what is wrong in them.
        """
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
        self._mandatory = {named.name.lower() for named in policy.mandatory}
        self._areas = {rule.name.lower(): rule.area for rule in rules}
        self._of_waivers = {
            clause.id
            for clause in edition.clauses.values()
            if OF_WAIVERS in clause.evidence
        }
        self._known = KnownNames(
            {rule.name.lower(): rule.clause.lower() for rule in rules},
            frozenset(clause.lower() for clause in edition.clauses),
            frozenset(
                name.lower()
                for rule in rules
                for name in (rule.area, rule.clause.partition("-")[0])
            ),
            {
                name.lower(): tombstone.text
                for name, tombstone in edition.withdrawn.items()
            },
        )
        self._by_name: dict[str, list[int]] = {}
        self._looked_into: set[tuple[str, int]] = set()
        if policy.waivers is not None:
            from speccheck.validator.run.waivers.file import (  # noqa: PLC0415 - seldom
                load_waivers,
            )

            for load_waiver in load_waivers(policy.waivers, self._known):
                left = days_left(load_waiver.waiver.until, self.today)
                self._add(load_waiver._replace(days_left=left))
        for ignore in policy.file_ignores:
            self._add(_of_setting(ignore))
        if baseline is None and policy.baseline is not None:
            from speccheck.validator.run.waivers.baseline import (  # noqa: PLC0415 - seldom
                load_baseline,
            )

            self.baseline = load_baseline(policy.baseline)

    def applied(
        self,
        located_findings: tuple[LocatedFinding, ...],
        files: Sequence[ReadFile],
        sources: Mapping[str, Source],
        evidence: Evidence,
    ) -> tuple[LocatedFinding, ...]:
        """Return the findings of a plan, those that a waiver covers with it."""
        if self._reads_comments:
            self._read_comments(files, sources)
        is_live = any(file.role in _LIVE for file in files)
        plan = PlanFacts(frozenset(sources), _host_of(evidence) if is_live else "")
        self.plans.append(plan)
        waived = [
            self._waived(located_finding, plan)
            if located_finding.finding.outcome == "fail"
            else located_finding
            for located_finding in located_findings
        ]
        if self.baseline is not None:
            first = files[0].status.path
            waived = [*self._by_baseline(self.baseline, waived, sources, first)]
        return tuple(waived)

    def _waived(
        self, located_finding: LocatedFinding, plan: PlanFacts
    ) -> LocatedFinding:
        hits = {
            index
            for name in self.names_of(located_finding.finding)
            for index in self._by_name.get(name, ())
            if self.entries[index].scope.covers(located_finding, plan)
        }
        if self.is_locked(located_finding.finding):
            for index in hits:
                self.locked.setdefault(index, {})[located_finding.finding.clause] = None
            return located_finding
        effective = [index for index in hits if self.entries[index].has_effect]
        self.used.update(effective)
        if not effective:
            return located_finding
        waivers = (self.entries[index].waiver for index in sorted(effective))
        return _with(
            located_finding, min(waivers, key=lambda waiver: _RANK[waiver.kind])
        )

    def _by_baseline(
        self,
        baseline: "Baseline",
        findings: Iterable[LocatedFinding],
        sources: Mapping[str, Source],
        first: str,
    ) -> Iterator[LocatedFinding]:
        """Yield the findings of a plan, those that the baseline lists with it."""
        in_plan: Counter[BaselineEntry] = Counter()
        waiver = Waiver("baseline", Place(baseline.path, ""), "in the baseline")
        for finding in findings:
            if finding.finding.outcome != "fail":
                yield finding
                continue
            known = baseline.of(finding, sources, first)
            if self.is_locked(finding.finding):
                baseline.locked[known] = finding
            else:
                is_waived = finding.finding.waiver is not None
                is_known = baseline.takes(known, in_plan, is_waived=is_waived)
                if is_known and not is_waived:
                    yield _with(finding, waiver)
                    continue
                if not is_known and not is_waived:
                    baseline.new.setdefault(known, []).append(finding)
            yield finding

    def names_of(self, finding: Finding) -> tuple[str, ...]:
        """Return what a waiver or a lock may call a finding: rule, clause, areas."""
        rule, clause = finding.rule.lower(), finding.clause.lower()
        area = self._areas.get(rule, "")
        names = (rule, clause, area, clause.partition("-")[0])
        return tuple(name for name in names if name)

    def is_locked(self, finding: Finding) -> bool:
        """Return whether nothing may silence a finding."""
        if finding.clause in self._of_waivers:
            return True
        return not self._mandatory.isdisjoint(self.names_of(finding))

    def locked_names(self, entry: Entry) -> tuple[str, ...]:
        """Return what an entry names that nothing may silence."""
        return tuple(name for name in entry.names if self._is_locked_name(name))

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
        for number, comment in enumerate(comments):
            if number >= MOST_COMMENTS:
                fault = f"a file may have {MOST_COMMENTS:,} comments that waive"
                fault += "; this one and those below have no effect"
                self._add(
                    self._of_comment(name, comment, WrittenWaiver(faults=(fault,)))
                )
                return
            written = read_comment(comment.says, self._known)
            if written is not None and comment.is_foreign:
                written = WrittenWaiver(faults=(_NO_COMMENTS,))
            if written is not None:
                self._add(self._of_comment(name, comment, written))

    def _of_comment(self, name: str, comment: Comment, written: WrittenWaiver) -> Entry:
        span = Span(comment.line, comment.column, comment.length)
        word = "ignore-file" if written.is_of_file else "ignore"
        place = Place(name, f"# speccheck: {word}", span=span)
        self.locations[place] = Location(
            name,
            place.key,
            comment.line,
            comment.column,
            comment.length,
            comment.text_of_line,
        )
        faults = written.faults
        meant = _ALL_LINES if written.is_of_file else (comment.first, comment.last)
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


def _host_of(evidence: Evidence) -> str:
    """Return what the machine of a plan calls itself; empty for none."""
    from speccheck.validator.evidence.node.host import Host  # noqa: PLC0415 - seldom

    host = evidence.get(Host)
    return (host.name.value or "") if host is not None else ""


def _with(located_finding: LocatedFinding, waiver: Waiver) -> LocatedFinding:
    return located_finding._replace(
        finding=located_finding.finding._replace(waiver=waiver)
    )


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
