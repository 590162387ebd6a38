"""Reads the YAML files of an edition and holds them to their form and to each other.

For the compiler and for tests: a run reads the compiled file, without pydantic.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

import speccheck.schemas
from speccheck.validator.editions.edition import DRAFT, digest, version_of
from speccheck.validator.editions.edition_models import (
    BaseSource,
    ChangesSource,
    ClauseFile,
    ClauseSource,
    ConditionSource,
    EditionSource,
    HeadSource,
    NumberSource,
    ProfileFile,
    ProfileSource,
    ProvenanceSource,
    RaiseSource,
)
from speccheck.validator.evidence.plan import leaf_names
from speccheck.validator.evidence.record import Record

FROZEN = "FROZEN.yaml"
SCHEMAS = os.path.dirname(speccheck.schemas.__file__)


class FrozenEdition(Record):
    """An edition as it was frozen; date: of that day, YYYY-MM-DD."""

    sha256: str
    date: str
    stage: str


def frozen_editions(folder: str = SCHEMAS) -> Mapping[str, FrozenEdition]:
    """Return the frozen editions of a folder by id; none where it names none.

    Raises ValueError for a file of another form.
    """
    import yaml  # noqa: PLC0415 - no run without a certificate asks

    path = os.path.join(folder, FROZEN)
    try:
        with open(path, encoding="utf-8") as file:
            rows = yaml.load(file, yaml.CSafeLoader) or {}
        return {
            str(name): FrozenEdition(row["sha256"], str(row["date"]), row["stage"])
            for name, row in rows.items()
        }
    except FileNotFoundError:
        return {}
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        message = f"{path}: not a list of frozen editions: {error}"
        raise ValueError(message) from error


Json = dict[str, Any]
_HEAD_FOR_READERS = {
    "tracks": True,
    "evidence_kinds": True,
    "deprecated": True,  # with its clause
    "withdrawn": True,  # beside the clauses
    "areas": {"__all__": {"rules"}},
    "units": {"__all__": {"text"}},
}
_CLAUSE_FOR_READERS = {"id": True}
_PROFILE_FOR_READERS = {
    "id",
    "note",
    "reason",
    "confidence",
    "link_layer",
    "rdma",
    "lossless",
    "network_names",
    "settings",
    "validity",
    "evidence_age",
    "coverage_floor",
    "specimens",
}
# Numbers of a use, under the names by which a run knows them.
_TERMS = {
    "validity": "validity_days",
    "evidence_age": "evidence_age_days",
    "coverage_floor": "coverage_floor",
    "specimens": "least_specimens",
}


def compile_edition(source: EditionSource) -> Json:
    """Return the edition as a run reads it, with the sha256 of its content.

    What is only for readers stays in the YAML files: the settings of fabrics, the
    changes and the provenance. Own numbers are held to the plausible ranges.
    """
    content: Json = {
        "edition": _dump(source.head, _HEAD_FOR_READERS),
        "clauses": {clause.id: _clause(clause, source) for clause in source.clauses},
        "conditions": {
            name: _dump(condition) for name, condition in source.conditions.items()
        },
        "profiles": {profile.id: _profile(profile) for profile in source.profiles},
    }
    if source.head.withdrawn:
        content["withdrawn"] = {
            name: _dump(withdrawn_source)
            for name, withdrawn_source in source.head.withdrawn.items()
        }
    return {**content, "sha256": digest(content)}


def _clause(clause: ClauseSource, source: EditionSource) -> Json:
    row = {**_dump(clause, _CLAUSE_FOR_READERS), "area": clause.area}
    deprecated = source.head.deprecated.get(clause.id)
    return row if deprecated is None else {**row, "deprecated": _dump(deprecated)}


def _dump(model: BaseModel, exclude: Any = None) -> Json:  # noqa: ANN401 - pydantic's
    return model.model_dump(
        mode="json", exclude=exclude, exclude_defaults=True, exclude_none=True
    )


def _profile(profile: ProfileSource) -> Json:
    row = _dump(profile, _PROFILE_FOR_READERS)
    for name, compiled in _TERMS.items():
        result = getattr(profile, name)
        if result is not None:
            row[compiled] = result.value
    return row


def compiled_text(source: EditionSource) -> str:
    """Return the text of compiled.json: sorted keys, no blanks, one line."""
    content = compile_edition(source)
    text = json.dumps(
        content, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    return text + "\n"


Raw: TypeAlias = dict[str, Any]
Files: TypeAlias = dict[str, Any]  # what the files of an edition hold, by name

HEAD, CONDITIONS = "edition.yaml", "conditions.yaml"
CHANGES, PROVENANCE = "CHANGES.yaml", "provenance.yaml"
_MAY_BE_NULL = "value"
_LISTS_THAT_GROW = ("areas", "tracks")
_MAPPINGS_THAT_GROW = ("units", "evidence_kinds", "deprecated", "withdrawn")


class _Patch(BaseModel):
    """Extra fields belong to what is added or changed, never to the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Row(BaseModel):
    """A clause or a profile: its id, and any fields."""

    model_config = ConfigDict(extra="allow", frozen=True)
    id: str


