"""Several reports of one node, or reports of nodes that nobody expects.

Why it hurts: reports of an earlier run that lie among those of today are judged as if
they were of today, and a count of files then hides that a node is missing.

What passes: one report of each node, of nodes that are expected.

Where it does not apply: nowhere; which nodes are expected is compared where names are
known.

Source: an engineering default.

Bad::

    reports/node07.json reports/old/node07.json

Good::

    reports/2026-11-22/node07.json
"""

from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="FT-042")
def node_reported_twice(fleet: Fleet) -> Verdicts:
    """Name the nodes that came twice, then those that nobody expects."""
    who = fleet.attendance
    known = {node.name for node in fleet.nodes}
    twice = {
        repeated.name: repeated.files
        for repeated in who.repeated
        if repeated.name in known
    }
    hosts = tuple(sorted(twice))
    if hosts:
        files = twice[hosts[0]]
        yield fail(
            f"reported more than once, as {files[0]} and {files[-1]}; one report of "
            "each node is required",
            measured=len(hosts),
            required=0,
            cost="what was found earlier is judged as if it were of today",
            hosts=hosts,
        )
    if who.unexpected:
        yield fail(
            f"reported, and none of the {len(who.names):,} nodes that are expected",
            measured=len(who.unexpected),
            required=0,
            cost="reports of another run are judged as if they were of this one",
            hosts=who.unexpected,
        )
    if not hosts and not who.unexpected and known:
        yield passed(f"{len(known):,} nodes reported once")
