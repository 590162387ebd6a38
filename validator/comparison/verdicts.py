"""Verdicts on what the nodes of a fleet should have in common."""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.comparison.differences import (
    ComparedNodes,
    Differences,
    NodeDivision,
    Odd,
    OddNodes,
    Untold,
    differences,
)
from speccheck.validator.comparison.outliers import Far, Outliers
from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.models.units import trimmed
from speccheck.validator.node.host_names import fold, natural
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, unknown

_MOST_LETTERS = 72  # of a list of nodes in a message; the finding holds them all
_MOST_NAMED = 4
_MOST_TEXT = 60
_MOST_ITEMS = 3
_GIB = 2**30
_HOUR = 3600


def named(hosts: Iterable[str]) -> str:
    """Return nodes as a short list: `n[17,20-21]`, or the first and how many more."""
    result = fold(hosts)
    if len(result) <= _MOST_LETTERS:
        return result
    names = sorted(dict.fromkeys(hosts), key=natural)
    shown = fold(names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED:,} more"


def counted(hosts: Sequence[str]) -> str:
    """Return how many nodes, and which: `3 nodes (n[17,20-21])`."""
    if len(hosts) == 1:
        return hosts[0]
    return f"{len(hosts):,} nodes ({named(hosts)})"


def hours(seconds: float) -> float:
    """Return a time in hours."""
    return seconds / _HOUR


def gibibytes(text: str) -> str:
    """Return bytes in a readable form, with both digits that tell two sizes apart."""
    if not text.isdecimal():
        return text
    return f"{trimmed(f'{int(text) / _GIB:,.2f}')} GiB"


def short(text: str) -> str:
    """Return a value that does not fill the line."""
    if not text:
        return "none"
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."


def against(value: str, usual: str) -> str:
    """Return a value beside the usual one; of lists only what differs."""
    mine, others = value.split(", "), usual.split(", ")
    if len(mine) == 1 and len(others) == 1:
        return f"{short(value)} instead of {short(usual)}"
    more = [text for text in mine if text not in others]
    fewer = [other for other in others if other not in mine]
    if not more and not fewer:
        pairs = enumerate(zip(mine, others, strict=False), 1)
        for number, (text, other) in pairs:
            if text != other:
                return f"in another order: {text} at {number} instead of {other}"
        return f"{len(mine):,} instead of {len(others):,} entries"
    if more and fewer:
        return f"{_items(more)} instead of {_items(fewer)}"
    return f"{_items(more)} more" if more else f"without {_items(fewer)}"


def _items(texts: Sequence[str]) -> str:
    shown = ", ".join(short(text) for text in texts[:_MOST_ITEMS])
    left = len(texts) - _MOST_ITEMS
    return f"{shown} and {left} more" if left > 0 else shown


_MOST_GROUPS = 4  # that are told of a fleet of which none is more than half
_MOST_LEAVES = 4  # that are told of nodes which differ in more


class Advice(Record):
    """What a rule says beside what it found.

    required: completes "on 3 nodes (...): driver A instead of B; ". remedy: with
    `{nodes}` for the nodes to change; empty for that of the clause.
    """

    required: str
    remedy: str = ""
    cost: str = ""
    action: Action | None = None


def uniform(fleet: Fleet, leaves: Sequence[ComparedNodes], advice: Advice) -> Verdicts:
    """Judge that all nodes tell the same; nothing is said of a single node."""
    if len(fleet.nodes) > 1:
        yield from verdicts(differences(fleet, leaves), advice)


def verdicts(result: Differences, advice: Advice) -> Verdicts:
    """Yield a failure for each set of odd nodes, and what is not known."""
    for odd_nodes in result.odd:
        yield _odd(odd_nodes, advice)
    for division in result.divided:
        yield _divided(division, advice)
    for untold in result.untold:
        yield missing_field(untold)
    is_open = result.odd or result.divided or result.untold or result.is_partial
    if result.alike and not is_open:
        yield passed(_said((leaf, value) for leaf, value in result.alike))


def missing_field(untold: Untold) -> Verdict:
    """Return a missing leaf with the nodes that do not state it, or all of them."""
    labels = ", ".join(leaf.label for leaf in untold.leaves)
    who = counted(untold.hosts) if untold.hosts else "every node"
    return unknown(
        f"{labels} of {who}: {untold.reason}",
        missing=[leaf.leaf for leaf in untold.leaves],
        hosts=untold.hosts,
    )


def _odd(odd_nodes: OddNodes, advice: Advice) -> Verdict:
    texts = _differences(odd_nodes.leaves)
    first = odd_nodes.leaves[0]
    usual = len(first.usual.hosts)
    return fail(
        f"{'; '.join(texts)}, as {usual:,} others have; {advice.required}",
        measured=_shown(first.compared, first.value),
        required=_shown(first.compared, first.usual.value),
        cost=advice.cost,
        remedy=advice.remedy.format(nodes=named(odd_nodes.hosts)),
        action=advice.action,
        hosts=odd_nodes.hosts,
    )