class ClausePatch(_Patch):
    """clauses/AREA.yaml of an edition that extends another."""

    area: str
    clauses: tuple[_Row, ...] = ()
    changes: tuple[_Row, ...] = ()


class ProfilePatch(_Patch):
    """profiles/KIND.yaml of an edition that extends another."""

    profiles: tuple[_Row, ...] = ()
    changes: tuple[_Row, ...] = ()


class ProvenancePatch(_Patch):
    """provenance.yaml of an edition that extends another: what comes to the base's."""

    reports: tuple[Raw, ...] = ()
    contradictions: tuple[Raw, ...] = ()
    claims: tuple[Raw, ...] = ()


class HeadPatch(BaseModel):
    """edition.yaml of an edition that extends another, as far as it is merged here."""

    model_config = ConfigDict(extra="allow", frozen=True)
    areas: tuple[Raw, ...] = ()
    tracks: tuple[str, ...] = ()
    units: Raw = {}
    evidence_kinds: Raw = {}
    deprecated: dict[str, Raw | None] = {}
    withdrawn: dict[str, Raw] = {}


def patch_model(name: str) -> type[BaseModel] | None:
    """Return the form of an extending edition's file; None: that of any."""
    if name == HEAD:
        return HeadPatch
    if name == PROVENANCE:
        return ProvenancePatch
    if name.startswith("clauses/"):
        return ClausePatch
    return ProfilePatch if name.startswith("profiles/") else None


def extended(base: Files, patch: Files) -> tuple[Files, list[str]]:
    """Return the files of the whole edition, and what is wrong with the patch.

    Args:
        base: the files of the base, whole.
        patch: the files of the edition that extends it, each of the form of its
            `patch_model`.

    """
    problems: list[str] = []
    gone = _tombstones(patch)
    head = _head(base[HEAD], patch[HEAD])
    whole: Files = {HEAD: head}
    for kind in ("clauses", "profiles"):
        rows, texts = _rows(kind, base, patch)
        problems += texts
        whole |= rows
    problems += _reused(base[HEAD].get("withdrawn") or {}, whole, patch)
    problems += _withdrawn_in_vain(gone, base)
    _bury(gone, whole)
    _name(gone, head, base)
    whole[CONDITIONS] = _conditions(base, patch, whole)
    whole[PROVENANCE] = _provenance(base[PROVENANCE], patch.get(PROVENANCE), whole)
    if CHANGES in patch:
        whole[CHANGES] = patch[CHANGES]
    else:
        problems.append(f"{CHANGES}: is missing: it gives the reason of each change")
    return whole, problems


