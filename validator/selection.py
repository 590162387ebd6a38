"""`--select` and `--ignore`: by clause, area or rule name."""

from collections.abc import Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.rule_index import RuleEntry
from speccheck.validator.spec.compose import ComposedEdition, JudgedClause
from speccheck.validator.spec.edition import Edition


class UnknownSelection(Exception):  # noqa: N818 - a usage error with its own message
    """`--select` names nothing that exists."""


class Selection(Record):
    """Names of clauses (COMM-001), areas (COMM, communication) and rules."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def verify(self, edition: Edition, rules: Sequence[RuleEntry]) -> None:
        """Raise UnknownSelection for a name that selects or ignores nothing."""
        if not self.select and not self.ignore:
            return
        known = {name.lower() for rule in rules for name in (rule.name, rule.area)}
        for clause in edition.clauses.values():
            known.update((clause.id.lower(), clause.area.lower()))
        for option, names in (("--select", self.select), ("--ignore", self.ignore)):
            for name in names:
                if name.lower() not in known:
                    message = f"{option} {name}: no such clause, area or rule: "
                    raise UnknownSelection(message + _hint(name, known))

    def rules(self, rules: Sequence[RuleEntry]) -> list[RuleEntry]:
        """The rules that are left."""
        if not self.select and not self.ignore:
            return list(rules)
        return [rule for rule in rules if self._keeps_rule(rule)]

    def narrow(
        self, edition: ComposedEdition, rules: Sequence[RuleEntry]
    ) -> ComposedEdition:
        """The edition with only the clauses selected that are left."""
        if not self.select and not self.ignore:
            return edition
        clauses = {rule.clause for rule in self.rules(rules)}
        return edition.selecting(lambda judged: self._keeps_clause(judged, clauses))

    def _keeps_rule(self, rule: RuleEntry) -> bool:
        names = {rule.name, rule.area, rule.clause.lower()}
        names.add(rule.clause.partition("-")[0].lower())
        if _meets(self.ignore, names):
            return False
        return not self.select or _meets(self.select, names)

    def _keeps_clause(self, judged: JudgedClause, of_rules: set[str]) -> bool:
        names = {judged.clause.id.lower(), judged.clause.area.lower()}
        if _meets(self.ignore, names):
            return False
        if not self.select:
            return judged.is_selected
        return judged.clause.id in of_rules or _meets(self.select, names)


def _hint(name: str, known: set[str]) -> str:
    from speccheck.validator.evidence.nearest import nearest  # noqa: PLC0415 - rare

    close = nearest(name.lower(), known)
    return f"did you mean {close}?" if close else "see speccheck rules"


def _meets(wanted: tuple[str, ...], names: set[str]) -> bool:
    return any(name.lower() in names for name in wanted)
