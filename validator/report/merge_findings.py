"""The same fault in forty plans is one finding with forty places."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.finding import Finding, Waiver
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.style import Style, printable, wrap
from speccheck.validator.report.wording import folded_subjects
from speccheck.validator.run.judging import JudgedPlan

if TYPE_CHECKING:
    from speccheck.validator.evidence.finding import Proposal


class Shown(Record):
    """A finding as a reader meets it: once, with all its places.

    subjects: the parts of a node of which it is said.
    snapshots: the files of its plan that nobody wrote by hand.
    effects: what it explains, which is shown below it.
    """

    finding: Finding
    locations: tuple[Location, ...]
    plan_name: str
    plans: int
    repeats: int  # plans without a place of their own that say the same
    proposals: "tuple[Proposal, ...] | None" = ()
    subjects: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()
    effects: "tuple[Shown, ...]" = ()

    @property
    def gravest(self) -> str:
        """The highest level of it and of what it explains."""
        levels = (self.finding.level, *(item.finding.level for item in self.effects))
        return min(levels, key=_ORDER.__getitem__)


def shown_findings(plans: Iterable[JudgedPlan]) -> list[Shown]:
    """Return the failed and broken findings, equal ones joined over plans."""
    return _joined(plans, waived=False)


def waived_findings(plans: Iterable[JudgedPlan]) -> list[Shown]:
    """Return failures that somebody silenced: a reader sees them, and by whose word."""
    return _joined(plans, waived=True)


def _joined(plans: Iterable[JudgedPlan], *, waived: bool) -> list[Shown]:
    joined: dict[tuple[object, ...], Shown] = {}
    for plan in plans:
        snapshots = tuple(file.path for file in plan.files if file.format == "snapshot")
        for located in plan.findings:
            finding = located.finding
            if finding.outcome not in {"fail", "error"}:
                continue
            if (finding.waiver is not None) is not waived:
                continue
            of_rule = (finding.clause, finding.rule, finding.edition)
            key = (*of_rule, finding.message, finding.waiver)
            known = joined.get(key)
            if known is None:
                name = plan.files[0].path
                joined[key] = Shown(
                    finding,
                    located.locations,
                    name,
                    1,
                    0,
                    located.proposals,
                    (finding.subject,) if finding.subject else (),
                    snapshots,
                )
            elif finding.subject:
                joined[key] = _with_subject(known, finding, located.locations)
            else:
                joined[key] = _with(known, located.locations)
    return list(joined.values())


def _with_subject(
    known: Shown, finding: Finding, locations: tuple[Location, ...]
) -> Shown:
    return known._replace(
        locations=known.locations + locations,
        subjects=(*known.subjects, finding.subject),
    )


def _with(known: Shown, locations: tuple[Location, ...]) -> Shown:
    framed = tuple(location for location in locations if location.line)
    return known._replace(
        locations=known.locations + framed,
        plans=known.plans + 1,
        repeats=known.repeats + (not framed),
    )


_ORDER = {"error": 0, "warning": 1, "info": 2}
_MOST_LINES = 10
WAIVED_BY = {
    "comment": "by a comment",
    "waiver": "by the waivers file",
    "baseline": "by the baseline",
    "setting": "by per-file-ignores",
}


def waived_lines(
    plans: Iterable[JudgedPlan], style: Style, *, full: bool
) -> Iterator[str]:
    """Yield a folded line for each waived failure.

    Beyond a screen, how many by what.
    """
    showns = sorted_waived(plans)
    shown = showns if full else showns[:_MOST_LINES]
    for item in shown:
        finding = item.finding
        head = f"waived {finding.level} {finding.clause} {finding.rule}  {place(item)}"
        words = waiver_words(finding.waiver) if finding.waiver else ""
        line = f"{head}  {words}"
        if len(line) > style.width:
            line = f"{head}\n{wrap(words, style.width, ' ' * 4)}"
        yield style.paint("waived", "dim") + line.removeprefix("waived")
    rest = showns[len(shown) :]
    if rest:
        kinds = [shown.finding.waiver.kind for shown in rest if shown.finding.waiver]
        by = [
            f"{kinds.count(kind):,} {words}"
            for kind, words in WAIVED_BY.items()
            if kind in kinds
        ]
        yield f"{len(rest):,} more waived: {', '.join(by)} (--full)"


def sorted_waived(plans: Iterable[JudgedPlan]) -> list[Shown]:
    """Return the waived failures as they are shown, those that weigh most first."""
    return sorted(
        waived_findings(plans),
        key=lambda waived_finding: _ORDER[waived_finding.finding.level],
    )


def place(shown: Shown) -> str:
    """Return where a failure stands: file and line, or a machine's part."""
    if shown.subjects:
        return folded_subjects(shown.subjects)
    framed = [f"{at.file}:{at.line}" for at in shown.locations if at.line]
    if not framed:
        return shown.plan_name
    more = f" and {len(framed) - 1:,} more places" if shown.plans > 1 else ""
    return framed[0] + more


def waiver_words(waiver: Waiver) -> str:
    """Return `the reason (until 2027-01-31, owner, ticket)`.

    Else what it is waived by.
    """
    facts = [f"until {waiver.until}"] if waiver.until else []
    facts += [text for text in (waiver.owner, waiver.ticket) if text]
    words = waiver.reason or WAIVED_BY[waiver.kind]
    if facts:
        words += f" ({', '.join(facts)})"
    return printable(hidden(words))
