"""Many findings on a fleet on one screen: two lines a rule, the rest with `--full`."""

from collections.abc import Iterator, Sequence

from speccheck.validator.report.fleet_groups import FleetGroup, told_rule
from speccheck.validator.report.fleet_names import shown_names
from speccheck.validator.report.style import Style, counted, printable

# With more rules than that a report with remedies is longer than a screen.
MOST_WITH_REMEDIES = 6
_MOST_GROUPS = 22
_LEAST_NAMES = 24
_INDENT = "  "


def brief(groups: Sequence[FleetGroup], style: Style) -> Iterator[str]:
    """Each rule with its nodes, and what it says of the fewest of them."""
    for group in groups[:_MOST_GROUPS]:
        outcome = "bug" if group.outcome == "error" else group.level
        rule = told_rule(group)
        room = max(_LEAST_NAMES, style.width - len(outcome) - len(rule) - 3)
        names = "in the job" if group.is_of_job else ""
        if group.hosts and not group.is_of_job:
            names = printable(shown_names(group.hosts, full=False, most=room))
        painted = style.paint(names, "dim" if group.is_of_job else "bold")
        head = f"{style.paint(outcome, group.level)} {rule}"
        yield f"{head}  {painted}\n" if names else f"{head}\n"
        yield f"{_INDENT}{_message(group, style)}\n"
    rest = len(groups) - _MOST_GROUPS
    more = f"and {counted(rest, 'rule')} more; " if rest > 0 else ""
    text = f"{more}--full shows all that they say, and what to change"
    yield style.paint(f"{text}\n", "dim")


def _message(group: FleetGroup, style: Style) -> str:
    value = group.values[0]
    subject = f"{value.subject}: " if value.subject not in {"", "node"} else ""
    others = len(group.values) - 1 + group.others
    more = f" (and {others:,} more)" if others else ""
    text = printable(f"{subject}{value.message}")
    room = style.width - len(_INDENT) - len(more)
    return f"{text if len(text) <= room else f'{text[: room - 3]}...'}{more}"
