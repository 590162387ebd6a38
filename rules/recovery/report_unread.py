"""What a node reported cannot be read.

Why it hurts: a report that is half written comes from a node that was killed, ran out
of disk or hangs; one of a newer version tells what this release does not understand.
Either way nothing is known of the node.

What passes: reports that are whole and of a version that is understood.

Where it does not apply: nodes of which another report could be read.

Source: an engineering default.

Bad::

    reports/node07.json    # ends within its text

Good::

    reports/node07.json    # a whole snapshot
"""

import re

from speccheck.validator.evidence.fleet import Fleet, Unread
from speccheck.validator.rule import Verdicts, fail, passed, rule

_DIGITS = re.compile(r"[\d,]+")


@rule(clause="FT-041")
def report_unread(fleet: Fleet) -> Verdicts:
    """Name the reports by what is wrong with them."""
    known = {node.name for node in fleet.nodes}
    by_problem: dict[str, list[Unread]] = {}
    for unread in fleet.attendance.unread:
        if unread.node not in known:
            # Where each of them breaks off is no problem of its own.
            by_problem.setdefault(_DIGITS.sub("", unread.problem), []).append(unread)
    for unreads in by_problem.values():
        hosts = tuple(sorted({unread.node for unread in unreads if unread.node}))
        first = f"{unreads[0].problem} ({unreads[0].file}"
        more = f" and {len(unreads) - 1:,} more" if unreads[1:] else ""
        yield fail(
            f"{first}{more}); every report must be readable",
            measured=len(unreads),
            required=0,
            cost="nothing is known of these nodes",
            hosts=hosts,
        )
    if not by_problem and fleet.nodes:
        yield passed(f"{len(fleet.nodes):,} reports could be read")