def merged(before: Any, change: Any) -> Any:  # noqa: ANN401 - YAML
    """Return what a change makes of a value: mappings key by key, all else whole."""
    if not isinstance(before, dict) or not isinstance(change, dict):
        return change
    result = dict(before)
    for key, value in change.items():
        if value is None and key != _MAY_BE_NULL:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def clause_rows(files: Files) -> dict[str, Raw]:
    """Return the clauses that files hold, by id."""
    return {
        row["id"]: row
        for name, file in files.items()
        if name.startswith("clauses/")
        for row in file["clauses"]
    }


def _head(base: Raw, patch: Raw) -> Raw:
    result = {key: value for key, value in base.items() if key != "extends"}
    for key, value in patch.items():
        if key in _LISTS_THAT_GROW:
            result[key] = [*base.get(key, ()), *value]
        elif key in _MAPPINGS_THAT_GROW:
            result[key] = merged(base.get(key) or {}, value)
        else:
            result[key] = value
    # A clause that is withdrawn is announced no longer.
    gone = result.get("withdrawn") or {}
    announced = result.get("deprecated") or {}
    if announced:
        result["deprecated"] = {k: v for k, v in announced.items() if k not in gone}
    return result


def _rows(kind: str, base: Files, patch: Files) -> tuple[Files, list[str]]:
    """Return the clauses or the profiles of both: new ones come last in their file."""
    problems: list[str] = []
    result = {
        name: {**file, kind: list(file[kind])}
        for name, file in base.items()
        if name.startswith(f"{kind}/")
    }
    places = {
        row["id"]: (name, at)
        for name, file in result.items()
        for at, row in enumerate(file[kind])
    }
    for name, file in patch.items():
        if not name.startswith(f"{kind}/"):
            continue
        own = {key: file[key] for key in ("area",) if key in file}
        rows = result.setdefault(name, {**own, kind: []})[kind]
        for row in file.get(kind, ()):
            if row["id"] in places:
                problems.append(
                    f"{name}: {row['id']}: the base has it already: what changes of it "
                    f"belongs under changes"
                )
            else:
                rows.append(row)
        for row in file.get("changes", ()):
            if row["id"] in places:
                where, at = places[row["id"]]
                result[where][kind][at] = merged(result[where][kind][at], row)
            else:
                problems.append(
                    f"{name}: changes: {row['id']}: the base has none of that id"
                )
    return result, problems


def _tombstones(patch: Files) -> Mapping[str, Raw]:
    result: dict[str, Raw] = patch[HEAD].get("withdrawn") or {}
    return result


def _reused(buried: Iterable[str], whole: Files, patch: Files) -> Iterator[str]:
    """Yield reused ids: what was withdrawn once never means something else."""
    rows = clause_rows(whole)
    for name in buried:
        if name in rows or name in _tombstones(patch):
            yield (
                f"{name}: was withdrawn before: the id of a withdrawn clause is never "
                f"used again"
            )


def _withdrawn_in_vain(gone: Iterable[str], base: Files) -> Iterator[str]:
    known = clause_rows(base)
    for name in gone:
        if name not in known and name not in (base[HEAD].get("withdrawn") or {}):
            yield f"{HEAD}: withdrawn: {name}: the base has no such clause"


def _bury(gone: Iterable[str], whole: Files) -> None:
    """Take withdrawn clauses out, also of the profiles that name them."""
    names = frozenset(gone)
    for file, content in whole.items():
        if file.startswith("clauses/"):
            kept = [row for row in content["clauses"] if row["id"] not in names]
            content["clauses"] = kept
        elif file.startswith("profiles/"):
            rows = [_without(row, names) for row in content["profiles"]]
            content["profiles"] = rows


def _without(profile: Raw, names: frozenset[str]) -> Raw:
    result = dict(profile)
    if "adds" in result:
        result["adds"] = [item for item in result["adds"] if item not in names]
    if "adds_with_evidence" in result:
        result["adds_with_evidence"] = {
            kind: [id_ for id_ in ids if id_ not in names]
            for kind, ids in result["adds_with_evidence"].items()
        }
    if "not_applicable" in result:
        reasons = result["not_applicable"].items()
        result["not_applicable"] = {k: v for k, v in reasons if k not in names}
    entries: list[Raw] = []
    for entry in result.get("raises_when", ()):
        raised = {k: v for k, v in entry["raises"].items() if k not in names}
        if raised:
            entries.append({**entry, "raises": raised})
    if "raises_when" in result:
        result["raises_when"] = entries
    return result


