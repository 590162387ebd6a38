"""Clauses that differ between two editions: what came, went, rose, or was reworded."""

from collections.abc import Iterator

from speccheck.validator.editions.difference import (
    Difference,
    Weight,
    added_by,
    may_be_must,
)
from speccheck.validator.editions.differing_numbers import number_differences
from speccheck.validator.editions.edition import Clause, Edition

_RANK = {"may": 0, "should": 1, "must": 2}
_WORDING = ("title", "requirement", "rationale", "remedy", "note", "origin")


def clause_differences(before: Edition, after: Edition) -> Iterator[Difference]:
    """What differs in the clauses of two editions, the conditions among it."""
    for name, clause in after.clauses.items():
        if name not in before.clauses:
            yield _added(before, after, clause)
    yield from _gone(before, after)
    for name, old in before.clauses.items():
        new = after.clauses.get(name)
        if new is not None:
            yield from _deprecated(old, new)
            yield from _level(before, after, old, new)
            yield from number_differences(old, new, before.profiles)
            yield from _application(before, after, old, new)
            yield from _wording(old, new)


def _added(before: Edition, after: Edition, clause: Clause) -> Difference:
    known = added_by(after, clause.id) & set(before.profiles)
    text = f"new {clause.level}, {clause.status}: {clause.title}"
    weight: Weight = "MINOR"
    if clause.status != "core" and not known:
        reason = "no profile of before has it judged"
    elif may_be_must(after, clause):
        weight, reason = "MAJOR", "a new must fails runs that passed without it"
    else:
        reason = f"a new {clause.level} turns no pass into a failure"
    return Difference("added", clause.id, text, weight, reason)


def _gone(before: Edition, after: Edition) -> Iterator[Difference]:
    for name, old in before.clauses.items():
        if name in after.clauses:
            continue
        tombstone = after.withdrawn.get(name)
        if tombstone is None:
            reason = "ids are permanent: a clause goes with a tombstone or stays"
            text = f"gone without a tombstone: {old.title}"
            yield Difference("withdrawn", name, text, "MAJOR", reason)
        elif old.deprecated is None:
            reason = "no edition announced it, and settings that name it break"
            text = f"{old.title}: {tombstone.text}"
            yield Difference("withdrawn", name, text, "MAJOR", reason)
        else:
            reason = "announced before; what is asked no longer fails nothing"
            text = f"{old.title}: {tombstone.text}"
            yield Difference("withdrawn", name, text, "MINOR", reason)
    for name in before.withdrawn:
        if name in after.clauses:
            reason = "the id of a withdrawn clause is never used again"
            text = "stands again after it was withdrawn"
            yield Difference("withdrawn", name, text, "MAJOR", reason)
        elif name not in after.withdrawn:
            text = "its tombstone is gone"
            yield Difference("withdrawn", name, text, "MAJOR", "ids are permanent")


def _deprecated(old: Clause, new: Clause) -> Iterator[Difference]:
    if old.deprecated == new.deprecated:
        return
    text = "deprecated no longer" if new.deprecated is None else new.deprecated.text
    yield Difference("deprecated", new.id, text, "MINOR", "it is judged as before")


def _level(
    before: Edition, after: Edition, old: Clause, new: Clause
) -> Iterator[Difference]:
    if old.level != new.level:
        weight: Weight = "MINOR"
        if _RANK[new.level] < _RANK[old.level]:
            reason = "less is asked than before"
        elif new.level == "must":
            weight, reason = (
                "MAJOR",
                "what failed it passed as a whole, and does no more",
            )
        else:
            reason = "no must comes of it"
        text = f"{old.level} -> {new.level}"
        levels = (old.level, new.level)
        yield Difference("level", new.id, text, weight, reason, levels=levels)
    if old.status != new.status:
        text = f"{old.status} -> {new.status}"
        if new.status == "core" and may_be_must(after, new):
            reason = "a must that was not judged everywhere is now"
            yield Difference("level", new.id, text, "MAJOR", reason)
        else:
            reason = "no must comes of it"
            yield Difference("level", new.id, text, "MINOR", reason)
    if old.certification_level != new.certification_level:
        text = f"certification {old.certification_level} -> {new.certification_level}"
        is_earlier = new.certification_level < old.certification_level
        is_heavy = is_earlier and may_be_must(before, old)
        reason = (
            "a lower level of a certificate asks for a must that it did not ask for"
            if is_heavy
            else "no level of a certificate asks for more musts"
        )
        weight = "MAJOR" if is_heavy else "MINOR"
        yield Difference("level", new.id, text, weight, reason)


def _application(
    before: Edition, after: Edition, old: Clause, new: Clause
) -> Iterator[Difference]:
    """Where a clause applies, by which evidence, and for which tracks it counts."""
    is_must = may_be_must(after, new)
    weight: Weight = "MAJOR" if is_must else "MINOR"
    fewer = sorted(set(old.applies_when) - set(new.applies_when))
    more = sorted(set(new.applies_when) - set(old.applies_when))
    if fewer:
        text = f"applies no longer only where {', '.join(fewer)}"
        reason = f"a {new.level} applies where it did not"
        yield Difference("application", new.id, text, weight, reason)
    if more:
        text = f"applies only where {', '.join(more)}"
        reason = "it applies in fewer places"
        yield Difference("application", new.id, text, "MINOR", reason)
    for name in sorted(set(old.applies_when) & set(new.applies_when)):
        one, two = before.conditions[name], after.conditions[name]
        if one._replace(text=two.text) != two:
            text = f"condition {name} is another"
            reason = f"a {new.level} may apply where it did not"
            yield Difference("application", new.id, text, weight, reason)
    if set(old.evidence) != set(new.evidence):
        gone = sorted(set(old.evidence) - set(new.evidence))
        text = f"evidence: {', '.join(old.evidence)} -> {', '.join(new.evidence)}"
        reason = (
            f"by {', '.join(gone)} it passes no more" if gone else "more can show it"
        )
        yield Difference(
            "application", new.id, text, weight if gone else "MINOR", reason
        )
    joined = sorted(set(new.tracks) - set(old.tracks))
    if set(old.tracks) != set(new.tracks):
        text = f"tracks: {', '.join(old.tracks)} -> {', '.join(new.tracks)}"
        reason = (
            f"a level of {', '.join(joined)} asks for more"
            if joined
            else "no track asks for more"
        )
        found: Weight = weight if joined else "MINOR"
        yield Difference("application", new.id, text, found, reason)


def _wording(old: Clause, new: Clause) -> Iterator[Difference]:
    changed = [one for one in _WORDING if getattr(old, one) != getattr(new, one)]
    if changed:
        text = f"reworded: {', '.join(changed)}"
        yield Difference("wording", new.id, text, "PATCH", "it is judged as before")
