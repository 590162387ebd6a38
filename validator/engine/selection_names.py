"""The clauses, areas and rules that a request names: whether there are such."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.editions.edition import Edition
from speccheck.validator.engine.policy import Policy, RaisedLevel
from speccheck.validator.engine.request import Request
from speccheck.validator.engine.rule_index import RuleEntry
from speccheck.validator.engine.selection import (
    UnknownSelection,
    in_vain,
    known_names,
    names_of_rule,
    told,
    unknown,
)
from speccheck.validator.engine.severity import RANKS, weight
from speccheck.validator.evidence.finding import Level


def verified(
    request: Request, edition: Edition, rules: Sequence[RuleEntry]
) -> tuple[str, ...]:
    """What a request says in vain, a warning each.

    Raises UnknownSelection for a name that asks for something to be judged, or to weigh
    more, and stands for nothing.
    """
    warnings = [*request.selection.verify(edition, rules)]
    policy = request.policy
    if policy.levels or policy.file_ignores:
        known = known_names(edition, rules)
        for raised in policy.levels:
            _verify_level(raised, edition, rules, known)
        warnings += _ignored_in_vain(policy, known, edition)
    return tuple(warnings)


def _ignored_in_vain(
    policy: Policy, known: Mapping[str, str], edition: Edition
) -> Iterator[str]:
    locks = {lock.name.lower(): lock for lock in reversed(policy.mandatory)}
    for one in policy.file_ignores:
        said = f"{told(one.place)}: per-file-ignores"
        for name in one.names:
            lock = locks.get(name.lower())
            if lock is not None:
                yield f"{said} {name} has no effect: mandatory by {told(lock.place)}"
            elif name.lower() not in known:
                yield in_vain(said, name, known, edition)


def _verify_level(
    raised: RaisedLevel,
    edition: Edition,
    rules: Sequence[RuleEntry],
    known: Mapping[str, str],
) -> None:
    """Levels only ever rise: raise UnknownSelection for one below all that it is of."""
    said = f"{told(raised.place)}: levels"
    if raised.name.lower() not in known:
        raise unknown(said, raised.name, known, edition)
    weights = _weights(raised.name.lower(), edition, rules)
    if weights and all(RANKS[one] > RANKS[raised.level] for one in weights):
        least = min(weights, key=RANKS.__getitem__)
        message = (
            f'{said} {raised.name} = "{raised.level}": a failure weighs {least} '
            "already, and a level is only ever raised: to silence one, write a waiver "
            "with its reason"
        )
        raise UnknownSelection(message)


def _weights(name: str, edition: Edition, rules: Sequence[RuleEntry]) -> list[Level]:
    """What failures of all that bears a name weigh by the edition."""
    found: list[Level] = [
        weight(clause.level, "exact")
        for clause in edition.clauses.values()
        if name in {clause.id.lower(), clause.area.lower()}
    ]
    of_rules: list[Level] = [
        weight(edition.clauses[rule.clause].level, rule.confidence)
        for rule in rules
        if name in names_of_rule(rule) and rule.clause in edition.clauses
    ]
    return found or of_rules