def _name(gone: Mapping[str, Raw], head: Raw, base: Files) -> None:
    """Write on each new tombstone what the clause was called."""
    known = clause_rows(base)
    for name in gone:
        if name in known:
            row = {**head["withdrawn"][name], "title": known[name].get("title")}
            head["withdrawn"][name] = row


def _conditions(base: Files, patch: Files, whole: Files) -> Raw:
    """Return both conditions, without those of withdrawn clauses of the base."""
    own: Raw = patch.get(CONDITIONS) or {}
    used = {
        name
        for row in clause_rows(whole).values()
        for name in row.get("applies_when", ())
    }
    result: Raw = merged(base[CONDITIONS], own)
    return {key: item for key, item in result.items() if key in used or key in own}


def _provenance(base: Raw, patch: Raw | None, whole: Files) -> Raw:
    """Return both, each claim with the clauses that cite it: none is written twice."""
    citing: dict[str, list[str]] = {}
    for name, row in clause_rows(whole).items():
        for claim in (row.get("origin") or {}).get("claims", ()):
            citing.setdefault(claim, []).append(name)
    result = dict(base)
    for key in ("reports", "contradictions", "claims"):
        result[key] = [*base[key], *((patch or {}).get(key) or ())]
    result["claims"] = [
        {**item, "clauses": sorted(citing.get(item.get("id", ""), ()))}
        for item in result["claims"]
    ]
    return result


COMPUTED_FACTS = ("cluster.size_class", "profile.use")
_RANK = {"may": 0, "should": 1, "must": 2}
_FIELDS_OF_KIND = {
    "size": ("nodes", "gpus"),
    "instance": ("accelerator", "fabric"),
    "use": ("certification_levels", "unknown_must", "edition_pin"),
}
_PLACEHOLDER = re.compile(r"{([^{}]*)}")


def problems(source: EditionSource) -> Iterator[str]:
    """Yield one line for each thing that does not hold."""
    yield from _unique(source)
    for clause in source.clauses:
        for problem in _consistent_clause(clause, source):
            yield f"clauses/{clause.area.lower()}.yaml: {clause.id}: {problem}"
    for name, condition in source.conditions.items():
        if condition.fact not in (*leaf_names(), *COMPUTED_FACTS):
            yield f"conditions.yaml: {name}: {condition.fact} is no leaf of the plan"
    for profile in source.profiles:
        for problem in _consistent_profile(profile, source):
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


def _consistent_clause(clause: ClauseSource, source: EditionSource) -> Iterator[str]:
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
    is_advice = clause.level == "may"  # says what is best, and asks for nothing
    if (not is_advice and clause.level not in words) or (
        "must" in words and clause.level != "must"
    ):
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


def _consistent_profile(profile: ProfileSource, source: EditionSource) -> Iterator[str]:
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
    profiles = {profile.id for profile in source.profiles}
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
    """Yield the drafts, and what is said of clauses that go or are gone."""
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


Model = TypeVar("Model", bound=BaseModel)
# Of an edition that extends another: the base has them.
_MAY_BE_MISSING = (CONDITIONS, PROVENANCE)
_Conditions = TypeAdapter(dict[str, ConditionSource])


class EditionSourceError(Exception):
    """The files of an edition break their form; each line names file and field."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class _UniqueKeys(yaml.CSafeLoader):
    """Refuses a key that stands twice; PyYAML would keep the last silently."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - the signature of PyYAML
        """Make a dict of a mapping node."""
        keys = [key.value for key, _ in node.value]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            problem = f"key {twice[0]} stands twice"
            raise yaml.constructor.ConstructorError(
                None, None, problem, node.start_mark
            )
        return super().construct_mapping(node, deep)


