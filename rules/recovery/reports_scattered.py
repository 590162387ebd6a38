"""Reports that are not of one pre-flight: taken hours apart, or by several releases.

Why it hurts: it may not. Reports of different days tell of different states, a node
whose time is far from that of the others may have a wrong clock, and another release of
speccheck may have looked for less.

What passes: reports taken near each other, by one release.

Where it does not apply: a fleet of one node; reports that are out of date altogether.

Source: an engineering default.

Bad::

    node01 to node63: 06:40, node64: 23:10 the day before

Good::

    node01 to node64: 06:40 to 06:52
"""

from statistics import median

from speccheck.validator.comparison.verdicts import hours
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Spread(Numbers):
    """How far from the median a report may be taken, in hours, and of which age."""

    spread_max: float
    report_age: float


@rule(clause="FT-044")
def reports_scattered(fleet: Fleet, limit: Spread) -> Verdicts:
    """Compare times, then releases."""
    if len(fleet.nodes) <= 1:
        return
    now = fleet.started
    times = {
        node.name: node.taken
        for node in fleet.nodes
        if node.taken is not None
        and (now is None or hours(now - node.taken) <= limit.report_age)
    }
    middle = median(times.values()) if times else 0.0
    far = tuple(
        sorted(
            name
            for name, taken in times.items()
            if abs(hours(taken - middle)) > limit.spread_max
        )
    )
    if far:
        most = max(abs(hours(times[name] - middle)) for name in far)
        yield fail(
            f"taken up to {most:,.1f} hours from the median of "
            f"{len(times):,} reports; {limit.spread_max:g} hours are to be expected",
            measured=round(most, 1),
            required=limit.spread_max,
            hosts=far,
        )
    releases: dict[str, list[str]] = {}
    for node in fleet.nodes:
        if node.release:
            releases.setdefault(node.release, []).append(node.name)
    ordered = sorted(releases.items(), key=lambda item: -len(item[1]))
    odd = tuple(sorted({name for _, names in ordered[1:] for name in names}))
    if odd:
        text = ", ".join(f"{release} on {len(names):,}" for release, names in ordered)
        yield fail(
            f"of another release of speccheck ({text}); one is to be expected",
            measured=len(ordered),
            required=1,
            hosts=odd,
        )
    if times and not far and not odd:
        yield passed(f"{len(times):,} reports of one pre-flight")
