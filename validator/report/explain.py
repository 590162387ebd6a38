"""What a rule or a clause asks, why, and how to meet it: on a terminal and as pages."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from speccheck.validator.editions.edition import (
    DEFAULT_EDITION,
    Clause,
    Edition,
    level_word,
)
from speccheck.validator.editions.show import clause_text, tombstone_text
from speccheck.validator.evidence.measurement.cost import cost_of, cost_text
from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.report.style import wrap
from speccheck.validator.report.write_markdown import plain, prose, with_fences
from speccheck.validator.rule import Rule

_WIDTH = 80
_LEVEL_IN_REPORT = {"must": "error", "should": "warning", "may": "info"}


class UnknownTopic(Exception):  # noqa: N818 - a usage error with its own message
    """`speccheck explain` was asked for something that is no rule and no clause."""


class RuleText(NamedTuple):
    """A rule's docstring, taken apart at its headings."""

    title: str
    body: str


def rule_text(rule: Rule) -> RuleText:
    """Return the title and the body of the rule module's docstring."""
    import sys  # noqa: PLC0415 - only to reach the module of the rule

    module = sys.modules[rule.function.__module__]
    title, _, body = (module.__doc__ or rule.name).strip().partition("\n")
    return RuleText(title.strip(), body.strip("\n"))


def explain(topic: str, edition: Edition, rules: Sequence[Rule]) -> str:
    """Return the explanation of a rule's name or a clause's id; raises UnknownTopic."""
    for rule in rules:
        if rule.name == topic.lower():
            return _rule(rule, edition)
    clause = edition.clauses.get(topic.upper())
    if clause is not None:
        return _clause(clause, edition, rules)
    tombstone = edition.withdrawn.get(topic.upper())
    if tombstone is not None:
        return tombstone_text(edition, tombstone)
    known = [rule.name for rule in rules] + list(edition.clauses)
    close = nearest(topic, known) or nearest(topic.upper(), known)
    hint = f"did you mean {close}?" if close else "speccheck list rules lists them"
    message = f"{topic}: no such rule or clause, and none speaks of it: {hint}"
    raise UnknownTopic(message)


def _rule(rule: Rule, edition: Edition) -> str:
    clause = edition.clauses.get(rule.clause)
    if clause is None:
        return _of_another_edition(rule, edition)
    text = rule_text(rule)
    lines = [
        f"{rule.name}: {text.title}",
        f"clause {clause.id} ({level_word(clause.level)}): {clause.title}",
        "",
        text.body,
        "",
        "Requirement",
        wrap(clause.requirement_text(), _WIDTH, "    "),
        "",
        "Why",
        wrap(clause.rationale, _WIDTH, "    "),
        "",
        "What to change",
        wrap(clause.remedy, _WIDTH, "    "),
        "",
        *_certainty(rule),
        *_cost(rule),
    ]
    return "\n".join(lines) + "\n"


def _of_another_edition(rule: Rule, edition: Edition) -> str:
    """Return the page of a rule whose clause the edition lacks."""
    gone = edition.withdrawn.get(rule.clause)
    reason = gone.text if gone else "the edition has no such clause"
    text = rule_text(rule)
    lines = [
        f"{rule.name}: {text.title}",
        f"clause {rule.clause}, edition {edition.id}: {reason}",
        "",
        text.body,
    ]
    return "\n".join(lines) + "\n"


def _certainty(rule: Rule) -> Iterator[str]:
    words = {
        "exact": "What it says of the files is counted, or what the framework itself "
        "refuses. Whether it hurts this job is the requirement's, below Why.",
        "lower_bound": "It fails only where even the smallest possible value is too "
        "much.",
        "calibrated": "It rests on a model that was held against published "
        "measurements: a warning at most.",
        "advisory": "It is advice: a warning at most.",
    }
    yield "How sure"
    yield wrap(words[rule.confidence], _WIDTH, "    ")
    if rule.frameworks:
        yield ""
        yield "Frameworks"
        yield f"    {', '.join(rule.frameworks)}"


def _cost(rule: Rule) -> Iterator[str]:
    """Yield what it takes to gather what the rule judges on a machine."""
    cost = _cost_text(rule)
    if cost:
        yield ""
        yield "Cost in preflight"
        yield wrap(cost, _WIDTH, "    ")


def _cost_text(rule: Rule) -> str:
    """Return the same in a line; empty for a rule of files, which are only read."""
    if rule.scope not in {"node", "measurement"}:
        return ""
    kinds = (getattr(kind, "part", kind) for kind, _ in rule.evidence)
    names = tuple(str(getattr(kind, "kind", "")) for kind in kinds)
    cost = cost_of(names, is_of_node=rule.scope == "node")
    return cost_text(cost) if cost is not None else ""


def _clause(clause: Clause, edition: Edition, rules: Sequence[Rule]) -> str:
    names = [rule for rule in rules if rule.clause == clause.id]
    lines = [clause_text(edition, clause.id).rstrip(), "", "Rules that judge it"]
    lines.extend(f"    {rule.name}: {rule_text(rule).title}" for rule in names)
    if not names:
        lines.append("    none yet: the clause is reported as unknown where it applies")
    return "\n".join(lines) + "\n"


def rule_page(rule: Rule, edition: Edition) -> str:
    """Return the documentation page of a rule, in Markdown."""
    clause = edition.clauses[rule.clause]
    text = rule_text(rule)
    level = _LEVEL_IN_REPORT[clause.level]
    page = clause.area.lower() if edition.id == DEFAULT_EDITION else edition.id
    place = f"../clauses/{page}.md#{clause.id.lower()}"
    title = f"[{clause.id}]({place}), {plain(clause.title)}"
    since = "" if edition.id == DEFAULT_EDITION else f"; from edition {edition.id} on"
    cost = _cost_text(rule)
    parts = [
        f"# {rule.name}",
        prose(text.title),
        f"Clause {title}: **{level_word(clause.level)}**, in a report {level}{since}.",
        f"Confidence: {rule.confidence}."
        + (f" Frameworks: {', '.join(rule.frameworks)}." if rule.frameworks else ""),
        *([f"Cost in preflight: {cost}."] if cost else []),
        "## Requirement",
        plain(clause.requirement_text()),
        "## Why",
        plain(clause.rationale),
        "## The rule",
        with_fences(text.body),
        "## What to change",
        plain(clause.remedy),
    ]
    return "\n\n".join(parts) + "\n"
