"""What must hold between the files of an edition."""

import re
from collections import Counter
from collections.abc import Collection, Iterator

from speccheck.validator.editions.edition_models import (
    ClauseSource,
    EditionSource,
    NumberSource,
    ProfileSource,
    RaiseSource,
)
from speccheck.validator.editions.lifecycle import DRAFT, version_of
from speccheck.validator.evidence.plan import leaf_names

COMPUTED_FACTS = ("cluster.size_class", "profile.use")
_RANK = {"may": 0, "should": 1, "must": 2}
_FIELDS_OF_KIND = {
    "size": ("nodes", "gpus"),
    "instance": ("accelerator", "fabric"),
    "use": ("certification_levels", "unknown_must", "edition_pin"),
}
_PLACEHOLDER = re.compile(r"{([^{}]*)}")


def problems(source: EditionSource) -> Iterator[str]:
    """One line for each thing that does not hold."""
    yield from _unique(source)
    for clause in source.clauses:
        for problem in _clause(clause, source):
            yield f"clauses/{clause.area.lower()}.yaml: {clause.id}: {problem}"
    for name, condition in source.conditions.items():
        if condition.fact not in (*leaf_names(), *COMPUTED_FACTS):
            yield f"conditions.yaml: {name}: {condition.fact} is no leaf of the plan"
    for profile in source.profiles:
        for problem in _profile(profile, source):
            yield f"profiles: {profile.id}: {problem}"
    if "base" not in {profile.id for profile in source.profiles}:
        yield "profiles: base is missing"
    yield from _unused(source)
    yield from _lifecycle(source)
    yield from _changes(source)
    yield from _claims(source)


def _unique(source: EditionSource) -> Iterator[str]:
    lists = {
        "clauses": [clause.id for clause in source.clauses],
        "profiles": [profile.id for profile in source.profiles],
        "provenance.yaml: claims": [claim.id for claim in source.provenance.claims],
        "edition.yaml: areas": [area.code for area in source.head.areas],
    }
    for where, ids in lists.items():
        for name, times in Counter(ids).items():
            if times > 1:
                yield f"{where}: {name} stands {times} times"


def _clause(clause: ClauseSource, source: EditionSource) -> Iterator[str]:
    head = source.head
    if clause.area not in {area.code for area in head.areas}:
        yield f"id: {clause.area} is no area of edition.yaml"
    named: dict[str, tuple[Collection[str], Collection[str]]] = {
        "applies_when": (clause.applies_when, source.conditions),
        "evidence": (clause.evidence, head.evidence_kinds),
        "tracks": (clause.tracks, head.tracks),
        "origin.claims": (
            clause.origin.get("claims", ()),
            {claim.id for claim in source.provenance.claims},
        ),
    }
    for field, (names, known) in named.items():
        for name in names:
            if name not in known:
                yield f"{field}: {name} is not known"
    yield from _requirement(clause)
    profiles = {profile.id for profile in source.profiles}
    for name, number in clause.numbers.items():
        for problem in _number(number, profiles, source):
            yield f"numbers.{name}: {problem}"


def _requirement(clause: ClauseSource) -> Iterator[str]:
    placeholders = set(_PLACEHOLDER.findall(clause.requirement))
    for name in sorted(placeholders - set(clause.numbers)):
        yield f"requirement: {{{name}}} is no number of the clause"
    for name in sorted(set(clause.numbers) - placeholders):
        if clause.numbers[name].note is None:
            yield f"numbers.{name}: not in the requirement, and no note says for whom"
    words = set(re.findall(r"[a-z]+", clause.requirement))
    if clause.level not in words or ("must" in words and clause.level != "must"):
        yield f"requirement: does not say {clause.level}, the level of the clause"


def _number(
    number: NumberSource, profiles: set[str], source: EditionSource
) -> Iterator[str]:
    if number.unit not in source.head.units:
        yield f"unit: {number.unit} is no unit of edition.yaml"
    for key in number.by_profile:
        kind, _, name = key.partition("/")
        is_table = kind == "nodes" and name.isdecimal()
        if key not in profiles and kind != "precision" and not is_table:
            yield f"by_profile: {key} is no profile, precision/NAME or nodes/COUNT"