def _differences(leaves: Sequence[Odd]) -> list[str]:
    """Return each difference once, with what differs alike."""
    labels: dict[str, list[str]] = {}
    for leaf in leaves:
        value = _text(leaf.compared, leaf.value)
        usual = _text(leaf.compared, leaf.usual.value)
        labels.setdefault(against(value, usual), []).append(leaf.compared.label)
    texts = [f"{', '.join(label)} {text}" for text, label in labels.items()]
    left = len(texts) - _MOST_LEAVES
    return texts[:_MOST_LEAVES] + ([f"{left} more"] if left > 0 else [])


def _divided(division: NodeDivision, advice: Advice) -> Verdict:
    """Return that no group is more than half: nobody can say which of them is right."""
    groups = []
    for number, hosts in enumerate(division.groups[:_MOST_GROUPS]):
        values = ((leaf, values[number]) for leaf, values in division.leaves)
        groups.append(f"{counted(hosts)} {_said(values)}")
    left = division.groups[_MOST_GROUPS:]
    if left:
        count = sum(map(len, left))
        groups.append(f"{count:,} nodes in {len(left):,} more groups")
    return fail(
        f"{len(division.groups):,} groups, none of them more than half: "
        f"{'; '.join(groups)}; {advice.required}",
        measured=len(division.groups),
        required=1,
        cost=advice.cost,
        remedy=advice.remedy.format(nodes="the nodes that are not as they should be"),
        action=advice.action,
    )


def _said(comparisons: Iterator[tuple[ComparedNodes, str]]) -> str:
    texts = [f"{leaf.label} {_shown(leaf, value)}" for leaf, value in comparisons]
    left = len(texts) - _MOST_LEAVES
    more = [f"{left} more"] if left > 0 else []
    return ", ".join(texts[:_MOST_LEAVES] + more)


def _text(leaf: ComparedNodes, value: str) -> str:
    """Return the text as people read it; a value of a variable may be a credential."""
    return gibibytes(value) if leaf.is_size else hidden(value)


def _shown(leaf: ComparedNodes, value: str) -> str:
    return short(_text(leaf, value))


_MOST_APART = 20  # nodes that get a finding of their own, the worst first
_WHOLE = 1000  # from here on without decimals
_MOST_SHOWN = 2  # readings of a node


class OutlierAdvice(Record):
    """What a rule says beside what it found.

    remedy: with `{nodes}`. group_share: where more of the nodes are far off, they share
    a cause, or are of another kind.
    """

    remedy: str
    cost: str
    action: Action
    group_share: float


def outlier_verdicts(outliers: Outliers, advice: OutlierAdvice) -> Verdicts:
    """Yield a failure for each node that is far off, and what is not known."""
    hosts = (*outliers.by_host,)
    if len(hosts) > max(advice.group_share * outliers.nodes, 1):
        yield _together(outliers, advice)
        hosts = ()
    for host in hosts[:_MOST_APART]:
        far = outliers.by_host[host]
        yield fail(
            _worst_text(far),
            measured=far[0].value,
            required=_limit(far[0]),
            cost=advice.cost,
            remedy=advice.remedy.format(nodes=host),
            action=advice.action,
            hosts=(host,),
        )
    rest = hosts[_MOST_APART:]
    if rest:
        yield _several(rest, outliers, advice, f"{len(rest):,} nodes more")
    if outliers.unseen:
        yield unknown(
            f"{counted(outliers.unseen)}: not all is known that other nodes tell",
            missing=[reading.leaf for reading in outliers.looked_at[:_MOST_SHOWN]]
            or ["samples"],
            hosts=outliers.unseen,
        )
    if outliers.looked_at and not outliers.by_host and not outliers.unseen:
        yield passed(f"{len(outliers.looked_at)} readings of {outliers.nodes:,} nodes")


def _together(outliers: Outliers, advice: OutlierAdvice) -> Verdict:
    hosts = (*outliers.by_host,)
    share = len(hosts) / outliers.nodes
    text = f"{share:.0%} of all nodes: they share a cause or are of another kind"
    return _several(hosts, outliers, advice, text)._replace(action="MONITOR")


def _several(
    hosts: Sequence[str], outliers: Outliers, advice: OutlierAdvice, text: str
) -> Verdict:
    worst = outliers.by_host[hosts[0]]
    ordered = tuple(sorted(hosts))
    return fail(
        f"{text}; {hosts[0]}: {_worst_text(worst[:1])}",
        measured=worst[0].value,
        required=_limit(worst[0]),
        cost=advice.cost,
        remedy=advice.remedy.format(nodes=f"the {len(hosts):,} nodes"),
        action=advice.action,
        hosts=ordered,
    )


def _worst_text(fars: Sequence[Far]) -> str:
    """Return the worst part of each reading, and in how many parts it is so."""
    by_label: dict[str, list[Far]] = {}
    for far in fars:
        by_label.setdefault(far.reading.label, []).append(far)
    texts = [_far(parts) for parts in [*by_label.values()][:_MOST_SHOWN]]
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
