"""Own numbers, what they loosen, and what a second edition finds, in lines."""

from collections.abc import Iterator

from speccheck.validator.engine.tailoring import tailored_lines
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.style import counted
from speccheck.validator.run.judging import SecondEdition
from speccheck.validator.run.run import Run

_MOST_LINES = 10


def edition_lines(run: Run, *, full: bool) -> Iterator[str]:
    """Each own number; what is loosened; what the second edition comes to."""
    yield from tailored_lines(run.edition, full=full)
    yield from loosened_lines(run, full=full)
    if run.second is not None:
        yield second_text(run.second)


def loosened_lines(run: Run, *, full: bool) -> Iterator[str]:
    """What fails by the edition's own numbers and not by those in their place."""
    found: dict[tuple[str, ...], list[str]] = {}
    for plan in run.plans:
        for located in plan.findings:
            one = located.finding
            if one.is_loosened:
                key = one.clause, one.rule, hidden(one.note)
                found.setdefault(key, []).append(one.subject or plan.files[0].path)
    rows = list(found.items())
    shown = rows if full else rows[:_MOST_LINES]
    for (clause, rule, note), where in shown:
        more = f" and {len(where) - 1:,} more" if len(where) > 1 else ""
        yield f"loosened {clause} {rule}  {where[0]}{more}: {note}"
    if len(shown) < len(rows):
        yield f"{len(rows) - len(shown):,} more are loosened (--full)"


def second_text(second: SecondEdition) -> str:
    """What a second edition finds that the first does not, and what it cannot judge."""
    edition = second.edition
    is_told = edition.stage in edition.id
    name = f"edition {edition.id}" + ("" if is_told else f" ({edition.stage})")
    if second.found:
        text = f"{name} gives {counted(second.found, 'warning')} more"
    else:
        text = f"{name} gives no warning more"
    if second.unknown:
        text += f"; {counted(second.unknown, 'clause')} of it could not be judged"
    if second.broken:
        text += f"; {counted(second.broken, 'rule')} of it broke, a bug of speccheck"
    return text
