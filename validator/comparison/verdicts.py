"""Verdicts on what the nodes of a fleet should have in common."""

from collections.abc import Iterator, Sequence

from speccheck.validator.comparison.differences import (
    Compared,
    Differences,
    Division,
    Odd,
    OddNodes,
    Untold,
    differences,
)
from speccheck.validator.comparison.wording import (
    against,
    counted,
    gibibytes,
    named,
    short,
)
from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, unknown

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


def uniform(fleet: Fleet, leaves: Sequence[Compared], advice: Advice) -> Verdicts:
    """Judge that all nodes tell the same; nothing is said of a single node."""
    if len(fleet.nodes) > 1:
        yield from verdicts(differences(fleet, leaves), advice)


def verdicts(found: Differences, advice: Advice) -> Verdicts:
    """A failure for each set of odd nodes, and what cannot be told."""
    for one in found.odd:
        yield _odd(one, advice)
    for division in found.divided:
        yield _divided(division, advice)
    for untold in found.untold:
        yield not_told(untold)
    is_open = found.odd or found.divided or found.untold or found.is_partial
    if found.alike and not is_open:
        yield passed(_said((leaf, value) for leaf, value in found.alike))


def not_told(untold: Untold) -> Verdict:
    """Nodes, or all of them, that do not tell a leaf."""
    labels = ", ".join(one.label for one in untold.leaves)
    who = counted(untold.hosts) if untold.hosts else "every node"
    return unknown(
        f"{labels} of {who}: {untold.reason}",
        missing=[one.leaf for one in untold.leaves],
        hosts=untold.hosts,
    )


def _odd(found: OddNodes, advice: Advice) -> Verdict:
    told = _differences(found.leaves)
    first = found.leaves[0]
    usual = len(first.usual.hosts)
    return fail(
        f"{'; '.join(told)}, as {usual:,} others have; {advice.required}",
        measured=_shown(first.compared, first.value),
        required=_shown(first.compared, first.usual.value),
        cost=advice.cost,
        remedy=advice.remedy.format(nodes=named(found.hosts)),
        action=advice.action,
        hosts=found.hosts,
    )


def _differences(leaves: Sequence[Odd]) -> list[str]:
    """Each difference once, with all that differs so: `driver, GSP firmware A...`."""
    labels: dict[str, list[str]] = {}
    for one in leaves:
        value = _text(one.compared, one.value)
        usual = _text(one.compared, one.usual.value)
        labels.setdefault(against(value, usual), []).append(one.compared.label)
    told = [f"{', '.join(found)} {text}" for text, found in labels.items()]
    left = len(told) - _MOST_LEAVES
    return told[:_MOST_LEAVES] + ([f"{left} more"] if left > 0 else [])


def _divided(found: Division, advice: Advice) -> Verdict:
    """No group is more than half: nobody can say which of them is right."""
    groups = []
    for number, hosts in enumerate(found.groups[:_MOST_GROUPS]):
        values = ((leaf, values[number]) for leaf, values in found.leaves)
        groups.append(f"{counted(hosts)} {_said(values)}")
    left = found.groups[_MOST_GROUPS:]
    if left:
        count = sum(map(len, left))
        groups.append(f"{count:,} nodes in {len(left):,} more groups")
    return fail(
        f"{len(found.groups):,} groups, none of them more than half: "
        f"{'; '.join(groups)}; {advice.required}",
        measured=len(found.groups),
        required=1,
        cost=advice.cost,
        remedy=advice.remedy.format(nodes="the nodes that are not as they should be"),
        action=advice.action,
    )


def _said(found: Iterator[tuple[Compared, str]]) -> str:
    texts = [f"{leaf.label} {_shown(leaf, value)}" for leaf, value in found]
    left = len(texts) - _MOST_LEAVES
    more = [f"{left} more"] if left > 0 else []
    return ", ".join(texts[:_MOST_LEAVES] + more)


def _text(leaf: Compared, value: str) -> str:
    """As people read it; a value of a variable may be a credential."""
    return gibibytes(value) if leaf.is_size else hidden(value)


def _shown(leaf: Compared, value: str) -> str:
    return short(_text(leaf, value))
