"""What is judged and what is not: clauses, areas and rules by their names."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.editions.compose import ComposedEdition, JudgedClause
from speccheck.validator.editions.edition import Edition
from speccheck.validator.engine.request import (
    Judging,
    NamedAt,
    Policy,
    RaisedLevel,
    Selection,
    UnknownSelection,
)
from speccheck.validator.engine.rule_index import ListedRule, RuleEntry
from speccheck.validator.evidence.finding import ClauseLevel, Level
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.rule import Confidence

RANKS: dict[Level, int] = {"info": 0, "warning": 1, "error": 2}
_LEVELS: dict[ClauseLevel, Level] = {
    "must": "error",
    "should": "warning",
    "may": "info",
}
_MAY_BE_ERRORS = ("exact", "lower_bound")


def weight(level: ClauseLevel, confidence: Confidence) -> Level:
    """Return what a failure weighs by the edition: advice is no error."""
    result = _LEVELS[level]
    if result == "error" and confidence not in _MAY_BE_ERRORS:
        return "warning"
    return result


def weight_of(judged: JudgedClause, rule: ListedRule | None) -> Level:
    """Return what a failure weighs: by the edition, or more where settings raise it."""
    result = weight(judged.level, "exact" if rule is None else rule.confidence)
    for name, level in judged.raised_to:
        is_meant = not name or (rule is not None and rule.name == name)
        if is_meant and RANKS[level] > RANKS[result]:
            result = level
    return result


def with_levels(
    edition: ComposedEdition, levels: Sequence[RaisedLevel], rules: Sequence[RuleEntry]
) -> ComposedEdition:
    """Return the edition with the levels to which settings raise clauses and rules."""
    if not levels:
        return edition
    by_clause: dict[str, list[RuleEntry]] = {}
    for rule in rules:
        by_clause.setdefault(rule.clause, []).append(rule)
    clauses = tuple(
        clause._replace(
            raised_to=tuple(
                _raises(clause, levels, by_clause.get(clause.clause.id, ()))
            )
        )
        for clause in edition.clauses
    )
    return edition._replace(clauses=clauses)


def _raises(
    judged: JudgedClause, levels: Sequence[RaisedLevel], rules: Sequence[RuleEntry]
) -> list[tuple[str, Level]]:
    """Return the raises by the name of a rule; the empty one is of the whole clause."""
    text_lists: list[tuple[str, Level]] = []
    of_clause = {judged.clause.id.lower(), judged.clause.area.lower()}
    for raised in levels:
        name = raised.name.lower()
        if name in of_clause:
            text_lists.append(("", raised.level))
        named = [rule.name for rule in rules if name in {rule.name, rule.area}]
        text_lists.extend((text, raised.level) for text in named)
    return text_lists


class _Names(Record):
    """The names of a selection in small letters; wants_all: where it selects none."""

    locked: set[str]
    ignored: set[str]
    wanted: set[str]
    wants_all: bool

    def want(self, names: set[str]) -> bool:
        """Return whether what bears these names is selected by one of them."""
        return not self.wanted.isdisjoint(names)

    def keep(self, names: set[str]) -> bool:
        """Return whether a rule of these names is left."""
        if not self.locked.isdisjoint(names):
            return True
        if not self.ignored.isdisjoint(names):
            return False
        return self.wants_all or self.want(names)


class _OfRules(Record):
    """Clauses that are judged because one of their rules is."""

    wanted: set[str]
    locked: set[str]
    in_locked_areas: set[str]


def verified(
    judging: Judging, edition: Edition, rules: Sequence[RuleEntry]
) -> tuple[str, ...]:
    """Verify the names that a request gives; return a warning for each in vain.

    Raises UnknownSelection for a name that asks for something to be judged, or to weigh
    more, and stands for nothing. What is ignored may have gone.
    """
    policy, selection = judging.policy, judging.selection
    if selection.is_empty and not (policy.levels or policy.file_ignores):
        return ()
    known = known_names(edition, rules)
    warnings = [*_verified_selection(selection, edition, rules, known)]
    for raised in policy.levels:
        _verify_level(raised, edition, rules, known)
    return (*warnings, *_ignored_in_vain(policy, known, edition))


def _verified_selection(
    selection: Selection,
    edition: Edition,
    rules: Sequence[RuleEntry],
    known: Mapping[str, str],
) -> Iterator[str]:
    wanted = [
        *(("select", name) for name in selection.select),
        *(("extend-select", name) for name in selection.extend_select),
    ]
    for option, name in wanted:
        if name.lower() not in known:
            raise unknown(_stated(selection, option, name), name, known, edition)
    for lock in selection.mandatory:
        if lock.name.lower() not in known:
            stated = f"{place_text(lock.place)}: mandatory"
            raise unknown(stated, lock.name, known, edition)
    for name in dict.fromkeys(selection.ignore):
        stated = _stated(selection, "ignore", name)
        kept_by = _lock_on(selection, name, edition, rules)
        if kept_by is not None:
            by = place_text(kept_by.place)
            yield f"{stated} {name} has no effect: mandatory by {by}"
        elif name.lower() not in known:
            yield in_vain(stated, name, known, edition)


def _stated(selection: Selection, option: str, name: str) -> str:
    """Return how a name is given: by an option, or at a line of settings."""
    place = selection.place_of(option, name)
    return f"{place_text(place)}: {option}" if place.span else place.key


def _lock_on(
    selection: Selection, name: str, edition: Edition, rules: Sequence[RuleEntry]
) -> NamedAt | None:
    """Return a lock that keeps what a name would switch off, where it keeps it all."""
    if not selection.mandatory:
        return None
    meant = [names_of_rule(rule) for rule in rules]
    meant += (
        {clause.id.lower(), clause.area.lower()} for clause in edition.clauses.values()
    )
    locks = [
        next((lock for lock in selection.mandatory if lock.name.lower() in names), None)
        for names in meant
        if name.lower() in names
    ]
    return locks[0] if locks and all(locks) else None


def selected_rules(selection: Selection, rules: Sequence[RuleEntry]) -> list[RuleEntry]:
    """Return the rules that a selection keeps."""
    if selection.is_empty:
        return list(rules)
    names = _lower_case(selection)
    return [rule for rule in rules if names.keep(names_of_rule(rule))]


def narrowed(
    selection: Selection, edition: ComposedEdition, rules: Sequence[RuleEntry]
) -> ComposedEdition:
    """Return the edition in which only the clauses that are kept are selected."""
    if selection.is_empty:
        return edition
    names = _lower_case(selection)
    kept = selected_rules(selection, rules)
    of_rules = _OfRules(
        {rule.clause for rule in kept if names.want(names_of_rule(rule))},
        {rule.clause for rule in kept if rule.name in names.locked},
        {rule.clause for rule in kept if rule.area in names.locked},
    )
    return edition.selecting(lambda judged: _keeps_clause(judged, names, of_rules))


def _lower_case(selection: Selection) -> _Names:
    wanted = {name.lower() for name in (*selection.select, *selection.extend_select)}
    return _Names(
        locked={lock.name.lower() for lock in selection.mandatory},
        ignored={name.lower() for name in selection.ignore},
        wanted=wanted,
        wants_all=not selection.select,
    )


def known_names(edition: Edition, rules: Sequence[RuleEntry]) -> dict[str, str]:
    """Return what clauses, areas and rules are called, by the same in small letters."""
    known = {name.lower(): name for rule in rules for name in (rule.name, rule.area)}
    for clause in edition.clauses.values():
        known[clause.id.lower()] = clause.id
        known[clause.area.lower()] = clause.area
    return known


def place_text(place: Place) -> str:
    """Return the file and line of a place, or the option of the command line."""
    return f"{place.file}:{place.span.line}" if place.span else place.key


def unknown(
    text: str, name: str, known: Mapping[str, str], edition: Edition
) -> UnknownSelection:
    """Return the fault of a name that nothing has.

    `said`: where and how it is given.
    """
    return UnknownSelection(f"{text} {name}: {_no_such(name, known, edition)}")


def in_vain(text: str, name: str, known: Mapping[str, str], edition: Edition) -> str:
    """Return the warning for a name that nothing has."""
    return f"{text} {name} has no effect: {_no_such(name, known, edition)}"


def names_of_rule(rule: RuleEntry) -> set[str]:
    """Return what selects a rule: its name and area, its clause and that one's area."""
    clause = rule.clause.lower()
    return {rule.name, rule.area, clause, clause.partition("-")[0]}


