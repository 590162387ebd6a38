"""An edition that extends another: the base, changed by what its files write.

Only differences are written: clauses, profiles, conditions and units that are new stand
whole, and of what the base has already stand the fields that change. The result is an
edition like any other, in the form of its files, so that all that is held of an edition
is held of it too.

A mapping changes key by key, and null takes a key out; a list is replaced whole. Only
`value` of a number may be null itself: a number without a default.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

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
    """The form of a file of an edition that extends another; None: that of any."""
    if name == HEAD:
        return HeadPatch
    if name == PROVENANCE:
        return ProvenancePatch
    if name.startswith("clauses/"):
        return ClausePatch
    return ProfilePatch if name.startswith("profiles/") else None


def extended(base: Files, patch: Files) -> tuple[Files, list[str]]:
    """The files of the whole edition, and what is wrong with the patch.

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
        rows, found = _rows(kind, base, patch)
        problems += found
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
    """What a change makes of a value: mappings key by key, all else whole."""
    if not isinstance(before, dict) or not isinstance(change, dict):
        return change
    found = dict(before)
    for key, value in change.items():
        if value is None and key != _MAY_BE_NULL:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def clause_rows(files: Files) -> dict[str, Raw]:
    """The clauses that files hold, by id."""
    return {
        row["id"]: row
        for name, file in files.items()
        if name.startswith("clauses/")
        for row in file["clauses"]
    }


def _head(base: Raw, patch: Raw) -> Raw:
    found = {key: value for key, value in base.items() if key != "extends"}
    for key, value in patch.items():
        if key in _LISTS_THAT_GROW:
            found[key] = [*base.get(key, ()), *value]
        elif key in _MAPPINGS_THAT_GROW:
            found[key] = merged(base.get(key) or {}, value)
        else:
            found[key] = value
    # A clause that is withdrawn is announced no longer.
    gone = found.get("withdrawn") or {}
    announced = found.get("deprecated") or {}
    if announced:
        found["deprecated"] = {k: v for k, v in announced.items() if k not in gone}
    return found


def _rows(kind: str, base: Files, patch: Files) -> tuple[Files, list[str]]:
    """The clauses or the profiles of both: new ones come last in their file."""
    problems: list[str] = []
    found = {
        name: {**file, kind: list(file[kind])}
        for name, file in base.items()
        if name.startswith(f"{kind}/")
    }
    places = {
        row["id"]: (name, at)
        for name, file in found.items()
        for at, row in enumerate(file[kind])
    }
    for name, file in patch.items():
        if not name.startswith(f"{kind}/"):
            continue
        own = {key: file[key] for key in ("area",) if key in file}
        rows = found.setdefault(name, {**own, kind: []})[kind]
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
                found[where][kind][at] = merged(found[where][kind][at], row)
            else:
                problems.append(
                    f"{name}: changes: {row['id']}: the base has none of that id"
                )
    return found, problems


def _tombstones(patch: Files) -> Mapping[str, Raw]:
    found: dict[str, Raw] = patch[HEAD].get("withdrawn") or {}
    return found


def _reused(buried: Iterable[str], whole: Files, patch: Files) -> Iterator[str]:
    """Ids are permanent: what was withdrawn once never means something else."""
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
    found = dict(profile)
    if "adds" in found:
        found["adds"] = [one for one in found["adds"] if one not in names]
    if "adds_with_evidence" in found:
        found["adds_with_evidence"] = {
            kind: [one for one in ids if one not in names]
            for kind, ids in found["adds_with_evidence"].items()
        }
    if "not_applicable" in found:
        reasons = found["not_applicable"].items()
        found["not_applicable"] = {k: v for k, v in reasons if k not in names}
    entries: list[Raw] = []
    for entry in found.get("raises_when", ()):
        raised = {k: v for k, v in entry["raises"].items() if k not in names}
        if raised:
            entries.append({**entry, "raises": raised})
    if "raises_when" in found:
        found["raises_when"] = entries
    return found


def _name(gone: Mapping[str, Raw], head: Raw, base: Files) -> None:
    """Write on each new tombstone what the clause was called."""
    known = clause_rows(base)
    for name in gone:
        if name in known:
            row = {**head["withdrawn"][name], "title": known[name].get("title")}
            head["withdrawn"][name] = row


def _conditions(base: Files, patch: Files, whole: Files) -> Raw:
    """Those of both, without those of the base that only withdrawn clauses used."""
    own: Raw = patch.get(CONDITIONS) or {}
    used = {
        name
        for row in clause_rows(whole).values()
        for name in row.get("applies_when", ())
    }
    found: Raw = merged(base[CONDITIONS], own)
    return {key: one for key, one in found.items() if key in used or key in own}


def _provenance(base: Raw, patch: Raw | None, whole: Files) -> Raw:
    """Both, each claim with the clauses that cite it: none is written twice."""
    citing: dict[str, list[str]] = {}
    for name, row in clause_rows(whole).items():
        for claim in (row.get("origin") or {}).get("claims", ()):
            citing.setdefault(claim, []).append(name)
    found = dict(base)
    for key in ("reports", "contradictions", "claims"):
        found[key] = [*base[key], *((patch or {}).get(key) or ())]
    found["claims"] = [
        {**one, "clauses": sorted(citing.get(one.get("id", ""), ()))}
        for one in found["claims"]
    ]
    return found
