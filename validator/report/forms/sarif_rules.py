"""What a SARIF report says of the rules whose results it holds."""

from collections.abc import Iterable, Mapping

from speccheck.validator.editions.edition import Clause, Edition
from speccheck.validator.engine.rule_index import RuleEntry, rule_entries
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.report.edition_names import edition_of
from speccheck.validator.report.explain import rule_page, rule_text
from speccheck.validator.rule import Confidence, Rule
from speccheck.validator.run.run import Run

LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_LEVEL_OF_CLAUSE = {"must": "error", "should": "warning", "may": "note"}
# As code scanning names them; a recommendation is less than a warning.
_SEVERITIES = {"error": "error", "warning": "warning", "note": "recommendation"}
_PRECISIONS: dict[Confidence, str] = {
    "exact": "very-high",
    "lower_bound": "very-high",
    "calibrated": "medium",
    "advisory": "low",
}
_ADVICE: tuple[Confidence, ...] = ("calibrated", "advisory")
_MOST_LETTERS = 1024  # of a description, on GitHub


def descriptors(found: Iterable[Finding], run: Run) -> dict[str, dict[str, object]]:
    """A description for each rule or clause of these findings, by its id, in order."""
    first: dict[str, Finding] = {}
    for finding in found:
        first.setdefault(finding.rule or finding.clause, finding)
    entries = _entries(one.rule for one in first.values() if one.rule)
    return {
        name: _descriptor(
            name, first[name], entries.get(name), edition_of(run, first[name])
        )
        for name in sorted(first)
    }


def _entries(names: Iterable[str]) -> Mapping[str, RuleEntry]:
    """The rules by name; those of plugins too where a name is none of ours."""
    known = {one.name: one for one in rule_entries()}
    wanted = list(names)
    if any(name not in known for name in wanted):
        from speccheck.validator.engine.rule_index import plugin_rules  # noqa: PLC0415 - seldom

        known.update({one.name: one for one in plugin_rules()})
    return {name: known[name] for name in wanted if name in known}


def _descriptor(
    name: str, finding: Finding, entry: RuleEntry | None, edition: Edition
) -> dict[str, object]:
    clause = edition.clauses[finding.clause]
    rule = entry.load() if entry is not None else None
    title = rule_text(rule).title if rule is not None else clause.title
    area = entry.area if entry is not None else edition.areas.get(clause.area, "")
    confidence = entry.confidence if entry is not None else "exact"
    level = _LEVEL_OF_CLAUSE[clause.level]
    if level == "error" and confidence in _ADVICE:
        level = "warning"
    return {
        "id": name,
        "name": _pascal(name),
        "shortDescription": {"text": title},
        "fullDescription": {"text": clause.requirement_text()[:_MOST_LETTERS]},
        "help": {"text": _help(clause), "markdown": _markdown(clause, rule, edition)},
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": [tag for tag in (area, clause.id, clause.level) if tag],
            "precision": _PRECISIONS[confidence],
            "problem.severity": _SEVERITIES[level],
        },
    }


def _pascal(name: str) -> str:
    """`RingForcedAtScale`: how the names of rules are written in SARIF."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _help(clause: Clause) -> str:
    return "\n\n".join(
        f"{heading}\n{text}" for heading, text in _paragraphs(clause).items() if text
    )


def _paragraphs(clause: Clause) -> dict[str, str]:
    return {
        f"Requirement {clause.id} ({clause.level})": clause.requirement_text(),
        "Why": clause.rationale,
        "What to change": clause.remedy,
    }


def _markdown(clause: Clause, rule: Rule | None, edition: Edition) -> str:
    if rule is not None:
        return rule_page(rule, edition)
    parts = [f"# {clause.id}: {clause.title}"]
    for heading, text in _paragraphs(clause).items():
        parts += [f"## {heading}", text]
    return "\n\n".join(parts) + "\n"
