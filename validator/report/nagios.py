"""One line for Nagios and what follows its conventions.

Code and text by the Monitoring Plugins Development Guidelines: 0 OK, 1 WARNING, 2
CRITICAL, 3 UNKNOWN; one line of text, a bar, and performance data of the form
'label'=value[unit];[warn];[crit];[min];[max].
"""

from collections.abc import Iterable

from speccheck.validator.node.result import NodeResult, in_order, shown_text

CODES = {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}
_MOST_NAMES = 4
_MOST_CHARACTERS = 300


def nagios_state(result: NodeResult, warnings: int) -> str:
    """The state: of a warning only where nothing fails."""
    if result.verdict == "no-go":
        return "CRITICAL"
    if result.verdict == "go":
        return "WARNING" if warnings else "OK"
    return "UNKNOWN"  # nobody knows how the node is: bad usage, our bug, no evidence


def nagios_line(result: NodeResult, failed: dict[str, int]) -> str:
    """The line; failed: findings by their level."""
    state = nagios_state(result, failed.get("warning", 0))
    text = f"{result.verdict}: {result.reason}"
    names = [*dict.fromkeys(map(_name, _worst(result)))]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if names[_MOST_NAMES:] else ""
        text += f": {', '.join(names[:_MOST_NAMES])}{more}"
    text = shown_text(text[:_MOST_CHARACTERS]).replace("|", "/")
    counts = result.counts
    data = (
        f"errors={failed.get('error', 0)};;0;0",
        f"warnings={failed.get('warning', 0)};0;;0",
        *(f"{name}={counts.get(name, 0)};;;0" for name in ("pass", "fail", "unknown")),
        f"time={result.seconds:.3f}s;;;0",
    )
    return f"SPECCHECK {state} - {text} | {' '.join(data)}\n"


def _worst(result: NodeResult) -> Iterable[tuple[str, str]]:
    """Rules that failed, of the highest level that any did."""
    ordered = in_order(result.findings)
    level = ordered[0].level if ordered else ""
    return ((one.rule, one.subject) for one in ordered if one.level == level)


def _name(found: tuple[str, str]) -> str:
    rule, subject = found
    return f"{rule} ({subject})" if subject and subject != "node" else rule
