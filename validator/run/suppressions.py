"""What would be judged, had nobody switched it off: silence is never hidden."""

from collections.abc import Iterable

from speccheck.validator.engine.judge import Judge
from speccheck.validator.engine.judges import Judges
from speccheck.validator.engine.request import Selection
from speccheck.validator.engine.rule_index import RuleEntry
from speccheck.validator.engine.selection import names_of_rule, place_text
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.finding import ClauseLevel
from speccheck.validator.evidence.record import Record

_SELECT = "--select"  # who types it knows what is left


class Suppressed(Record):
    """A clause that was not judged, or not by one of its rules, and who said so."""

    clause: str
    clause_level: ClauseLevel
    rule: str
    by: str


class Suppressions:
    """The clauses and rules that a selection leaves out of an edition."""

    def __init__(self, judges: Judges, judge: Judge) -> None:
        """Compare what would be judged without the selection with what is."""
        selection = judges.request.judging.selection
        before, scopes = judges.unselected[judge]
        after = judge.composed
        rules = [rule for rule in judges.entries if rule.scope in scopes]
        kept = {rule.name for rule in judges.selected}
        still = {clause.clause.id for clause in after.clauses if clause.is_selected}
        by_clause: dict[str, list[RuleEntry]] = {}
        for rule in rules:
            by_clause.setdefault(rule.clause, []).append(rule)
        self._left_out: dict[str, list[Suppressed]] = {}
        for judged in before.clauses:
            clause = judged.clause
            if not judged.is_selected:
                continue
            of_clause = {clause.id.lower(), clause.area.lower()}
            silenced = [("", of_clause)]
            if clause.id in still:
                silenced = [
                    (rule.name, names_of_rule(rule))
                    for rule in by_clause.get(clause.id, ())
                    if rule.name not in kept
                ]
            for rule_name, names in silenced:
                by = _by(selection, names)
                if by != _SELECT:
                    left_out = Suppressed(clause.id, judged.level, rule_name, by)
                    self._left_out.setdefault(clause.id, []).append(left_out)
        # Without rules: only whether the clauses apply is asked.
        concerned = before.selecting(
            lambda judged_clause: (
                judged_clause.is_selected and judged_clause.clause.id in self._left_out
            )
        )
        self._judge = Judge(concerned, {})

    def __call__(self, evidence: Evidence) -> tuple[Suppressed, ...]:
        """Return what is suppressed of what applies, or may apply, to a plan."""
        return tuple(
            left_out
            for finding in self._judge(evidence)
            if finding.outcome != "not_applicable"
            for left_out in self._left_out[finding.clause]
        )


def _by(selection: Selection, names: set[str]) -> str:
    """Return who suppressed what bears these names: a line of settings, an option."""
    for name in selection.ignore:
        if name.lower() in names:
            return place_text(selection.place_of("ignore", name))
    return place_text(selection.place_of("select", selection.select[0]))


class SuppressedBy(Record):
    """What one line of settings, or one option, switched off in a run."""

    by: str
    clauses: dict[str, list[str]]
    rules: list[str]


def switched_off(left_out: Iterable[Suppressed]) -> tuple[SuppressedBy, ...]:
    """Return what was suppressed in some plans, each once, by who did it."""
    result: dict[str, SuppressedBy] = {}
    for item in dict.fromkeys(left_out):
        empty = SuppressedBy(item.by, {"must": [], "should": [], "may": []}, [])
        of_it = result.setdefault(item.by, empty)
        if item.rule:
            of_it.rules.append(f"{item.rule} of {item.clause}")
        else:
            of_it.clauses[item.clause_level].append(item.clause)
    return tuple(result.values())