def load_edition_source(folder: Path) -> EditionSource:
    """Read all files of an edition and hold them to their form and to each other.

    An edition that extends another is given whole: the base with what it changes.

    Raises EditionSourceError with one line for each problem: file, clause or profile,
    field, what is wrong.
    """
    return _source(edition_files(folder))


def _source(files: Files) -> EditionSource:
    reader = _Reader(files)
    head = reader.read(HEAD, HeadSource)
    clauses: list[ClauseSource] = []
    for name in sorted(file for file in files if file.startswith("clauses/")):
        file = reader.read(name, ClauseFile)
        if file is not None:
            clauses.extend(file.clauses)
            reader.hold_area(name, file)
    conditions = reader.read_conditions(CONDITIONS)
    profiles: list[ProfileSource] = []
    for name in sorted(file for file in files if file.startswith("profiles/")):
        listed = reader.read(name, ProfileFile)
        profiles.extend(listed.profiles if listed is not None else ())
    changes = reader.read(CHANGES, ChangesSource)
    provenance = reader.read(PROVENANCE, ProvenanceSource)
    if head is None or conditions is None or changes is None or provenance is None:
        raise EditionSourceError(reader.problems)
    source = EditionSource(
        head=head,
        clauses=tuple(clauses),
        conditions=conditions,
        profiles=tuple(profiles),
        changes=changes,
        provenance=provenance,
    )
    texts = reader.problems or list(problems(source))
    if texts:
        raise EditionSourceError(texts)
    return source


def base_folder(folder: Path, base: str) -> Path:
    """Return where the base of an edition lies: beside it, or with speccheck."""
    beside = folder.resolve().parent / base
    return beside if (beside / HEAD).is_file() else Path(SCHEMAS) / base


def edition_files(folder: Path, within: tuple[str, ...] = ()) -> Files:
    """Return what the files of an edition hold, by name.

    Of one that extends, the whole.

    Args:
        folder: of the edition.
        within: the editions that extend it, for one that comes to extend itself.

    """
    files, texts = _loaded(folder)
    head = files.get(HEAD)
    if texts or not isinstance(head, dict) or "extends" not in head:
        if texts:
            raise EditionSourceError(texts)
        return files
    base = _base_of(head)
    if base.id in within:
        raise EditionSourceError([f"{HEAD}: extends: {base.id} comes to extend itself"])
    for name, content in files.items():
        texts += _misformed(name, content)
    where = base_folder(folder, base.id)
    if not (where / HEAD).is_file():
        texts.append(f"{HEAD}: extends: there is no edition {base.id}")
    if texts:
        raise EditionSourceError(texts)
    whole_base = edition_files(where, (*within, str(head.get("id"))))
    whole, texts = extended(whole_base, files)
    digest, problem = _pinned(base, where, whole_base, str(head.get("stage")))
    texts += [problem] if problem else []
    if texts:
        raise EditionSourceError(texts)
    whole[HEAD]["extends"] = {"id": base.id, "sha256": digest}
    return whole


def _base_of(head: dict[str, Any]) -> BaseSource:
    """Return what `extends` names: an id, or an id with the sha256 of its content."""
    text = head["extends"]
    try:
        return BaseSource.model_validate(
            {"id": text} if isinstance(text, str) else text
        )
    except ValidationError as error:
        message = f"{HEAD}: extends: {error.errors()[0]['msg']}"
        raise EditionSourceError([message]) from error


def _pinned(base: BaseSource, where: Path, files: Files, stage: str) -> tuple[str, str]:
    """Return the base's sha256 as it is, and what is wrong with it, if anything."""
    digest: str = compile_edition(_source(files))["sha256"]
    frozen = frozen_editions(str(where.parent)).get(base.id)
    for expected, by in (
        (base.sha256, "this edition was written for"),
        (frozen.sha256 if frozen else None, f"{FROZEN} names"),
    ):
        if expected is not None and expected != digest:
            return digest, (
                f"{HEAD}: extends: {base.id} has changed: {by} sha256 {expected[:12]}, "
                f"its files make {digest[:12]}"
            )
    if base.sha256 is None and stage != "draft":
        return digest, (
            f"{HEAD}: extends: names no sha256, as all but a draft must: write "
            f'{{id: "{base.id}", sha256: {digest}}}'
        )
    return digest, ""


