"""What is judged and what is not: clauses, areas and rules by their names."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.editions.compose import ComposedEdition, JudgedClause
from speccheck.validator.editions.edition import Edition
from speccheck.validator.engine.policy import Named
from speccheck.validator.engine.rule_index import RuleEntry
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.context import COMMAND_LINE


class UnknownSelection(Exception):  # noqa: N818 - a usage error with its own message
    """A clause, area or rule is asked for that does not exist."""


class _Names(Record):
    """The names of a selection in small letters; wants_all: where it selects none."""

    locked: set[str]
    ignored: set[str]
    wanted: set[str]
    wants_all: bool

    def want(self, names: set[str]) -> bool:
        """Whether what bears these names is selected by one of them."""
        return not self.wanted.isdisjoint(names)

    def keep(self, names: set[str]) -> bool:
        """Whether a rule of these names is left."""
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


class Selection(Record):
    """Names of clauses (COMM-001), areas (COMM, communication) and rules.

    extend_select: judged beside what is selected, or beside what the profile asks for.
    mandatory: judged whatever else is said. places: option, name and place of names
    that settings give.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    mandatory: tuple[Named, ...] = ()
    places: tuple[tuple[str, str, Place], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether all is judged that the profile asks for."""
        return not (self.select or self.ignore or self.extend_select or self.mandatory)

    def verify(self, edition: Edition, rules: Sequence[RuleEntry]) -> Iterator[str]:
        """What is said in vain, a warning each.

        Raises UnknownSelection for a name that selects nothing, or that is mandatory:
        both ask for something to be judged. What is ignored may have gone.
        """
        if self.is_empty:
            return
        known = known_names(edition, rules)
        wanted = [
            *(("select", name) for name in self.select),
            *(("extend-select", name) for name in self.extend_select),
        ]
        for option, name in wanted:
            if name.lower() not in known:
                said = self._said(option, name)
                raise unknown(said, name, known, edition)
        for one in self.mandatory:
            if one.name.lower() not in known:
                said = f"{told(one.place)}: mandatory"
                raise unknown(said, one.name, known, edition)
        for name in dict.fromkeys(self.ignore):
            said = self._said("ignore", name)
            lock = self._lock_on(name, edition, rules)
            if lock is not None:
                yield f"{said} {name} has no effect: mandatory by {told(lock.place)}"
            elif name.lower() not in known:
                yield in_vain(said, name, known, edition)

    def _lock_on(
        self, name: str, edition: Edition, rules: Sequence[RuleEntry]
    ) -> Named | None:
        """A lock that keeps what a name would switch off, where all of it is kept."""
        if not self.mandatory:
            return None
        meant = [names_of_rule(rule) for rule in rules]
        meant += (
            {one.id.lower(), one.area.lower()} for one in edition.clauses.values()
        )
        locks = [
            next((lock for lock in self.mandatory if lock.name.lower() in names), None)
            for names in meant
            if name.lower() in names
        ]
        return locks[0] if locks and all(locks) else None

    def rules(self, rules: Sequence[RuleEntry]) -> list[RuleEntry]:
        """The rules that are left."""
        if self.is_empty:
            return list(rules)
        names = self._in_small_letters()
        return [rule for rule in rules if names.keep(names_of_rule(rule))]

    def narrow(
        self, edition: ComposedEdition, rules: Sequence[RuleEntry]
    ) -> ComposedEdition:
        """The edition with only the clauses selected that are left."""
        if self.is_empty:
            return edition
        names = self._in_small_letters()
        kept = self.rules(rules)
        of_rules = _OfRules(
            {one.clause for one in kept if names.want(names_of_rule(one))},
            {one.clause for one in kept if one.name in names.locked},
            {one.clause for one in kept if one.area in names.locked},
        )
        return edition.selecting(lambda one: _keeps_clause(one, names, of_rules))

    def _in_small_letters(self) -> "_Names":
        wanted = {name.lower() for name in (*self.select, *self.extend_select)}
        return _Names(
            locked={lock.name.lower() for lock in self.mandatory},
            ignored={name.lower() for name in self.ignore},
            wanted=wanted,
            wants_all=not self.select,
        )

    def place_of(self, option: str, name: str) -> Place:
        """Where a name is given."""
        for by, one, place in self.places:
            if (by, one) == (option, name):
                return place
        return Place(COMMAND_LINE, f"--{option}")

    def _said(self, option: str, name: str) -> str:
        place = self.place_of(option, name)
        return f"{told(place)}: {option}" if place.span else place.key


def known_names(edition: Edition, rules: Sequence[RuleEntry]) -> dict[str, str]:
    """What clauses, areas and rules are called, by the same in small letters."""
    known = {name.lower(): name for rule in rules for name in (rule.name, rule.area)}
    for clause in edition.clauses.values():
        known[clause.id.lower()] = clause.id
        known[clause.area.lower()] = clause.area
    return known


def told(place: Place) -> str:
    """File and line of a place, or the option of the command line."""
    return f"{place.file}:{place.span.line}" if place.span else place.key


def unknown(
    said: str, name: str, known: Mapping[str, str], edition: Edition
) -> UnknownSelection:
    """The fault of a name that nothing has; `said`: where and how it is given."""
    return UnknownSelection(f"{said} {name}: {_no_such(name, known, edition)}")


def in_vain(said: str, name: str, known: Mapping[str, str], edition: Edition) -> str:
    """The warning for a name that nothing has."""
    return f"{said} {name} has no effect: {_no_such(name, known, edition)}"


def names_of_rule(rule: RuleEntry) -> set[str]:
    """What a rule is selected by: its name and area, its clause and that one's area."""
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
