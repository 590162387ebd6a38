"""Verdicts on nodes whose numbers lie far from those of all others."""

from collections.abc import Sequence

from speccheck.validator.comparison.outliers import Far, Outliers
from speccheck.validator.comparison.wording import counted
from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.record import Record
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, unknown

_MOST_APART = 20  # nodes that get a finding of their own, the worst first
_WHOLE = 1000  # from here on without decimals
_MOST_TOLD = 3  # readings of a node


class OutlierAdvice(Record):
    """What a rule says beside what it found.

    remedy: with `{nodes}`. group_share: where more of the nodes are far off, they share
    a cause, or are of another kind.
    """

    remedy: str
    cost: str
    action: Action
    group_share: float


def outlier_verdicts(found: Outliers, advice: OutlierAdvice) -> Verdicts:
    """A failure for each node that is far off, and what is not told."""
    hosts = (*found.by_host,)
    if len(hosts) > max(advice.group_share * found.nodes, 1):
        yield _together(found, advice)
        hosts = ()
    for host in hosts[:_MOST_APART]:
        far = found.by_host[host]
        yield fail(
            _told(far),
            measured=far[0].value,
            required=_limit(far[0]),
            cost=advice.cost,
            remedy=advice.remedy.format(nodes=host),
            action=advice.action,
            hosts=(host,),
        )
    rest = hosts[_MOST_APART:]
    if rest:
        yield _several(rest, found, advice, f"{len(rest):,} nodes more")
    if found.unseen:
        yield unknown(
            f"{counted(found.unseen)}: not all is known that other nodes tell",
            missing=[one.leaf for one in found.looked_at[:_MOST_TOLD]] or ["samples"],
            hosts=found.unseen,
        )
    if found.looked_at and not found.by_host and not found.unseen:
        yield passed(f"{len(found.looked_at)} readings of {found.nodes:,} nodes")


def _together(found: Outliers, advice: OutlierAdvice) -> Verdict:
    hosts = (*found.by_host,)
    share = len(hosts) / found.nodes
    text = f"{share:.0%} of all nodes: they share a cause or are of another kind"
    return _several(hosts, found, advice, text)._replace(action="MONITOR")


def _several(
    hosts: Sequence[str], found: Outliers, advice: OutlierAdvice, text: str
) -> Verdict:
    worst = found.by_host[hosts[0]]
    ordered = tuple(sorted(hosts))
    return fail(
        f"{text}; {hosts[0]}: {_told(worst[:1])}",
        measured=worst[0].value,
        required=_limit(worst[0]),
        cost=advice.cost,
        remedy=advice.remedy.format(nodes=f"the {len(hosts):,} nodes"),
        action=advice.action,
        hosts=ordered,
    )


def _told(found: Sequence[Far]) -> str:
    """The worst part of each reading, and in how many parts it is so."""
    by_label: dict[str, list[Far]] = {}
    for one in found:
        by_label.setdefault(one.reading.label, []).append(one)
    texts = [_far(parts) for parts in [*by_label.values()][:_MOST_TOLD]]
    left = len(by_label) - len(texts)
    return "; ".join(texts + ([f"{left} more readings"] if left > 0 else []))


def _far(parts: Sequence[Far]) -> str:
    worst = parts[0]
    reading = worst.reading
    where = f" of {reading.part} {worst.part}" if reading.part else ""
    more = f" (and of {len(parts) - 1} more)" if len(parts) > 1 else ""
    most = "at most" if reading.is_high_worse else "at least"
    return (
        f"{reading.label}{where}{more} {_amount(worst, worst.value)}; the median of "
        f"{worst.of:,} is {_amount(worst, worst.distance.median)}, {most} "
        f"{_amount(worst, _limit(worst))} is usual"
    )


def _limit(far: Far) -> float:
    distance = far.distance
    off = distance.most if far.reading.is_high_worse else -distance.most
    return distance.median + off


def _amount(far: Far, value: float) -> str:
    shown = value / far.reading.per
    text = f"{shown:,.0f}" if abs(shown) >= _WHOLE else f"{shown:.4g}"
    return f"{text} {far.reading.unit}".rstrip()
