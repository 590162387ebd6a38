"""What is waived, a line each: it fails, and somebody took that upon himself."""

from collections.abc import Iterable, Iterator

from speccheck.validator.evidence.finding import Waiver
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.merge_findings import Shown, waived_findings
from speccheck.validator.report.style import Style, printable, wrap
from speccheck.validator.report.subjects import folded_subjects
from speccheck.validator.run.plan_judge import JudgedPlan

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
    """A folded line for each waived failure; beyond a screen, how many by what."""
    found = sorted_waived(plans)
    shown = found if full else found[:_MOST_LINES]
    for one in shown:
        finding = one.finding
        head = f"waived {finding.level} {finding.clause} {finding.rule}  {place(one)}"
        words = waiver_words(finding.waiver) if finding.waiver else ""
        line = f"{head}  {words}"
        if len(line) > style.width:
            line = f"{head}\n{wrap(words, style.width, ' ' * 4)}"
        yield style.paint("waived", "dim") + line.removeprefix("waived")
    rest = found[len(shown) :]
    if rest:
        kinds = [one.finding.waiver.kind for one in rest if one.finding.waiver]
        by = [
            f"{kinds.count(kind):,} {words}"
            for kind, words in WAIVED_BY.items()
            if kind in kinds
        ]
        yield f"{len(rest):,} more waived: {', '.join(by)} (--full)"


def sorted_waived(plans: Iterable[JudgedPlan]) -> list[Shown]:
    """The waived failures as they are shown, those that weigh most first."""
    return sorted(waived_findings(plans), key=lambda one: _ORDER[one.finding.level])


def place(one: Shown) -> str:
    """Where a failure stands, in few words: file and line, or the part of a machine."""
    if one.subjects:
        return folded_subjects(one.subjects)
    framed = [f"{at.file}:{at.line}" for at in one.locations if at.line]
    if not framed:
        return one.plan_name
    more = f" and {len(framed) - 1:,} more places" if one.plans > 1 else ""
    return framed[0] + more


def waiver_words(waiver: Waiver) -> str:
    """`the reason (until 2027-01-31, owner, ticket)`; else what it is waived by."""
    facts = [f"until {waiver.until}"] if waiver.until else []
    facts += [one for one in (waiver.owner, waiver.ticket) if one]
    words = waiver.reason or WAIVED_BY[waiver.kind]
    if facts:
        words += f" ({', '.join(facts)})"
    return printable(hidden(words))
