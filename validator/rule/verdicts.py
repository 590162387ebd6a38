"""Verdicts that the engine gives in place of a rule."""

from typing import Any

from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.rule import Rule, Verdict


def broken(rule: Rule, error: Exception) -> Verdict:
    """A rule that raised: our mistake, and no verdict on what it judged."""
    message = f"{rule.name} broke: {type(error).__name__}: {error}"
    return Verdict("error", message)


def doubted(verdicts: list[Verdict], leaf: Value[Any]) -> list[Verdict]:
    """The verdicts, with no pass: the rule looked at a leaf that cannot be read."""
    kept = [one for one in verdicts if one.outcome != "pass"]
    if len(kept) == len(verdicts) or any(one.outcome == "unknown" for one in kept):
        return kept
    return [*kept, missing_verdict(MissingEvidence(leaf.name, leaf.note))]


def no_source(kind: type) -> MissingEvidence:
    """A kind of evidence that nothing at hand gives: parts by what snapshots call them.

    `CollectiveRuns` are collective_runs.
    """
    part = getattr(kind, "part", kind)
    name = getattr(part, "kind", "") or kind.__name__
    return MissingEvidence(name, "no source gives it")


def missing_verdict(evidence: MissingEvidence) -> Verdict:
    """A rule that asked for what is not known."""
    message = f"needs {evidence.name}"
    if evidence.reason:
        message += f" ({evidence.reason})"
    return Verdict("unknown", message, missing=(evidence.name,))
