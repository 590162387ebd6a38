"""Profiles that differ between two editions: what they add, raise and leave out."""

from collections.abc import Iterator, Mapping

from speccheck.validator.editions.difference import Difference, Weight, may_be_must
from speccheck.validator.editions.edition import Edition, Profile, UseTerms
from speccheck.validator.evidence.finding import ClauseLevel

_RANK = {"may": 0, "should": 1, "must": 2}
# Terms of a use of which more asks for less, and of which less does.
_MORE_IS_LESS = ("validity_days", "evidence_age_days")
_LESS_IS_LESS = ("coverage_floor", "least_specimens")


def profile_differences(before: Edition, after: Edition) -> Iterator[Difference]:
    """What differs in the profiles of two editions."""
    for name, new in after.profiles.items():
        if name not in before.profiles:
            yield _new(before, after, new)
    for name, old in before.profiles.items():
        found = after.profiles.get(name)
        if found is None:
            reason = "runs that name it cannot be judged"
            yield Difference("profile", name, "is gone", "MAJOR", reason)
        else:
            yield from _adds(after, old, found)
            yield from _raises(old, found)
            yield from _left_out(after, old, found)
            yield from _fields(old, found)
            yield from _terms(old, found)


def _new(before: Edition, after: Edition, profile: Profile) -> Difference:
    """A profile that nobody was judged by; but jobs of its kind may have been."""
    text = f"new: {profile.title or profile.id}"
    if profile.kind == "use":
        reason = "who names it is judged by it, nobody else"
        return Difference("profile", profile.id, text, "MINOR", reason)
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
        return Difference("profile", profile.id, text, "MAJOR", reason)
    reason = "jobs of its kind meet no must that they did not meet before"
    return Difference("profile", profile.id, text, "MINOR", reason)


def _adds(after: Edition, old: Profile, new: Profile) -> Iterator[Difference]:
    one, two = added_clauses(old), added_clauses(new)
    for key in sorted(two - one):
        kind, name = key
        condition = f", where there is evidence of {kind}" if kind else ""
        clause = after.clauses[name]
        is_must = may_be_must(after, clause) and clause.status != "core"
        weight: Weight = "MAJOR" if is_must else "MINOR"
        reason = "a must is judged that was not" if is_must else "no must comes of it"
        text = f"has {name} judged{condition}"
        yield Difference("profile", new.id, text, weight, reason)
    for _, name in sorted(one - two):
        if name in after.clauses:
            text = f"has {name} judged no longer"
            reason = "less is asked than before"
            yield Difference("profile", new.id, text, "MINOR", reason)


def added_clauses(profile: Profile) -> set[tuple[str, str]]:
    """The clauses that a profile adds, each with the evidence that it takes."""
    found = {("", name) for name in profile.adds}
    for kind, names in profile.adds_with_evidence.items():
        found |= {(kind, name) for name in names}
    return found


def _raises(old: Profile, new: Profile) -> Iterator[Difference]:
    one, two = raised_levels(old), raised_levels(new)
    for key in sorted({*one, *two}):
        before, after = one.get(key), two.get(key)
        if before == after:
            continue
        clause, use, size = key
        where = "".join(f" with {part}" for part in (use, size) if part)
        text = f"raises {clause}{where}: {before or 'not'} -> {after or 'not'}"
        is_more = after is not None and (before is None or _RANK[after] > _RANK[before])
        if is_more and after == "must":
            reason = "what failed it passed as a whole, and does no more"
            yield Difference("profile", new.id, text, "MAJOR", reason)
        else:
            reason = "no must comes of it" if is_more else "less is asked than before"
            yield Difference("profile", new.id, text, "MINOR", reason)


def raised_levels(profile: Profile) -> Mapping[tuple[str, str, str], ClauseLevel]:
    """The raised level by clause, use and size; empty for any use, any size."""
    found: dict[tuple[str, str, str], ClauseLevel] = {}
    for entry in profile.raises:
        for clause, level in entry.levels.items():
            for use in entry.uses or ("",):
                for size in entry.sizes or ("",):
                    key = clause, use, size
                    known = found.get(key, level)
                    found[key] = max(known, level, key=_RANK.__getitem__)
    return found


def _left_out(after: Edition, old: Profile, new: Profile) -> Iterator[Difference]:
    one, two = old.not_applicable, new.not_applicable
    for name in sorted(set(two) - set(one)):
        text = f"leaves {name} out: {two[name]}"
        yield Difference("profile", new.id, text, "MINOR", "less is asked than before")
    for name in sorted(set(one) - set(two)):
        found = [c for c in after.clauses.values() if name in (c.id, c.area)]
        is_must = any(may_be_must(after, clause) for clause in found)
        if found:
            weight: Weight = "MAJOR" if is_must else "MINOR"
            text = f"leaves {name} out no longer"
            reason = "a must applies that did not" if is_must else "no must comes of it"
            yield Difference("profile", new.id, text, weight, reason)


def _fields(old: Profile, new: Profile) -> Iterator[Difference]:
    for field in ("nodes", "gpus"):
        if getattr(old, field) != getattr(new, field):
            reason = "jobs fall into another class, with other levels and numbers"
            text = f"bounds of {field} are others"
            yield Difference("profile", new.id, text, "MAJOR", reason)
    for field in ("accelerator", "fabric"):
        one, two = getattr(old, field), getattr(new, field)
        if one != two:
            text = f"{field}: {one or 'none'} -> {two or 'none'}"
            reason = "other levels and numbers hold for the same machine"
            yield Difference("profile", new.id, text, "MAJOR", reason)
    if old.title != new.title:
        yield Difference("wording", new.id, "retitled", "PATCH", "it judges as before")
    if old.status != new.status:
        text = f"{old.status} -> {new.status}"
        yield Difference("profile", new.id, text, "PATCH", "it judges as before")


def _terms(old: Profile, new: Profile) -> Iterator[Difference]:
    one, two = old.terms, new.terms
    if one is None or two is None or one == two:
        return
    for field in UseTerms._fields:
        before, after = getattr(one, field), getattr(two, field)
        if before == after:
            continue
        weight: Weight = "MINOR" if _asks_less(field, before, after) else "MAJOR"
        reason = (
            "less is asked than before"
            if weight == "MINOR"
            else "a result that was enough may not be"
        )
        text = f"{field}: {_told(before)} -> {_told(after)}"
        yield Difference("profile", new.id, text, weight, reason)


def _asks_less(field: str, before: object, after: object) -> bool:
    if field in (*_MORE_IS_LESS, *_LESS_IS_LESS) and after is None:
        return True
    if not isinstance(before, int | float) or not isinstance(after, int | float):
        return False
    if field in _MORE_IS_LESS:
        return after > before
    return field in _LESS_IS_LESS and after < before


def _told(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return "none" if value is None else str(value)