def _profile(profile: ProfileSource, source: EditionSource) -> Iterator[str]:
    yield from _fields_of_kind(profile)
    clauses = {clause.id: clause for clause in source.clauses}
    yield from _adds("adds", profile.adds, clauses)
    for kind, ids in profile.adds_with_evidence.items():
        yield from _adds(f"adds_with_evidence.{kind}", ids, clauses)
        if kind not in source.head.evidence_kinds:
            yield f"adds_with_evidence: {kind} is no kind of evidence"
    known = {*clauses, *(clause.area for clause in source.clauses)}
    for name in sorted(set(profile.not_applicable) - known):
        yield f"not_applicable: {name} is no clause and no area"
    for entry in profile.raises_when:
        yield from _raises(entry, clauses, source)
    profiles = {one.id for one in source.profiles}
    for other in (profile.accelerator, profile.fabric):
        if other is not None and other not in profiles:
            yield f"{other} is no profile"


def _fields_of_kind(profile: ProfileSource) -> Iterator[str]:
    for kind, fields in _FIELDS_OF_KIND.items():
        is_of_kind = profile.id.startswith(f"{kind}/")
        for field in fields:
            is_given = bool(getattr(profile, field))
            if is_given and not is_of_kind:
                yield f"{field}: is only for {kind}"
            elif is_of_kind and not is_given:
                yield f"{field}: is needed by {kind}"


def _adds(
    field: str, ids: tuple[str, ...], clauses: dict[str, ClauseSource]
) -> Iterator[str]:
    for name in ids:
        if name not in clauses:
            yield f"{field}: {name} is no clause"
        elif clauses[name].status != "proposed":
            yield f"{field}: {name} is {clauses[name].status}, not proposed"


def _raises(
    entry: RaiseSource, clauses: dict[str, ClauseSource], source: EditionSource
) -> Iterator[str]:
    for name, level in entry.raises.items():
        if name not in clauses:
            yield f"raises_when: {name} is no clause"
        elif _RANK[level] <= _RANK[clauses[name].level]:
            yield f"raises_when: {name} to {level}: it is {clauses[name].level} already"
    known = {profile.id for profile in source.profiles}
    for field, ids in (("use", entry.use), ("size", entry.size)):
        for name in ids:
            if name not in known or not name.startswith(f"{field}/"):
                yield f"raises_when.{field}: {name} is no profile of that kind"


def _unused(source: EditionSource) -> Iterator[str]:
    used = {name for clause in source.clauses for name in clause.applies_when}
    for name in sorted(set(source.conditions) - used):
        yield f"conditions.yaml: {name}: no clause uses it"


def _lifecycle(source: EditionSource) -> Iterator[str]:
    """Drafts, and what is said of clauses that go or are gone."""
    head, clauses = source.head, {clause.id for clause in source.clauses}
    if (head.stage == "draft") != head.id.endswith(DRAFT):
        yield f"edition.yaml: id: {head.id}: a draft, and no other, ends in {DRAFT}"
    for name, stone in head.withdrawn.items():
        where = f"edition.yaml: withdrawn: {name}"
        if name in clauses:
            yield f"{where}: is a clause: the id of a withdrawn one is never used again"
        if stone.replaced_by is not None and stone.replaced_by not in clauses:
            yield f"{where}: replaced_by: {stone.replaced_by} is no clause"
    for name, notice in head.deprecated.items():
        where = f"edition.yaml: deprecated: {name}"
        if name not in clauses:
            yield f"{where}: is no clause"
        if notice.replaced_by is not None and notice.replaced_by not in clauses:
            yield f"{where}: replaced_by: {notice.replaced_by} is no clause"
        later = notice.removed_in
        if version_of(later) <= version_of(head.id):
            yield f"{where}: removed_in: {later} does not come after {head.id}"


def _changes(source: EditionSource) -> Iterator[str]:
    clauses = {clause.id: clause for clause in source.clauses}
    for change in source.changes.changes:
        for name in change.clauses:
            if name not in clauses and name not in source.head.withdrawn:
                yield f"CHANGES.yaml: {change.kind}: {name} is no clause"
            elif change.to is not None and (
                name not in clauses or clauses[name].level != change.to
            ):
                yield f"CHANGES.yaml: {change.kind}: {name} is not {change.to}"
        if (change.kind == "level") != (change.to is not None):
            yield f"CHANGES.yaml: {change.kind}: only a level has from and to"


def _claims(source: EditionSource) -> Iterator[str]:
    for claim in source.provenance.claims:
        citing = {
            clause.id
            for clause in source.clauses
            if claim.id in clause.origin.get("claims", ())
        }
        for name in sorted(citing ^ set(claim.clauses)):
            yield f"provenance.yaml: {claim.id}: {name} and it do not name each other"
