"""What was found on nodes, each finding once with the nodes that have it."""

from array import array
from collections.abc import Iterator

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.distributions import moved

# Of one rule: findings that differ on each node are kept as so many, the others as the
# nodes that have them. A report shows a handful, and memory stays flat.
MOST_KEPT = 1000
_Key = tuple[str, str]  # rule, or clause without one; outcome


class FoundOnNodes(Record):
    """A finding with the numbers of its nodes."""

    finding: Finding
    nodes: "array[int]"


class Found:
    """Findings of nodes that neither pass nor do not apply."""

    def __init__(self) -> None:
        """Begin with none."""
        self.kept: dict[_Key, dict[Finding, array[int]]] = {}
        self.more: dict[_Key, array[int]] = {}

    def note(self, finding: Finding, number: int) -> None:
        """Keep a finding of a node."""
        key = finding.rule or finding.clause, finding.outcome
        kept = self.kept.get(key)
        if kept is None:
            kept = self.kept[key] = {}
        numbers = kept.get(finding)
        if numbers is None:
            if len(kept) >= MOST_KEPT:
                self.more.setdefault(key, array("I")).append(number)
                return
            numbers = kept[finding] = array("I")
        numbers.append(number)

    def take(self, other: "Found", base: int) -> None:
        """Add those of other nodes, whose numbers follow `base`."""
        for key, findings in other.kept.items():
            kept = self.kept.setdefault(key, {})
            for finding, numbers in findings.items():
                if finding in kept or len(kept) < MOST_KEPT:
                    kept.setdefault(finding, array("I")).extend(moved(numbers, base))
                else:
                    self._add_more(key, moved(numbers, base))
        for key, numbers in other.more.items():
            self._add_more(key, moved(numbers, base))

    def _add_more(self, key: _Key, numbers: "array[int]") -> None:
        self.more.setdefault(key, array("I")).extend(numbers)

    def each(self) -> Iterator[FoundOnNodes]:
        """Each finding with its nodes."""
        for findings in self.kept.values():
            for finding, nodes in findings.items():
                yield FoundOnNodes(finding, nodes)
