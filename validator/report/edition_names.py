"""What every report says of the edition: its name, own numbers, a second one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from speccheck.validator.editions.edition import Edition
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.style import counted
from speccheck.validator.run.run import RunResult

if TYPE_CHECKING:
    from speccheck.validator.run.judging import ShadowEdition


def tailored_headline(edition: Edition) -> str:
    """Return `2 numbers are tailored`; empty where all are the edition's."""
    if not edition.tailoring:
        return ""
    from speccheck.validator.engine.tailoring import headline  # noqa: PLC0415 - seldom

    return headline(edition)


def edition_names(run: RunResult) -> Iterator[str]:
    """Yield `edition 1.0`, `2 numbers are tailored`, `warnings of edition 1.1`."""
    yield f"edition {run.edition.id}"
    text = tailored_headline(run.edition)
    if text:
        yield text
    if run.second is not None:
        yield f"warnings of edition {run.second.edition.id}"


def edition_of(run: RunResult, finding: Finding) -> Edition:
    """Return the edition of a finding: that of the run, or its second."""
    is_second = finding.edition and run.second is not None
    return run.second.edition if is_second and run.second else run.edition


def edition_remarks(run: RunResult, *, full: bool = False) -> list[str]:
    """Return own numbers, what they loosen, what a second edition gives.

    Mostly nothing.
    """
    if not run.edition.tailoring and run.second is None:
        return []
    return list(edition_lines(run, full=full))


def own_number_lines(edition: Edition, *, full: bool) -> list[str]:
    """Return a line for each own number; mostly nothing."""
    if not edition.tailoring:
        return []
    from speccheck.validator.engine.tailoring import (  # noqa: PLC0415 - seldom
        tailored_lines,
    )

    return list(tailored_lines(edition, full=full))


def tailoring_of(edition: Edition) -> list[dict[str, str | int | float | bool | None]]:
    """Return own numbers as reports of programs list them; empty for none."""
    if not edition.tailoring:
        return []
    from speccheck.validator.engine.tailoring import (  # noqa: PLC0415 - seldom
        tailoring_data,
    )

    return tailoring_data(edition)


_MOST_LINES = 10


def edition_lines(run: RunResult, *, full: bool) -> Iterator[str]:
    """Yield each own number; what is loosened; what the second edition comes to."""
    yield from own_number_lines(run.edition, full=full)
    yield from loosened_lines(run, full=full)
    if run.second is not None:
        yield second_text(run.second)


def loosened_lines(run: RunResult, *, full: bool) -> Iterator[str]:
    """Yield what fails by the edition's own numbers and not by those in their place."""
    result: dict[tuple[str, ...], list[str]] = {}
    for plan in run.plans:
        for located in plan.findings:
            finding = located.finding
            if finding.is_loosened:
                key = finding.clause, finding.rule, hidden(finding.note)
                result.setdefault(key, []).append(finding.subject or plan.files[0].path)
    rows = list(result.items())
    shown = rows if full else rows[:_MOST_LINES]
    for (clause, rule, note), where in shown:
        more = f" and {len(where) - 1:,} more" if len(where) > 1 else ""
        yield f"loosened {clause} {rule}  {where[0]}{more}: {note}"
    if len(shown) < len(rows):
        yield f"{len(rows) - len(shown):,} more are loosened (--full)"


def second_text(second: "ShadowEdition") -> str:
    """Return what only a second edition reports, and what it cannot judge."""
    edition = second.edition
    names_stage = edition.stage in edition.id
    name = f"edition {edition.id}" + ("" if names_stage else f" ({edition.stage})")
    if second.failures:
        text = f"{name} gives {counted(second.failures, 'warning')} more"
    else:
        text = f"{name} gives no warning more"
    if second.unknown:
        text += f"; {counted(second.unknown, 'clause')} of it could not be judged"
    if second.broken:
        text += f"; {counted(second.broken, 'rule')} of it broke, a bug of speccheck"
    return text
