"""What every report says of the edition: its name, own numbers, a second one."""

from collections.abc import Iterator

from speccheck.validator.editions.edition import Edition
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.run.run import Run


def tailored_headline(edition: Edition) -> str:
    """`2 numbers are tailored`; empty where all are the edition's."""
    if not edition.tailoring:
        return ""
    from speccheck.validator.engine.tailoring import headline  # noqa: PLC0415 - seldom

    return headline(edition)


def edition_names(run: Run) -> Iterator[str]:
    """`edition 1.0`, `2 numbers are tailored`, `warnings of edition 1.1-draft`."""
    yield f"edition {run.edition.id}"
    text = tailored_headline(run.edition)
    if text:
        yield text
    if run.second is not None:
        yield f"warnings of edition {run.second.edition.id}"


def edition_of(run: Run, finding: Finding) -> Edition:
    """The edition by which a finding was given: that of the run, or its second one."""
    is_second = finding.edition and run.second is not None
    return run.second.edition if is_second and run.second else run.edition


def edition_told(run: Run, *, full: bool = False) -> list[str]:
    """Own numbers, what they loosen, what a second edition gives; mostly nothing."""
    if not run.edition.tailoring and run.second is None:
        return []
    from speccheck.validator.report.editions_text import (  # noqa: PLC0415 - seldom
        edition_lines,
    )

    return list(edition_lines(run, full=full))


def tailored_told(edition: Edition, *, full: bool) -> list[str]:
    """A line for each own number; mostly nothing."""
    if not edition.tailoring:
        return []
    from speccheck.validator.engine.tailoring import (  # noqa: PLC0415 - seldom
        tailored_lines,
    )

    return list(tailored_lines(edition, full=full))


def tailoring_of(edition: Edition) -> list[dict[str, str | int | float | bool | None]]:
    """Own numbers as reports of programs list them; empty for none."""
    if not edition.tailoring:
        return []
    from speccheck.validator.engine.tailoring import (  # noqa: PLC0415 - seldom
        tailoring_data,
    )

    return tailoring_data(edition)
