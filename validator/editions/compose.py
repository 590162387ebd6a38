"""Profiles composed over an edition: what is judged, at which level, by which numbers.

base, then size class, accelerator, fabric, use and instance type: of two numbers the
later profile's counts; levels are only ever raised; what one profile leaves out stays
out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from speccheck.validator.editions.edition import (
    Clause,
    Condition,
    Edition,
    EditionProfile,
    NumberValue,
    UnknownEdition,
    load_edition,
)
from speccheck.validator.evidence.finding import ClauseLevel, Level
from speccheck.validator.evidence.record import Record

KINDS = ("size", "accel", "fabric", "use", "instance")
_RANK = {"may": 0, "should": 1, "must": 2}


class UnknownProfile(Exception):  # noqa: N818 - a usage error with its own message
    """A name that is no profile of the edition."""


class RaisedBy(Record):
    """A profile that raised a clause, to which level, and why."""

    profile: str
    level: ClauseLevel
    reason: str


class JudgedClause(Record):
    """A clause under the profiles in force.

    not_applicable: why a profile leaves it out; empty when none does. live_only: the
    use does not ask for evidence of its level and there is none at hand, so the clause
    can fail by what the files state but never pass. raised_to: what failures weigh at
    least by a user's settings, of a rule or, where no rule is named, of the clause.
    """

    clause: Clause
    level: ClauseLevel
    raised_by: tuple[RaisedBy, ...]
    is_selected: bool
    not_applicable: str
    live_only: bool
    raised_to: tuple[tuple[str, Level], ...] = ()


class ComposedEdition(Record):
    """An edition under the profiles in force.

    use, size: without the prefix. profiles: in order of effect. unmatched: what the job
    has (GPU, fabric, instance type) that no profile of the edition is for.
    """

    edition: Edition
    use: str
    size: str | None
    profiles: tuple[EditionProfile, ...]
    unmatched: tuple[str, ...]
    clauses: tuple[JudgedClause, ...]

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """The conditions of the edition by name."""
        return self.edition.conditions

    def judged(self, clause_id: str) -> JudgedClause:
        """Return the clause of that id; raises KeyError for another one."""
        for judged in self.clauses:
            if judged.clause.id == clause_id:
                return judged
        raise KeyError(clause_id)

    def numbers(
        self, clause_id: str, nodes: int | None = None, precision: str | None = None
    ) -> dict[str, NumberValue | None]:
        """Return the numbers of a clause by name; None where the edition has none here.

        Args:
            clause_id: raises KeyError when the edition has no such clause.
            nodes: of the job, for numbers that are tables over node counts.
            precision: compute dtype (bf16, fp8, ...), for numbers that depend on it.

        """
        profiles = [profile.id for profile in self.profiles]
        numbers = self.edition.clauses[clause_id].numbers
        return {
            name: number.under(profiles, nodes, precision)
            for name, number in numbers.items()
        }

    def selecting(self, keeps: Callable[[JudgedClause], bool]) -> "ComposedEdition":
        """Return the same, with exactly those clauses selected that `keeps` accepts."""
        clauses = tuple(
            clause._replace(is_selected=keeps(clause)) for clause in self.clauses
        )
        return self._replace(clauses=clauses)


def compose(
    edition: Edition,
    *,
    use: str,
    size: str | None = None,
    fabric: str | None = None,
    accelerator: str | tuple[str, ...] | None = None,
    instance: str | None = None,
    profiles: Sequence[str] = (),
    evidence: Sequence[str] = (),
) -> ComposedEdition:
    """Compose the profiles of a job.

    Args:
        edition: the edition to judge by.
        use: ci, preflight or certify.
        size: size class of the job (XS to XXL), None while it is not known.
        fabric: of the job. It, `accelerator` and `instance` may be names that the
            edition has no profile for; the result lists them as unmatched.
        accelerator: of the job, or those that it may be: what the profiles of all of
            these add is judged.
        instance: of the job; its profile names accelerator and fabric where the job
            does not.
        profiles: named by the user, with or without the prefix ("size/L", "mrc"). Each
            takes the place of the job's own profile of its kind.
        evidence: kinds of live evidence at hand (node.gpus, bench.allreduce, ...).

    Raises:
        UnknownProfile: `use`, `size` or one of `profiles` is no profile.

    """
    forms = accelerator if isinstance(accelerator, tuple) else ()
    named = None if isinstance(accelerator, tuple) else accelerator
    job = {"size": size, "accel": named, "fabric": fabric, "instance": instance}
    chosen = {"use": find_profile(edition, use, "use")}
    for name in profiles:
        profile = find_profile(edition, name)
        chosen[profile.kind] = profile
    unmatched: list[str] = []
    for kind in ("size", "instance", "accel", "fabric"):
        wanted = job[kind] or _of_instance(chosen.get("instance"), kind)
        if kind in chosen or wanted is None:
            continue
        matching = _matching_profile(edition, wanted, kind)
        if matching is not None:
            chosen[kind] = matching
        elif kind == "size":
            raise _unknown_profile(edition, wanted, kind)
        else:
            unmatched.append(wanted)
    shared = _added_by_all(edition, () if "accel" in chosen else forms)
    in_force = [edition.profiles["base"], *(chosen[k] for k in KINDS if k in chosen)]
    return ComposedEdition(
        edition=edition,
        use=_bare(chosen["use"].id),
        size=_bare(chosen["size"].id) if "size" in chosen else None,
        profiles=tuple(in_force),
        unmatched=tuple(unmatched),
        clauses=tuple(_judged_clauses(edition, in_force, frozenset(evidence), shared)),
    )


def _added_by_all(edition: Edition, forms: Sequence[str]) -> frozenset[str]:
    """Return the clauses that the profile of each accelerator adds, if it has one."""
    matching = (_matching_profile(edition, form, "accel") for form in forms)
    added = [frozenset(profile.adds) for profile in matching if profile is not None]
    return frozenset.intersection(*added) if added else frozenset()


def find_profile(
    edition: Edition, name: str, kind: str | None = None
) -> EditionProfile:
    """Return the profile of that name, with or without its prefix, in any case.

    Raises UnknownProfile, naming what there is.
    """
    profile = _matching_profile(edition, name, kind)
    if profile is None:
        raise _unknown_profile(edition, name, kind)
    return profile


def _matching_profile(
    edition: Edition, name: str, kind: str | None
) -> EditionProfile | None:
    profiles = edition.profiles
    exact = profiles.get(name) or profiles.get(f"{kind}/{name}")
    if exact is not None and kind in (None, exact.kind):
        return exact
    wanted = name.lower()
    for profile in profiles.values():
        if kind in (None, profile.kind) and wanted in (
            profile.id.lower(),
            _bare(profile.id).lower(),
        ):
            return profile
    return None


def _unknown_profile(edition: Edition, name: str, kind: str | None) -> UnknownProfile:
    known = [
        profile for profile in edition.profiles.values() if kind in (None, profile.kind)
    ]
    return UnknownProfile(f"no profile {name}: {_hint(name, known, kind)}")


def _hint(name: str, known: Sequence[EditionProfile], kind: str | None) -> str:
    bare = [_bare(profile.id) for profile in known]
    if kind in {"use", "size"}:
        return f"must be one of {', '.join(bare)}"
    from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

    close = nearest(name, [*(profile.id for profile in known), *bare])
    return f"did you mean {close}?" if close else f"kinds are {', '.join(KINDS)}"


@lru_cache(maxsize=1024)
def size_class(world_size: int, nodes: int | None) -> str | None:
    """Return XS to XXL by the GPUs of a job, as edition 1.0 draws the classes.

    None when the nodes are not known and so few GPUs may be one node or several.
    """
    return load_edition().size_class(world_size, nodes)


def _bare(profile_id: str) -> str:
    return profile_id.rpartition("/")[2]


def _of_instance(instance: EditionProfile | None, kind: str) -> str | None:
    if instance is None or kind not in {"accel", "fabric"}:
        return None
    return instance.accelerator if kind == "accel" else instance.fabric


def _judged_clauses(
    edition: Edition,
    profiles: Sequence[EditionProfile],
    evidence: frozenset[str],
    shared: frozenset[str],
) -> Iterator[JudgedClause]:
    added: set[str] = {*shared}
    for profile in profiles:
        added.update(profile.adds)
        for kind, ids in profile.adds_with_evidence.items():
            if kind in evidence:
                added.update(ids)
    levels = next(
        profile.terms.certification_levels for profile in profiles if profile.terms
    )
    raises = _raises(edition, profiles)
    for clause in edition.clauses.values():
        raised_by = raises.get(clause.id, ())
        is_required = clause.certification_level in levels
        yield JudgedClause(
            clause=clause,
            level=raised_by[-1].level if raised_by else clause.level,
            raised_by=raised_by,
            is_selected=clause.status == "core" or clause.id in added,
            not_applicable=_left_out(clause, profiles),
            live_only=not is_required and evidence.isdisjoint(_deciding(clause)),
        )


def _deciding(clause: Clause) -> tuple[str, ...]:
    """Return the kinds of evidence that make a clause worth asking.

    What was measured or logged decides a clause of level L3; what machine and plan say
    of it as well is not enough.
    """
    if clause.certification_level != "L3":
        return clause.evidence
    own = tuple(
        text for text in clause.evidence if not text.startswith(("plan.", "node."))
    )
    return own or clause.evidence


def _raises(
    edition: Edition, profiles: Sequence[EditionProfile]
) -> dict[str, tuple[RaisedBy, ...]]:
    """Return the raises by clause that had an effect, the highest level last."""
    in_force = {profile.id for profile in profiles}
    result: dict[str, tuple[RaisedBy, ...]] = {}
    for profile in profiles:
        for entry in profile.raises:
            if entry.uses and in_force.isdisjoint(entry.uses):
                continue
            if entry.sizes and in_force.isdisjoint(entry.sizes):
                continue
            for name, level in entry.levels.items():
                before = result.get(name, ())
                current = before[-1].level if before else edition.clauses[name].level
                if _RANK[level] > _RANK[current]:
                    raised = RaisedBy(profile.id, level, entry.reason)
                    result[name] = (*before, raised)
    return result


def _left_out(clause: Clause, profiles: Sequence[EditionProfile]) -> str:
    for profile in profiles:
        reasons = profile.not_applicable
        reason = reasons.get(clause.id) or reasons.get(clause.area)
        if reason:
            return f"{reason} ({profile.id})"
    return ""


_WHY_NOT = {
    "draft": "it is a draft and will change",
    "candidate": "it is a candidate and may still change until it is approved",
    "retired": "it is retired: evidence is judged by an edition that replaced it",
}


class Permission(Record):
    """Whether something may be done, and why, or why not."""

    is_given: bool
    reason: str


def may_certify(edition: Edition) -> Permission:
    """Return whether certificates may be written by an edition."""
    # It reads sources of editions by pydantic, which `speccheck FILE` does without.
    from speccheck.validator.editions.source import frozen_editions  # noqa: PLC0415

    if edition.stage != "approved":
        why = _WHY_NOT.get(edition.stage, f"its stage is {edition.stage}")
        reason = f"edition {edition.id} certifies nothing: {why}"
        return Permission(is_given=False, reason=reason)
    frozen = frozen_editions().get(edition.id)
    if frozen is not None and frozen.sha256 != edition.sha256:
        reason = (
            f"edition {edition.id} certifies nothing: its content has sha256 "
            f"{edition.sha256[:12]}, and the edition of that id was frozen on "
            f"{frozen.date} with {frozen.sha256[:12]}"
        )
        return Permission(is_given=False, reason=reason)
    since = f" and frozen on {frozen.date}" if frozen else ""
    return Permission(is_given=True, reason=f"edition {edition.id} is approved{since}")


def refuse_draft(edition: Edition) -> None:
    """Raise UnknownEdition where a draft is to judge for certificates.

    To judge by a candidate is how it comes to be approved; a draft may ask for anything
    tomorrow.
    """
    if edition.stage == "draft":
        message = (
            f"{may_certify(edition).reason}; judge for certification by an approved "
            f"edition, and by the draft with --profile ci or preflight"
        )
        raise UnknownEdition(message)