def _no_such(name: str, known: Mapping[str, str], edition: Edition) -> str:
    tombstone = edition.withdrawn.get(name.upper())
    if tombstone is not None:
        return tombstone.text
    from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

    close = nearest(name.lower(), known)
    hint = f"did you mean {known[close]}?" if close else "see speccheck rules"
    return f"no such clause, area or rule: {hint}"


def _keeps_clause(judged: JudgedClause, names: _Names, of_rules: _OfRules) -> bool:
    name = judged.clause.id
    if name in of_rules.locked or name.lower() in names.locked:
        return True
    of_it = {name.lower(), judged.clause.area.lower()}
    if judged.is_selected and (
        name in of_rules.in_locked_areas or not names.locked.isdisjoint(of_it)
    ):
        return True  # of an area, those that the profile asks for
    if not names.ignored.isdisjoint(of_it):
        return False
    if names.wants_all and judged.is_selected:
        return True
    return name in of_rules.wanted or names.want(of_it)


def _ignored_in_vain(
    policy: Policy, known: Mapping[str, str], edition: Edition
) -> Iterator[str]:
    locks = {lock.name.lower(): lock for lock in reversed(policy.mandatory)}
    for file_ignore in policy.file_ignores:
        text = f"{place_text(file_ignore.place)}: per-file-ignores"
        for name in file_ignore.names:
            lock = locks.get(name.lower())
            if lock is not None:
                yield (
                    f"{text} {name} has no effect: mandatory by "
                    f"{place_text(lock.place)}"
                )
            elif name.lower() not in known:
                yield in_vain(text, name, known, edition)


def _verify_level(
    raised: RaisedLevel,
    edition: Edition,
    rules: Sequence[RuleEntry],
    known: Mapping[str, str],
) -> None:
    """Verify that levels only rise.

    Raises UnknownSelection for one below all of them.
    """
    text = f"{place_text(raised.place)}: levels"
    if raised.name.lower() not in known:
        raise unknown(text, raised.name, known, edition)
    weights = _weights(raised.name.lower(), edition, rules)
    if weights and all(RANKS[item] > RANKS[raised.level] for item in weights):
        least = min(weights, key=RANKS.__getitem__)
        message = (
            f'{text} {raised.name} = "{raised.level}": a failure weighs {least} '
            "already, and a level is only ever raised: to silence one, write a waiver "
            "with its reason"
        )
        raise UnknownSelection(message)


def _weights(name: str, edition: Edition, rules: Sequence[RuleEntry]) -> list[Level]:
    """Return what failures of all that bears a name weigh by the edition."""
    texts: list[Level] = [
        weight(clause.level, "exact")
        for clause in edition.clauses.values()
        if name in {clause.id.lower(), clause.area.lower()}
    ]
    of_rules: list[Level] = [
        weight(edition.clauses[rule.clause].level, rule.confidence)
        for rule in rules
        if name in names_of_rule(rule) and rule.clause in edition.clauses
    ]
    return texts or of_rules
