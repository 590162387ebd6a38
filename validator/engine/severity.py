"""What a failure weighs: by its clause, by how sure its rule is, and by settings."""

from collections.abc import Sequence

from speccheck.validator.editions.compose import ComposedEdition, JudgedClause
from speccheck.validator.engine.policy import RaisedLevel
from speccheck.validator.engine.rule_index import RuleEntry
from speccheck.validator.evidence.finding import ClauseLevel, Level
from speccheck.validator.rule import Confidence, ListedRule

RANKS: dict[Level, int] = {"info": 0, "warning": 1, "error": 2}
_LEVELS: dict[ClauseLevel, Level] = {
    "must": "error",
    "should": "warning",
    "may": "info",
}
_MAY_BE_ERRORS = ("exact", "lower_bound")


def weight(level: ClauseLevel, confidence: Confidence) -> Level:
    """What a failure weighs by the edition: advice is no error."""
    found = _LEVELS[level]
    if found == "error" and confidence not in _MAY_BE_ERRORS:
        return "warning"
    return found


def weight_of(judged: JudgedClause, rule: ListedRule | None) -> Level:
    """What a failure weighs: by the edition, or more where settings raise it."""
    found = weight(judged.level, "exact" if rule is None else rule.confidence)
    for name, level in judged.raised_to:
        is_meant = not name or (rule is not None and rule.name == name)
        if is_meant and RANKS[level] > RANKS[found]:
            found = level
    return found


def with_levels(
    edition: ComposedEdition, levels: Sequence[RaisedLevel], rules: Sequence[RuleEntry]
) -> ComposedEdition:
    """The edition with the levels to which settings raise clauses, areas and rules."""
    if not levels:
        return edition
    by_clause: dict[str, list[RuleEntry]] = {}
    for rule in rules:
        by_clause.setdefault(rule.clause, []).append(rule)
    clauses = tuple(
        one._replace(
            raised_to=tuple(_raises(one, levels, by_clause.get(one.clause.id, ())))
        )
        for one in edition.clauses
    )
    return edition._replace(clauses=clauses)


def _raises(
    judged: JudgedClause, levels: Sequence[RaisedLevel], rules: Sequence[RuleEntry]
) -> list[tuple[str, Level]]:
    """By the name of a rule, or of the whole clause: the empty one."""
    found: list[tuple[str, Level]] = []
    of_clause = {judged.clause.id.lower(), judged.clause.area.lower()}
    for raised in levels:
        name = raised.name.lower()
        if name in of_clause:
            found.append(("", raised.level))
        named = [one.name for one in rules if name in {one.name, one.area}]
        found.extend((one, raised.level) for one in named)
    return found
