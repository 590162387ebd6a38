"""What a report says of settings: which were read, and what they switch off."""

from collections.abc import Iterator

from speccheck.validator.report.style import counted, printable
from speccheck.validator.report.summary import LEVELS, Summary
from speccheck.validator.run.run import Run

ISOLATED = "settings not read (--isolated)"
_MOST_FILES = 3
_MOST_NAMES = 4


def settings_told(run: Run) -> tuple[str, ...]:
    """The settings files of the plans, or that none was looked for."""
    if run.is_isolated:
        return (ISOLATED,)
    closest = dict.fromkeys(plan.settings[0] for plan in run.plans if plan.settings)
    if not closest:
        return ()
    names = [printable(name) for name in closest]
    if len(names) > _MOST_FILES:
        return (f"settings of {len(names)} files",)
    return (f"settings {', '.join(names)}",)


def silence_told(summary: Summary) -> Iterator[str]:
    """What was not judged because somebody switched it off, a line for each."""
    for one in summary.switched_off:
        counts = [
            counted(len(one.clauses[level]), level)
            for level in LEVELS
            if one.clauses[level]
        ]
        if one.rules:
            counts.append(counted(len(one.rules), "rule"))
        names = [name for level in LEVELS for name in one.clauses[level]] + one.rules
        more = ", ..." if len(names) > _MOST_NAMES else ""
        shown = ", ".join(names[:_MOST_NAMES]) + more
        yield printable(f"{', '.join(counts)} switched off by {one.by} ({shown})")
