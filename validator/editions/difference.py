"""One difference between two editions, and how much it weighs."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from speccheck.validator.editions.edition import (
    DRAFT,
    Clause,
    Edition,
    EditionProfile,
    Number,
    NumberValue,
    UseTerms,
    age,
    number_text,
    version_of,
)
from speccheck.validator.evidence.finding import ClauseLevel
from speccheck.validator.evidence.record import Record

Weight: TypeAlias = Literal["PATCH", "MINOR", "MAJOR"]
Kind: TypeAlias = Literal[
    "added",
    "withdrawn",
    "deprecated",
    "level",
    "number",
    "application",
    "profile",
    "stage",
    "wording",
]
KINDS: tuple[Kind, ...] = (
    "added",
    "withdrawn",
    "deprecated",
    "level",
    "number",
    "application",
    "profile",
    "stage",
    "wording",
)
_WEIGHTS: tuple[Weight, ...] = ("PATCH", "MINOR", "MAJOR")


class NumberChange(Record):
    """A number that changed. key: of `by_profile`; empty for the default.

    direction: upper, where a measured value must not be more; lower, where it must not
    be less; empty, where the requirement does not say so plainly.
    """

    name: str
    key: str
    before: NumberValue | None
    after: NumberValue | None
    unit: str
    direction: str
    source: str
    confidence: str


class EditionChange(Record):
    """One thing that differs. subject: a clause, a profile, or the edition itself.

    text: what differs, without the subject. reason: why it weighs what it weighs.
    levels: before and after, of a clause whose level changed.
    """

    kind: Kind
    subject: str
    text: str
    weight: Weight
    reason: str
    number: NumberChange | None = None
    levels: tuple[str, str] | None = None

    @property
    def is_of_clause(self) -> bool:
        """Whether it is of a clause itself, and not of a profile or the edition."""
        return "/" not in self.subject and self.subject not in {"edition", "base"}


def heaviest(weights: Iterable[Weight]) -> Weight:
    """Return the heaviest of some weights; PATCH for none."""
    texts = set(weights)
    for weight in reversed(_WEIGHTS):
        if weight in texts:
            return weight
    return "PATCH"


def may_be_must(edition: Edition, clause: Clause) -> bool:
    """Return whether a clause is a must, or a profile raises it to one."""
    return clause.level == "must" or any(
        entry.levels.get(clause.id) == "must"
        for profile in edition.profiles.values()
        for entry in profile.raises
    )


def added_by(edition: Edition, clause_id: str) -> frozenset[str]:
    """Return the profiles that have a proposed clause judged, on evidence or always."""
    return frozenset(
        profile.id
        for profile in edition.profiles.values()
        if clause_id in profile.adds
        or any(clause_id in ids for ids in profile.adds_with_evidence.values())
    )


# After one of these words a number tells when a requirement holds, or what is not
# asked: which way it became stricter cannot be read off the sentence.
_OPAQUE = re.compile(
    r"\b(not|no|nor|neither|never|without|unless|where|when|while|if|until|from|fewer|"
    r"other|except|times)\b"
)
_MODAL = re.compile(r"\b(must|should|may)\b")


def direction(clause: Clause, name: str) -> str:
    """Return `upper` for a number not to be exceeded, `lower` for a floor, else empty.

    Only what the requirement says plainly counts: `must be at most {x}`, `should be at
    least {x}`. A number before the modal verb narrows what the clause is about.
    """
    before, text, _ = clause.requirement.partition(f"{{{name}}}")
    modal = _MODAL.search(before)
    if not text or modal is None:
        return ""
    between = before[modal.end() :]
    bound = re.search(r"\b(?:(at most)|(at least))\s*$", between)
    if bound is None or _OPAQUE.search(between):
        return ""
    return "upper" if bound[1] else "lower"


def number_differences(
    before: Clause, after: Clause, known_profiles: Collection[str]
) -> Iterator[EditionChange]:
    """Yield what differs in the numbers of a clause.

    Args:
        before: the clause in the older edition.
        after: the clause in the newer one.
        known_profiles: of the older edition: a value for a use that is new changes
            nothing.

    """
    for name in before.numbers:
        if name not in after.numbers:
            text = f"number {name} is gone"
            reason = "what compared with it decides otherwise"
            yield EditionChange("number", after.id, text, "MAJOR", reason)
    for name, number in after.numbers.items():
        old = before.numbers.get(name)
        if old is None:
            text = f"new number {name}"
            reason = "what compares with it may fail what passed"
            yield EditionChange("number", after.id, text, "MAJOR", reason)
        else:
            yield from _number(
                after, old, number, direction(after, name), known_profiles
            )


def _number(
    clause: Clause, old: Number, new: Number, way: str, known_profiles: Collection[str]
) -> Iterator[EditionChange]:
    if old.unit.name != new.unit.name:
        text = f"{new.name}: unit {old.unit.name} -> {new.unit.name}"
        reason = "another quantity is compared"
        yield EditionChange("number", clause.id, text, "MAJOR", reason)
        return
    keys = dict.fromkeys(("", *old.by_profile, *new.by_profile))
    for key in keys:
        result, two = _under(old, key), _under(new, key)
        if result == two:
            continue
        weight, reason = _weight(result, two, way)
        if key.startswith("use/") and key not in known_profiles:
            weight, reason = "MINOR", f"nobody was judged for {key}"
        elif key.startswith("nodes/") and (result is None or two is None):
            weight, reason = "MAJOR", "between the entries of a table values move"
        where = f" in {key}" if key else ""
        before, after = _number_text(old, result), _number_text(new, two)
        text = (
            f"{new.name}{where}: {before} -> {after} ({new.confidence}: {new.source})"
        )
        change = NumberChange(
            new.name, key, result, two, new.unit.name, way, new.source, new.confidence
        )
        yield EditionChange("number", clause.id, text, weight, reason, change)
    for field in ("source", "confidence", "note"):
        if getattr(old, field) != getattr(new, field):
            text = f"{new.name}: another {field}"
            reason = "the number is the same"
            yield EditionChange("wording", clause.id, text, "PATCH", reason)


def _under(number: Number, key: str) -> NumberValue | None:
    """Return the value under a key; of a table over nodes only what stands in it."""
    if not key:
        return number.value
    default = None if key.startswith("nodes/") else number.value
    return number.by_profile.get(key, default)


def _weight(
    before: NumberValue | None, after: NumberValue | None, way: str
) -> tuple[Weight, str]:
    if before is None:
        return "MINOR", "there was none here, so nothing passed by it"
    if after is None:
        return "MAJOR", "what passed by it is no longer known"
    if not way or not _are_amounts(before, after):
        return "MAJOR", "it may fail what passed: which way is stricter is not plain"
    if (after > before) == (way == "upper"):  # type: ignore[operator] # both amounts
        return "MINOR", "less is asked than before"
    return "MAJOR", "more is asked than before"


def _are_amounts(*values: NumberValue) -> bool:
    return all(isinstance(value, int | float) for value in values)


def _number_text(number: Number, value: NumberValue | None) -> str:
    return "none" if value is None else number_text(number, value)


_RANK = {"may": 0, "should": 1, "must": 2}
_WORDING = (
    "title",
    "requirement",
    "rationale",
    "remedy",
    "remedies",
    "note",
    "origin",
)


def clause_differences(before: Edition, after: Edition) -> Iterator[EditionChange]:
    """Yield what differs in the clauses of two editions, the conditions among it."""
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


def _added(before: Edition, after: Edition, clause: Clause) -> EditionChange:
    known = added_by(after, clause.id) & set(before.profiles)
    text = f"new {clause.level}, {clause.status}: {clause.title}"
    weight: Weight = "MINOR"
    if clause.status != "core" and not known:
        reason = "no profile of before has it judged"
    elif may_be_must(after, clause):
        weight, reason = "MAJOR", "a new must fails runs that passed without it"
    else:
        reason = f"a new {clause.level} turns no pass into a failure"
    return EditionChange("added", clause.id, text, weight, reason)


def _gone(before: Edition, after: Edition) -> Iterator[EditionChange]:
    for name, old in before.clauses.items():
        if name in after.clauses:
            continue
        tombstone = after.withdrawn.get(name)
        if tombstone is None:
            reason = "ids are permanent: a clause goes with a tombstone or stays"
            text = f"gone without a tombstone: {old.title}"
            yield EditionChange("withdrawn", name, text, "MAJOR", reason)
        elif old.deprecated is None:
            reason = "no edition announced it, and settings that name it break"
            text = f"{old.title}: {tombstone.text}"
            yield EditionChange("withdrawn", name, text, "MAJOR", reason)
        else:
            reason = "announced before; what is asked no longer fails nothing"
            text = f"{old.title}: {tombstone.text}"
            yield EditionChange("withdrawn", name, text, "MINOR", reason)
    for name in before.withdrawn:
        if name in after.clauses:
            reason = "the id of a withdrawn clause is never used again"
            text = "stands again after it was withdrawn"
            yield EditionChange("withdrawn", name, text, "MAJOR", reason)
        elif name not in after.withdrawn:
            text = "its tombstone is gone"
            yield EditionChange("withdrawn", name, text, "MAJOR", "ids are permanent")


def _deprecated(old: Clause, new: Clause) -> Iterator[EditionChange]:
    if old.deprecated == new.deprecated:
        return
    text = "deprecated no longer" if new.deprecated is None else new.deprecated.text
    yield EditionChange("deprecated", new.id, text, "MINOR", "it is judged as before")


def _level(
    before: Edition, after: Edition, old: Clause, new: Clause
) -> Iterator[EditionChange]:
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
        yield EditionChange("level", new.id, text, weight, reason, levels=levels)
    if old.status != new.status:
        text = f"{old.status} -> {new.status}"
        if new.status == "core" and may_be_must(after, new):
            reason = "a must that was not judged everywhere is now"
            yield EditionChange("level", new.id, text, "MAJOR", reason)
        else:
            reason = "no must comes of it"
            yield EditionChange("level", new.id, text, "MINOR", reason)
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
        yield EditionChange("level", new.id, text, weight, reason)


def _application(
    before: Edition, after: Edition, old: Clause, new: Clause
) -> Iterator[EditionChange]:
    """Yield where a clause applies, by which evidence, and for which tracks."""
    is_must = may_be_must(after, new)
    weight: Weight = "MAJOR" if is_must else "MINOR"
    fewer = sorted(set(old.applies_when) - set(new.applies_when))
    more = sorted(set(new.applies_when) - set(old.applies_when))
    if fewer:
        text = f"applies no longer only where {', '.join(fewer)}"
        reason = f"a {new.level} applies where it did not"
        yield EditionChange("application", new.id, text, weight, reason)
    if more:
        text = f"applies only where {', '.join(more)}"
        reason = "it applies in fewer places"
        yield EditionChange("application", new.id, text, "MINOR", reason)
    for name in sorted(set(old.applies_when) & set(new.applies_when)):
        condition, two = before.conditions[name], after.conditions[name]
        if condition._replace(text=two.text) != two:
            text = f"condition {name} is another"
            reason = f"a {new.level} may apply where it did not"
            yield EditionChange("application", new.id, text, weight, reason)
    if set(old.evidence) != set(new.evidence):
        gone = sorted(set(old.evidence) - set(new.evidence))
        text = f"evidence: {', '.join(old.evidence)} -> {', '.join(new.evidence)}"
        reason = (
            f"by {', '.join(gone)} it passes no more" if gone else "more can show it"
        )
        yield EditionChange(
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
        result: Weight = weight if joined else "MINOR"
        yield EditionChange("application", new.id, text, result, reason)


def _wording(old: Clause, new: Clause) -> Iterator[EditionChange]:
    changed = [text for text in _WORDING if getattr(old, text) != getattr(new, text)]
    if changed:
        text = f"reworded: {', '.join(changed)}"
        yield EditionChange("wording", new.id, text, "PATCH", "it is judged as before")


# Terms of a use of which more asks for less, and of which less does.
_MORE_IS_LESS = ("validity_days", "evidence_age_days")
_LESS_IS_LESS = ("coverage_floor", "least_specimens")


def profile_differences(before: Edition, after: Edition) -> Iterator[EditionChange]:
    """Yield what differs in the profiles of two editions."""
    for name, new in after.profiles.items():
        if name not in before.profiles:
            yield _new(before, after, new)
    for name, old in before.profiles.items():
        profile = after.profiles.get(name)
        if profile is None:
            reason = "runs that name it cannot be judged"
            yield EditionChange("profile", name, "is gone", "MAJOR", reason)
        else:
            yield from _adds(after, old, profile)
            yield from _raises(old, profile)
            yield from _left_out(after, old, profile)
            yield from _fields(old, profile)
            yield from _terms(old, profile)


def _new(before: Edition, after: Edition, profile: EditionProfile) -> EditionChange:
    """Return the change of a new profile.

    Jobs of its kind may have been judged before.
    """
    text = f"new: {profile.title or profile.id}"
    if profile.kind == "use":
        reason = "who names it is judged by it, nobody else"
        return EditionChange("profile", profile.id, text, "MINOR", reason)
    added = {name for _, name in added_clauses(profile)}
    raised = {
        clause
        for (clause, _, _), level in raised_levels(profile).items()
        if level == "must"
    }
    harder = raised & set(before.clauses) | {
        name for name in added if may_be_must(after, after.clauses[name])
    }
    if harder:
        names = ", ".join(sorted(harder))
        reason = f"jobs of its kind passed without {names} as a must"
        return EditionChange("profile", profile.id, text, "MAJOR", reason)
    reason = "jobs of its kind meet no must that they did not meet before"
    return EditionChange("profile", profile.id, text, "MINOR", reason)


def _adds(
    after: Edition, old: EditionProfile, new: EditionProfile
) -> Iterator[EditionChange]:
    text_lists, two = added_clauses(old), added_clauses(new)
    for key in sorted(two - text_lists):
        kind, name = key
        condition = f", where there is evidence of {kind}" if kind else ""
        clause = after.clauses[name]
        is_must = may_be_must(after, clause) and clause.status != "core"
        weight: Weight = "MAJOR" if is_must else "MINOR"
        reason = "a must is judged that was not" if is_must else "no must comes of it"
        text = f"has {name} judged{condition}"
        yield EditionChange("profile", new.id, text, weight, reason)
    for _, name in sorted(text_lists - two):
        if name in after.clauses:
            text = f"has {name} judged no longer"
            reason = "less is asked than before"
            yield EditionChange("profile", new.id, text, "MINOR", reason)


def added_clauses(profile: EditionProfile) -> set[tuple[str, str]]:
    """Return the clauses that a profile adds, each with the evidence that it takes."""
    text_lists = {("", name) for name in profile.adds}
    for kind, names in profile.adds_with_evidence.items():
        text_lists |= {(kind, name) for name in names}
    return text_lists


def _raises(old: EditionProfile, new: EditionProfile) -> Iterator[EditionChange]:
    result, two = raised_levels(old), raised_levels(new)
    for key in sorted({*result, *two}):
        before, after = result.get(key), two.get(key)
        if before == after:
            continue
        clause, use, size = key
        where = "".join(f" with {part}" for part in (use, size) if part)
        text = f"raises {clause}{where}: {before or 'not'} -> {after or 'not'}"
        is_more = after is not None and (before is None or _RANK[after] > _RANK[before])
        if is_more and after == "must":
            reason = "what failed it passed as a whole, and does no more"
            yield EditionChange("profile", new.id, text, "MAJOR", reason)
        else:
            reason = "no must comes of it" if is_more else "less is asked than before"
            yield EditionChange("profile", new.id, text, "MINOR", reason)


def raised_levels(
    profile: EditionProfile,
) -> Mapping[tuple[str, str, str], ClauseLevel]:
    """Return the raised level by clause, use and size; empty for any use, any size."""
    result: dict[tuple[str, str, str], ClauseLevel] = {}
    for entry in profile.raises:
        for clause, level in entry.levels.items():
            for use in entry.uses or ("",):
                for size in entry.sizes or ("",):
                    key = clause, use, size
                    known = result.get(key, level)
                    result[key] = max(known, level, key=_RANK.__getitem__)
    return result


def _left_out(
    after: Edition, old: EditionProfile, new: EditionProfile
) -> Iterator[EditionChange]:
    result, two = old.not_applicable, new.not_applicable
    for name in sorted(set(two) - set(result)):
        text = f"leaves {name} out: {two[name]}"
        yield EditionChange(
            "profile", new.id, text, "MINOR", "less is asked than before"
        )
    for name in sorted(set(result) - set(two)):
        clauses = [c for c in after.clauses.values() if name in (c.id, c.area)]
        is_must = any(may_be_must(after, clause) for clause in clauses)
        if clauses:
            weight: Weight = "MAJOR" if is_must else "MINOR"
            text = f"leaves {name} out no longer"
            reason = "a must applies that did not" if is_must else "no must comes of it"
            yield EditionChange("profile", new.id, text, weight, reason)


def _fields(old: EditionProfile, new: EditionProfile) -> Iterator[EditionChange]:
    for field in ("nodes", "gpus"):
        if getattr(old, field) != getattr(new, field):
            reason = "jobs fall into another class, with other levels and numbers"
            text = f"bounds of {field} are others"
            yield EditionChange("profile", new.id, text, "MAJOR", reason)
    for field in ("accelerator", "fabric"):
        result, two = getattr(old, field), getattr(new, field)
        if result != two:
            text = f"{field}: {result or 'none'} -> {two or 'none'}"
            reason = "other levels and numbers hold for the same machine"
            yield EditionChange("profile", new.id, text, "MAJOR", reason)
    if old.title != new.title:
        yield EditionChange(
            "wording", new.id, "retitled", "PATCH", "it judges as before"
        )
    if old.status != new.status:
        text = f"{old.status} -> {new.status}"
        yield EditionChange("profile", new.id, text, "PATCH", "it judges as before")


def _terms(old: EditionProfile, new: EditionProfile) -> Iterator[EditionChange]:
    use_terms, two = old.terms, new.terms
    if use_terms is None or two is None or use_terms == two:
        return
    for field in UseTerms._fields:
        before, after = getattr(use_terms, field), getattr(two, field)
        if before == after:
            continue
        weight: Weight = "MINOR" if _asks_less(field, before, after) else "MAJOR"
        reason = (
            "less is asked than before"
            if weight == "MINOR"
            else "a result that was enough may not be"
        )
        text = f"{field}: {_profile_change(before)} -> {_profile_change(after)}"
        yield EditionChange("profile", new.id, text, weight, reason)


def _asks_less(field: str, before: object, after: object) -> bool:
    if field in (*_MORE_IS_LESS, *_LESS_IS_LESS) and after is None:
        return True
    if not isinstance(before, int | float) or not isinstance(after, int | float):
        return False
    if field in _MORE_IS_LESS:
        return after > before
    return field in _LESS_IS_LESS and after < before


def _profile_change(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def differences(before: Edition, after: Edition) -> tuple[EditionChange, ...]:
    """Return all that differs between two editions, each with its weight and reason."""
    return (
        *_head(before, after),
        *clause_differences(before, after),
        *profile_differences(before, after),
    )


def weight_between(before: str, after: str) -> Weight | None:
    """Return what the step from one id to another claims; None: no step on."""
    if age(after) <= age(before):
        return None
    old, new = version_of(before), version_of(after)
    if old[0] != new[0]:
        return "MAJOR"
    return "MINOR" if old[1] != new[1] else "PATCH"


def refusals(before: Edition, after: Edition, named: Collection[str]) -> Iterator[str]:
    """Yield why an edition may not be what its id says, a line for each reason.

    Args:
        before: the edition that it extends.
        after: the edition.
        named: the clauses that its CHANGES.yaml gives a reason for.

    """
    claimed = weight_between(before.id, after.id)
    if claimed is None:
        yield f"edition.yaml: id: {after.id} does not come after {before.id}"
        return
    result = differences(before, after)
    too_heavy = [
        difference
        for difference in result
        if heaviest((difference.weight, claimed)) != claimed
    ]
    for difference in too_heavy:
        yield (
            f"edition.yaml: id: {after.id} claims a {claimed} change of {before.id}, "
            f"but {difference.subject} is {difference.weight}: {difference.text}; "
            f"{difference.reason}"
        )
    clauses = {difference.subject for difference in result if difference.is_of_clause}
    for name in sorted(clauses - set(named)):
        yield f"CHANGES.yaml: {name} differs from {before.id}, and no entry says why"
    yield from _misdated(before, after)
    yield from _too_early(before, after)


def _misdated(before: Edition, after: Edition) -> Iterator[str]:
    """Yield what is withdrawn or deprecated here as of another edition."""
    version = after.id.removesuffix(DRAFT)
    result = {
        **{
            f"withdrawn: {key}": tombstone.since
            for key, tombstone in after.withdrawn.items()
            if key not in before.withdrawn
        },
        **{
            f"deprecated: {key}": clause.deprecated.since
            for key, clause in after.clauses.items()
            if clause.deprecated is not None and not _is_announced(before, key)
        },
    }
    for what, since in result.items():
        if since != version:
            yield f"edition.yaml: {what}: since: {since}: it is since {version}"


def _is_announced(edition: Edition, name: str) -> bool:
    clause = edition.clauses.get(name)
    return clause is not None and clause.deprecated is not None


def _too_early(before: Edition, after: Edition) -> Iterator[str]:
    """Yield clauses withdrawn before the edition that their deprecation announced."""
    for name in after.withdrawn:
        clause = before.clauses.get(name)
        if clause is None or clause.deprecated is None:
            continue
        announced = clause.deprecated.removed_in
        if version_of(after.id) < version_of(announced):
            yield (
                f"edition.yaml: withdrawn: {name}: was announced to be withdrawn in "
                f"{announced}, not before"
            )


def _head(before: Edition, after: Edition) -> Iterator[EditionChange]:
    for field in ("title", "statement", "stage"):
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            kind: Kind = "stage" if field == "stage" else "wording"
            text = (
                f"{field}: {old} -> {new}" if field == "stage" else f"{field} reworded"
            )
            yield EditionChange(
                kind, "edition", text, "PATCH", "no verdict rests on it"
            )
    for code in sorted(set(after.areas) - set(before.areas)):
        text = f"new area {code}, {after.areas[code]}"
        yield EditionChange("wording", "edition", text, "PATCH", "areas judge nothing")