def _loaded(folder: Path) -> tuple[Files, list[str]]:
    """Return all files of a folder as YAML, and what cannot be read."""
    files: Files = {}
    texts: list[str] = []
    paths = [
        folder / HEAD,
        *(folder / name for name in (CONDITIONS, CHANGES, PROVENANCE)),
    ]
    for pattern in ("clauses/*.yaml", "profiles/*.yaml"):
        paths += sorted(folder.glob(pattern))
    extends = False
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if extends and name in _MAY_BE_MISSING and not path.exists():
            continue
        try:
            files[name] = yaml.load(path.read_bytes(), _UniqueKeys)  # noqa: S506 - a safe loader
        except OSError as error:
            texts.append(f"{name}: cannot be read: {error.strerror}")
        except (yaml.YAMLError, ValueError) as error:
            texts.append(f"{name}: no YAML: {' '.join(str(error).split())}")
        if name == HEAD:
            head = files.get(HEAD)
            extends = isinstance(head, dict) and "extends" in head
    return files, texts


def _misformed(name: str, content: Any) -> list[str]:  # noqa: ANN401 - YAML
    """Return what is wrong with the form of a file of an extending edition."""
    model = patch_model(name)
    try:
        if model is not None:
            model.model_validate(content)
        elif not isinstance(content, dict):
            return [f"{name}: holds no mapping"]
    except ValidationError as error:
        return _problem_lines(name, content, error)
    return []


class _Reader:
    """Holds files one by one to their form and keeps what is wrong with them."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.problems: list[str] = []

    def read(self, name: str, model: type[Model]) -> Model | None:
        """Return the file as that model.

        None, with the problems kept, when it breaks it.
        """
        try:
            return model.model_validate(self.files[name])
        except ValidationError as error:
            self.problems += _problem_lines(name, self.files[name], error)
        return None

    def read_conditions(self, name: str) -> dict[str, ConditionSource] | None:
        """Return the conditions by name; None when the file breaks their form."""
        try:
            return _Conditions.validate_python(self.files[name])
        except ValidationError as error:
            self.problems += _problem_lines(name, self.files[name], error)
        return None

    def hold_area(self, name: str, file: ClauseFile) -> None:
        """Hold the file, and its clauses, to the name of their area."""
        if name != f"clauses/{file.area.lower()}.yaml":
            self.problems.append(f"{name}: area: {file.area} belongs in another file")
        self.problems.extend(
            f"{name}: {clause.id}: id: does not belong to area {file.area}"
            for clause in file.clauses
            if clause.area != file.area
        )


def _problem_lines(name: str, raw: Any, error: ValidationError) -> list[str]:  # noqa: ANN401
    """Return a line for each problem of a file: the file, the place, the fault."""
    return [
        f"{name}: {_named(raw, item['loc'])}{item['msg'].removeprefix('Value error, ')}"
        for item in error.errors(include_url=False)
    ]


def _named(raw: Any, location: tuple[int | str, ...]) -> str:  # noqa: ANN401 - YAML
    """Return a pydantic location with the ids of list items in place of positions.

    Steps below a scalar are dropped: they name members of a union, not parts of a file.
    """
    words: list[str] = []
    here = raw
    for step in location:
        if isinstance(here, dict):
            here = here.get(step)
        elif isinstance(here, list) and isinstance(step, int):
            here = here[step]
        else:
            break
        if isinstance(here, dict) and "id" in here:
            words = [f"{here['id']}: "]
        else:
            words.append(f"{step}.")
    text = "".join(words)
    return text[:-1] + ": " if text.endswith(".") else text
