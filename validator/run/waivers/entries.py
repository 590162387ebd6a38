"""Waivers as entries: what each names, and which findings it covers."""

from speccheck.validator.engine.locate import LocatedFinding, Location
from speccheck.validator.engine.paths import matches, path_within
from speccheck.validator.evidence.finding import Waiver
from speccheck.validator.evidence.record import Record


class PlanFacts(Record):
    """What waivers ask of a plan: its files, also inherited ones, and its machine."""

    files: frozenset[str]
    host: str = ""

    def places(self, located_finding: LocatedFinding) -> list[Location]:
        """Return the places of a finding in these files: an option has none there."""
        return [
            place for place in located_finding.locations if place.file in self.files
        ]


class InLines(Record):
    """The lines of a file that a comment means; both 0: none, -1: all of them."""

    file: str
    first: int
    last: int

    @property
    def is_file(self) -> bool:
        """Whether the whole file is meant."""
        return self.first < 0

    def covers(self, located_finding: LocatedFinding, plan: PlanFacts) -> bool:
        """Return whether one of the places of a finding lies here."""
        places = plan.places(located_finding)
        if not places:
            return self.is_file and self.file in plan.files
        return any(map(self._holds, places))

    def _holds(self, place: Location) -> bool:
        if place.file != self.file:
            return False
        return self.is_file or 0 < self.first <= place.line <= self.last

    def concerns(self, plan: PlanFacts) -> bool:
        """Return whether its file is one of a plan."""
        return self.file in plan.files


class InFiles(Record):
    """Patterns, all of which must fit; an empty tuple fits anything.

    folder: that patterns of files are relative to. hosts: names of machines.
    """

    folder: str
    files: tuple[str, ...] = ()
    hosts: frozenset[str] | None = None
    host_patterns: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()

    @property
    def is_of_nodes(self) -> bool:
        """Whether it names machines."""
        return self.hosts is not None

    def covers(self, located_finding: LocatedFinding, plan: PlanFacts) -> bool:
        """Return whether an entry means a finding's files, its machine and its part."""
        if not self._has_host(plan.host):
            return False
        subject = located_finding.finding.subject.lower()
        if self.subjects and not any(_fits(text, subject) for text in self.subjects):
            return False
        files = {place.file for place in plan.places(located_finding)} or plan.files
        return not self.files or any(map(self.has_file, files))

    def concerns(self, plan: PlanFacts) -> bool:
        """Return whether a file of a plan and its machine are meant."""
        if not self._has_host(plan.host):
            return False
        return not self.files or any(map(self.has_file, plan.files))

    def has_file(self, path: str) -> bool:
        """Return whether a pattern means a file."""
        inside = path_within(path, self.folder)
        return inside is not None and any(matches(file, inside) for file in self.files)

    def _has_host(self, host: str) -> bool:
        if self.hosts is None:
            return True
        small = host.lower()
        return bool(small) and (
            small in self.hosts
            or any(_fits(host_pattern, small) for host_pattern in self.host_patterns)
        )


def _fits(pattern: str, name: str) -> bool:
    return matches(pattern.replace("/", "?"), name.replace("/", "?"))


Scope = InLines | InFiles


class Entry(Record):
    """A waiver, what it names and what it covers.

    title: what messages call it. areas: whether its names may be areas, too. faults:
    what cannot be understood of it. days_left: up to its last day.
    """

    waiver: Waiver
    title: str
    names: tuple[str, ...]
    scope: Scope
    faults: tuple[str, ...] = ()
    days_left: int | None = None

    @property
    def has_effect(self) -> bool:
        """Whether it may silence anything: for a reason, and not any more."""
        is_over = self.days_left is not None and self.days_left < 0
        has_date_fault = any("until=" in fault for fault in self.faults)
        return bool(self.waiver.reason) and not is_over and not has_date_fault
