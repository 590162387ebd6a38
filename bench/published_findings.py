"""What the rules say of published configurations: the facts of docs/calibration.md.

Published files are no part of the project: they lie in a folder beside the checkout,
whose MANIFEST.tsv says of each from which repository and path it is. They are named by
these alone. What a person made of each error is in docs/calibration/judged.yaml.
"""

import csv
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.request import Request
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import run

_FOLDER = Path(__file__).resolve().parents[1] / "docs" / "calibration"
JUDGED = _FOLDER / "judged.yaml"
FIRST_CONTACT = _FOLDER / "first_contact.yaml"
MANIFEST = "MANIFEST.tsv"
_WORST_FIRST = ("error", "fail", "unknown", "pass", "not_applicable")


class PublishedFile(NamedTuple):
    """A file by its public name; sha1: of its content."""

    repository: str
    path: str
    sha1: str


class ErrorFinding(NamedTuple):
    """An error-level finding: the file, the rule, and the key that it points at."""

    file: PublishedFile
    rule: str
    place: str


class Verdict(NamedTuple):
    """What a person who read the file says of an error: true or false, and why."""

    is_true: bool
    reason: str


class Judged(NamedTuple):
    """docs/calibration/judged.yaml.

    errors: verdicts on error-level findings. frequent: why a rule may warn often.
    """

    errors: Mapping[ErrorFinding, Verdict]
    frequent: Mapping[str, str]


class RuleTally(NamedTuple):
    """How many plans a rule judges, by the worst that it says of each.

    levels: the levels that its failures weigh, or would weigh; none where the clause
    applies to no plan.
    """

    rule: str
    passed: int = 0
    failed: int = 0
    unknown: int = 0
    levels: tuple[str, ...] = ()

    @property
    def judged(self) -> int:
        """Plans that it passes or fails."""
        return self.passed + self.failed

    @property
    def share_failed(self) -> float:
        """Failures among the plans that it judges; 0 where it judges none."""
        return self.failed / self.judged if self.judged else 0.0


class FormatTally(NamedTuple):
    """On how many plans of a format a rule gives a warning."""

    rule: str
    format: str
    plans: int
    warned: int

    @property
    def share(self) -> float:
        """Of all plans of the format, whether the rule judges them or not."""
        return self.warned / self.plans


class JudgedFindings(NamedTuple):
    """Findings of one rule in a draw, and what a person says of them."""

    level: str
    rule: str
    number: int
    verdict: str
    reason: str


class Draw(NamedTuple):
    """Files that nobody had opened before, judged once."""

    name: str
    files: int
    recognised: int
    repositories: tuple[tuple[str, str], ...]
    findings: tuple[JudgedFindings, ...]

    def number_of(self, level: str, verdict: str = "") -> int:
        """Return how many findings of a level there are, with a verdict or any."""
        return sum(
            row.number
            for row in self.findings
            if row.level == level and verdict in {"", row.verdict}
        )


class Findings(NamedTuple):
    """The results of the published files; tallies: of every rule, by area and name."""

    files: tuple[PublishedFile, ...]
    plans: int
    tallies: tuple[RuleTally, ...]
    errors: tuple[ErrorFinding, ...]
    by_format: tuple[FormatTally, ...] = ()

    @property
    def digest(self) -> str:
        """Which files they are: equal for equal names and contents."""
        text = "\n".join("\t".join(file) for file in sorted(self.files))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def published_findings(folder: Path) -> Findings:
    """Judge each published file of a folder alone, in the default profile."""
    names = public_names(folder)
    judged = run(Request(arguments=(str(folder),), each=True, full=True))
    plans = [plan for plan in judged.plans if Path(plan.files[0].path) in names]
    outcomes: dict[str, list[str]] = {}
    levels: dict[str, dict[str, set[str]]] = {}
    errors: list[ErrorFinding] = []
    for plan in plans:
        for rule, outcome in _worst(plan).items():
            outcomes.setdefault(rule, []).append(outcome)
        for located in plan.findings:
            finding = located.finding
            by_outcome = levels.setdefault(finding.rule, {})
            by_outcome.setdefault(finding.outcome, set()).add(finding.level)
            if finding.outcome == "fail" and finding.level == "error":
                file = names[Path(plan.files[0].path)]
                errors.append(ErrorFinding(file, finding.rule, _place(located)))
    tallies = tuple(
        _tally(entry.name, outcomes[entry.name], levels[entry.name])
        if entry.name in outcomes
        else RuleTally(entry.name)
        for entry in rule_entries()
    )
    return Findings(
        tuple(sorted(names.values())),
        len(plans),
        tallies,
        tuple(sorted(errors)),
        _by_format(plans),
    )


def _by_format(plans: Iterable[JudgedPlan]) -> tuple[FormatTally, ...]:
    """Count the plans of each format that a rule warns about, the most first."""
    sizes: Counter[str] = Counter()
    warned: Counter[tuple[str, str]] = Counter()
    for plan in plans:
        name = plan.files[0].format or ""
        sizes[name] += 1
        rules = {
            located.finding.rule
            for located in plan.findings
            if located.finding.outcome == "fail" and located.finding.level == "warning"
        }
        warned.update((rule, name) for rule in rules)
    tallies = (
        FormatTally(rule, name, sizes[name], count)
        for (rule, name), count in warned.items()
    )
    return tuple(sorted(tallies, key=lambda row: (-row.share, row.rule, row.format)))


def public_names(folder: Path) -> dict[Path, PublishedFile]:
    """Return the files of a folder whose content is the one that its manifest names."""
    result: dict[Path, PublishedFile] = {}
    with (folder / MANIFEST).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            path = folder / row["label"] / row["file"]
            digest = hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
            if digest == row["sha1"]:
                result[path] = PublishedFile(row["repository"], row["path"], digest)
    return result


def read_judged(path: Path = JUDGED) -> Judged:
    """Return the verdicts of people; raises KeyError or TypeError for another form."""
    data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    errors = {}
    for row in data["errors"]:
        file = PublishedFile(row["repository"], row["path"], row["sha1"])
        finding = ErrorFinding(file, row["rule"], row["place"])
        errors[finding] = Verdict(row["verdict"], row["reason"])
    return Judged(errors, data["frequent"])


def read_first_contact(path: Path = FIRST_CONTACT) -> tuple[Draw, ...]:
    """Return the draws, oldest first; raises KeyError or TypeError for another form."""
    data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(
        Draw(
            draw["name"],
            draw["files"],
            draw["recognised"],
            tuple((row["repository"], row["commit"]) for row in draw["repositories"]),
            tuple(JudgedFindings(**row) for row in draw["findings"]),
        )
        for draw in data["draws"]
    )


def _worst(plan: JudgedPlan) -> dict[str, str]:
    """Return the worst outcome of each rule."""
    result: dict[str, str] = {}
    for located in plan.findings:
        finding = located.finding
        known = result.get(finding.rule, "not_applicable")
        result[finding.rule] = min(known, finding.outcome, key=_WORST_FIRST.index)
    result.pop("", None)  # of clauses that no rule was asked about
    return result


def _tally(
    rule: str, outcomes: Iterable[str], levels: Mapping[str, set[str]]
) -> RuleTally:
    counts = Counter(outcomes)
    if counts["error"]:
        message = f"{rule} broke on {counts['error']} published files"
        raise RuntimeError(message)
    shown = levels.get("fail") or set().union(*levels.values())
    return RuleTally(
        rule, counts["pass"], counts["fail"], counts["unknown"], tuple(sorted(shown))
    )


def _place(located: LocatedFinding) -> str:
    return located.locations[0].key if located.locations else ""
