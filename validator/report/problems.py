"""What goes wrong, as other programs are told of it: each fault once.

The text report joins what reads alike. A program wants a fault for each place that has
to be changed, and none of them twice, though forty plans share the file.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from speccheck.validator.engine.locate import LocatedFinding, Location
from speccheck.validator.engine.paths import project_root
from speccheck.validator.evidence.finding import Finding, Level, Waiver
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.style import counted, printable
from speccheck.validator.report.verdict import counts, is_bad_input
from speccheck.validator.report.wording import with_numbers
from speccheck.validator.run.identity import identified, seen_from
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import RunResult
from speccheck.validator.sources.context import COMMAND_LINE
from speccheck.validator.sources.files import FileStatus

if TYPE_CHECKING:
    from speccheck.validator.evidence.finding import PlacedEdit

ORDER = {"error": 0, "warning": 1, "info": 2}
_SNAPSHOT = "snapshot"
MOST_PLACES = 20  # that a text names beside the first


class Problem(Record):
    """A failure, or a rule that broke, at one place.

    file: where it is shown, as the user called it. path: the same, as seen from the
    root of the project. at: its line; None for a whole file, and for a snapshot, which
    nobody wrote. others: the other places. plans: how many say so. edits: that mend it
    and change nothing of what the model learns.
    """

    finding: Finding
    fingerprint: str
    file: str
    path: str
    at: Location | None
    others: tuple[Location, ...]
    key: str = ""
    plans: int = 1
    edits: "tuple[PlacedEdit, ...]" = ()

    @property
    def is_broken(self) -> bool:
        """Whether the rule broke, so that nothing is known of the files."""
        return self.finding.outcome == "error"

    @property
    def level(self) -> Level:
        """What it weighs: a rule that broke as much as any error."""
        return "error" if self.is_broken else self.finding.level

    @property
    def waiver(self) -> Waiver | None:
        """Who silenced it."""
        return self.finding.waiver

    @property
    def name(self) -> str:
        """The rule, or the clause that was decided without one."""
        return self.finding.rule or self.finding.clause


def problems(run: RunResult) -> list[Problem]:
    """Return every fault of a run once, the worst first; silenced ones last."""
    root = project_root()
    known: dict[str, Problem] = {}
    for plan in run.plans:
        for located, identity in identified(plan, root):
            fingerprint = identity.fingerprint
            before = known.get(fingerprint)
            if before is None:
                known[fingerprint] = _problem(located, plan, root, fingerprint)
                continue
            if _weight(located.finding) < _weight(before.finding):
                worse = _problem(located, plan, root, fingerprint)
                known[fingerprint] = worse._replace(plans=before.plans + 1)
            else:
                known[fingerprint] = before._replace(plans=before.plans + 1)
    return sorted(known.values(), key=_rank)


def _problem(
    located: LocatedFinding, plan: JudgedPlan, root: str, fingerprint: str
) -> Problem:
    taken = {file.path for file in plan.files if file.format == _SNAPSHOT}
    places = [place for place in located.locations if place.file]
    in_files = list(filter(is_in_file, places))
    written = [place for place in in_files if place.file not in taken]
    shown = next((place for place in written if place.line), None)
    first = shown or next(iter(in_files), None)
    file = first.file if first else plan.files[0].path
    fix = located.finding.fix
    others = dict.fromkeys(
        place._replace(line=0) if place.file in taken else place
        for place in places
        if place is not first
    )
    return Problem(
        located.finding,
        fingerprint,
        file,
        seen_from(file, root),
        shown,
        tuple(others),
        first.key if first else "",
        edits=located.edits if fix is not None and fix.is_safe else (),
    )


def is_in_file(place: Location) -> bool:
    """Return whether a place is in a file; a fact of the job may be an option."""
    return bool(place.file) and place.file != COMMAND_LINE


def _weight(finding: Finding) -> tuple[bool, bool, int]:
    is_broken = finding.outcome == "error"
    return finding.waiver is not None, not is_broken, ORDER[finding.level]


def _rank(problem: Problem) -> tuple[object, ...]:
    at = (problem.at.line, problem.at.column) if problem.at else (0, 0)
    return (
        *_weight(problem.finding),
        problem.path,
        *at,
        problem.name,
        problem.finding.subject,
    )


def unread_files(context: ReportContext) -> list[FileStatus]:
    """Return the files that should have been judged and could not be."""
    return [
        file
        for file in context.run.files
        if is_bad_input(file.state, named=file.named)
        and not (context.skips_unknown and file.state == "unrecognised")
    ]


def clean(text: str) -> str:
    """Return a text for a report: without control characters and credentials."""
    return printable(hidden(text))


def statement(problem: Problem) -> str:
    """Return what is wrong and what is required, in a line."""
    subject = problem.finding.subject
    text = (
        f"{subject}: {problem.finding.message}" if subject else problem.finding.message
    )
    broken = "the rule broke, a bug of speccheck: " if problem.is_broken else ""
    edition = problem.finding.edition
    return clean((f"edition {edition}: " if edition else "") + broken + text)


def advice(finding: Finding) -> Iterator[str]:
    """Yield what it costs and how to mend it, a line each."""
    for label, text in (
        ("cost", finding.cost),
        ("do", finding.action or ""),
        ("fix", with_numbers(finding.remedy, (finding.subject,))),
        ("note", finding.note),
    ):
        if text:
            yield f"{label}: {clean(text)}"


def elsewhere(problem: Problem) -> Iterator[str]:
    """Yield the other places, and how many plans say the same, a line each."""
    names = [clean(place_name(place)) for place in problem.others[:MOST_PLACES]]
    more = len(problem.others) - MOST_PLACES
    if more > 0:
        names.append(f"{more:,} more places")
    if names:
        yield f"also at: {', '.join(names)}"
    if problem.plans > 1:
        yield f"the same in {problem.plans:,} plans"


def in_short(problem: Problem) -> str:
    """Return the clause, what is wrong and how to mend it, in a line."""
    remedy = with_numbers(problem.finding.remedy, (problem.finding.subject,))
    text = f"{problem.finding.clause} {statement(problem)}"
    return f"{text} Fix: {clean(remedy)}" if remedy else text


def place_name(place: Location) -> str:
    """Return `train.yaml:12 learning_rate`."""
    line = f":{place.line}" if place.line else ""
    return f"{place.file}{line} {place.key}".rstrip()


def waiver_text(waiver: Waiver) -> str:
    """Return why something is silenced, by whom and until when."""
    parts = [
        waiver.reason or "no reason given",
        *(
            f"{label} {text}"
            for label, text in (
                ("until", waiver.until),
                ("owner", waiver.owner),
                ("ticket", waiver.ticket),
            )
            if text
        ),
    ]
    return clean(", ".join(parts))


def totals(context: ReportContext, result: Iterable[Problem]) -> str:
    """Return the verdict and how many places there are of each level, in a line."""
    numbers = dict.fromkeys((*ORDER, "waived"), 0)
    for problem in result:
        numbers["waived" if problem.waiver else problem.level] += 1
    unread = len(unread_files(context))
    parts = [f"{counted(unread, 'file')} not read"] if unread else []
    parts += [counted(numbers[level], level) for level in ("error", "warning")]
    parts.append(f"{numbers['info']:,} info")
    if numbers["waived"]:
        parts.append(f"{numbers['waived']:,} waived")
    ending = context.ending
    word = f"{ending.word}: " if ending.word else ""
    why = f"; {ending.why}" if ending.why else ""
    # What fails is counted by plans there, and here by places.
    counted_by_plans, by_places = counts(context.summary), ", ".join(parts)
    said = [by_places if part == counted_by_plans else part for part in ending.parts]
    if by_places not in said:
        said.append(by_places)
    return clean(f"{word}{'; '.join(said)}{why}")
