"""What evidence the clauses of a level want, track by track, and what a kit lacks.

A clause names every kind of evidence that one of its rules may use. One kind of its own
level is enough to judge something of it; what else it lacks, certification tells.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from speccheck.validator.catalogue.hardware import resolve_instance
from speccheck.validator.certification.kit import Kind, Kit, KitFile
from speccheck.validator.certification.manifest import Missing
from speccheck.validator.editions.compose import ComposedEdition, JudgedClause, compose
from speccheck.validator.editions.edition import Edition, UseTerms
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import secret_kind
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_file_text

USE = "certify"
LEVELS = ("L1", "L2", "L3")
FILES, NODE, DRILL = "plan", "node", "drill"
_ALL_REDUCE = "bench.allreduce"
# Clauses that only the events of a drill settle; those of any other run say nothing.
_OF_DRILLS = frozenset({"FT-009", "CKPT-009"})
_WIDE = 2  # nodes from which on the network is measured as well
_PREFIXES = {
    "L1": (FILES,),
    "L2": (NODE, "fleet", "controller", "log", "bench"),
    "L3": ("bench", "log", "fleet", "controller"),
}
# How one says that there is none of it.
WORDS = {
    FILES: "no configuration or launch script of the job",
    NODE: "no snapshot of a machine",
    "fleet": "snapshots of fewer than 2 machines",
    _ALL_REDUCE: "no measured all-reduce",
    "bench.collectives": "no measured all-gather, reduce-scatter or all-to-all",
    "bench.memcpy": "no measured copies between host and GPUs",
    "bench.gemm": "no measured products of the GPUs",
    "bench.fabric": "no measured writes over each adapter",
    "bench.diagnosis": "no diagnosis by the tool of the vendor",
    "bench.storage": "no measured write of a checkpoint",
    "log.nccl": "no log of NCCL",
    "log.metrics": "no log of a run with metrics",
    "log.events": "no log of a run with events",
    DRILL: "no drill of recovery",
    "controller.mrc": "no export of the MRC controller",
}


class LevelRequest(Record):
    """What is asked for: the clauses of a level for a type of machine.

    instance_type, provider: of the catalogue; empty where none is named.
    """

    composed: ComposedEdition
    level: str
    instance_type: str = ""
    provider: str = ""

    @property
    def terms(self) -> UseTerms:
        """What the use asks of the evidence."""
        return next(
            profile.terms
            for profile in self.composed.profiles
            if profile.kind == "use" and profile.terms
        )

    @property
    def clauses(self) -> tuple[JudgedClause, ...]:
        """The clauses that are judged up to the level, those of advice omitted."""
        return tuple(
            clause
            for clause in self.composed.clauses
            if clause.is_selected
            and not clause.not_applicable
            and clause.level != "may"
            and clause.clause.certification_level <= self.level
        )

    @property
    def tracks(self) -> tuple[str, ...]:
        """The tracks of these clauses, in the order of the edition's clauses."""
        return tuple(
            dict.fromkeys(
                track for clause in self.clauses for track in clause.clause.tracks
            )
        )


def level_request(edition: Edition, instance: str, level: str) -> LevelRequest:
    """Return the clauses of a level for a type of machine; empty: of any.

    Raises UnknownProfile and UnknownName.
    """
    name = instance.removeprefix("instance/")
    profiles = (f"instance/{name}",) if name else ()
    composed = compose(edition, use=USE, profiles=profiles)
    if not name:
        return LevelRequest(composed, level)
    known = next(profile for profile in composed.profiles if profile.kind == "instance")
    bare = known.id.partition("/")[2]
    return LevelRequest(composed, level, bare, resolve_instance(bare).provider)


def wanted_by(judged_clause: JudgedClause) -> tuple[str, ...]:
    """Return the kinds of evidence, one of which a clause wants.

    None: it takes what there is.
    """
    clause = judged_clause.clause
    if clause.id in _OF_DRILLS:
        return (DRILL,)
    kinds = [_family(kind) for kind in clause.evidence]
    for prefix in (*_PREFIXES[clause.certification_level], FILES):
        if any(kind.partition(".")[0] == prefix for kind in kinds):
            prefixes = _alike(prefix)
            return tuple(
                dict.fromkeys(k for k in kinds if k.partition(".")[0] in prefixes)
            )
    return ()


def _alike(prefix: str) -> frozenset[str]:
    """Return the prefixes of kinds that stand for each other."""
    return frozenset({"bench", "log"} if prefix in {"bench", "log"} else {prefix})


def _family(kind: str) -> str:
    """Return the family of a kind of evidence: files and snapshots come whole."""
    family = kind.partition(".")[0]
    return family if family in {FILES, NODE} else kind


def given_by(kit: Kit) -> frozenset[str]:
    """Return what a kit gives, in the words of `wanted_by`.

    An all-reduce within one node says nothing of the network: it is none here.
    """
    texts = {_family(kind) for kind in kit.gives}
    if kit.of_kind("drill"):
        texts.add(DRILL)
    if not any(file.nodes >= _WIDE for file in kit.files if _ALL_REDUCE in file.gives):
        texts.discard(_ALL_REDUCE)
    return frozenset(texts)


def missing_of(kit: Kit, entry: LevelRequest) -> tuple[Missing, ...]:
    """Return evidence that clauses want and no file gives, by track, level and kind."""
    given = given_by(kit)
    is_narrow = _ALL_REDUCE in kit.gives
    result: dict[tuple[str, str, str], tuple[set[str], list[JudgedClause]]] = {}
    for clause in entry.clauses:
        wanted = wanted_by(clause)
        if not wanted or not given.isdisjoint(wanted):
            continue
        for track in clause.clause.tracks:
            key = track, clause.clause.certification_level, wanted[0]
            kinds, clauses = result.setdefault(key, (set(), []))
            kinds.update(wanted)
            clauses.append(clause)
    order = {track: place for place, track in enumerate(entry.tracks)}
    return tuple(
        Missing(
            track=track,
            level=level,
            evidence=tuple(sorted(kinds)),
            clauses=tuple(clause.clause.id for clause in clauses),
            musts=tuple(
                clause.clause.id for clause in clauses if clause.level == "must"
            ),
            text=_words(kind, is_narrow),
        )
        for (track, level, kind), (kinds, clauses) in sorted(
            result.items(), key=lambda row: (order[row[0][0]], *row[0][1:])
        )
    )


def _words(kind: str, is_narrow: bool) -> str:  # noqa: FBT001 - of one caller
    if kind != _ALL_REDUCE:
        return WORDS.get(kind, f"nothing of the kind {kind}")
    within = "; there is one within a node" if is_narrow else ""
    return f"{WORDS[kind]} on {_WIDE} or more nodes{within}"


def specimens_missing(
    kit: Kit, result: LevelRequest, expected: int | None
) -> Iterator[Missing]:
    """Yield that fewer machines were examined than a type needs, or were expected."""
    if result.level == "L1":
        return
    count = len(kit.specimens)
    least = max(result.terms.least_specimens or 1, expected or 0)
    if count < least:
        who = "are expected" if expected == least else "speak for a type"
        machines = "1 machine" if count == 1 else f"{count} machines"
        text = f"snapshots of {machines}; {least} {who}"
        yield Missing("", "L2", (NODE,), (), (), text)


def clauses_by_source(entry: LevelRequest) -> dict[str, tuple[JudgedClause, ...]]:
    """Return the clauses that each kind of evidence settles first, by kind."""
    result: dict[str, list[JudgedClause]] = {}
    for clause in entry.clauses:
        for kind in wanted_by(clause)[:1]:
            result.setdefault(kind, []).append(clause)
    return {kind: tuple(clauses) for kind, clauses in result.items()}


def counted_levels(clauses: Iterable[JudgedClause]) -> tuple[int, int]:
    """Return how many are musts, and how many shoulds."""
    levels: Sequence[str] = [clause.level for clause in clauses]
    return levels.count("must"), levels.count("should")


# What is no text of a job is seen by its own machine alone.
_SEARCHED: tuple[Kind, ...] = ("config", "log", "drill", "measurement", "other")
_DATED: tuple[Kind, ...] = ("snapshot", "measurement", "log", "drill")
_BETWEEN = re.compile(r"[\s\"'`,;<>()\[\]{}]+")
_KEYED = re.compile(r"([A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*[\"']?([^\s\"',;]+)")
_MOST_SECRETS = 100


class ExposedSecret(Record):
    """Where a credential stands; what it is, and never the credential itself."""

    path: str
    line: int
    kind: str


class Review(Record):
    """What is missing for a level, and what speaks against the rest.

    What only shoulds want is missing too, and there is a level without it.

    stale: older than evidence may be. undated: what does not tell when it was taken.
    types: of machines, where they are of several. foreign: snapshots that say that they
    are of another type than is asked for.
    """

    missing: tuple[Missing, ...]
    stale: tuple[KitFile, ...] = ()
    undated: tuple[KitFile, ...] = ()
    types: tuple[str, ...] = ()
    foreign: tuple[KitFile, ...] = ()
    secrets: tuple[ExposedSecret, ...] = ()
    age_days: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing and nothing speaks against it."""
        return not (
            *(missing for missing in self.missing if missing.denies),
            *self.stale,
            *self.types,
            *self.foreign,
            *self.secrets,
        )


def review_of(
    kit: Kit, result: LevelRequest, now: datetime, expected: int | None = None
) -> Review:
    """Return what a kit lacks for what is requested.

    Args:
        kit: the files.
        result: the clauses of a level.
        now: the time, with its zone.
        expected: how many machines should have been looked at.

    """
    days = result.terms.evidence_age_days
    dated = [file for file in kit.files if file.kind in _DATED]
    types = kit.instance_types
    return Review(
        missing=(*specimens_missing(kit, result, expected), *missing_of(kit, result)),
        stale=tuple(
            evidence_file
            for evidence_file in dated
            if is_stale(evidence_file, now, days)
        ),
        undated=tuple(
            evidence_file for evidence_file in dated if not evidence_file.taken
        ),
        types=types if len(types) > 1 else (),
        foreign=tuple(
            evidence_file
            for evidence_file in kit.of_kind("snapshot")
            if result.instance_type
            and evidence_file.instance_type
            and not _is_of_type(evidence_file.instance_type, result.instance_type)
        ),
        secrets=tuple(secrets_in(kit)),
        age_days=days,
    )


def is_stale(file: KitFile, now: datetime, days: int | None) -> bool:
    """Return whether a file is older than evidence may be."""
    if days is None or not file.taken:
        return False
    return datetime.fromisoformat(file.taken) < now - timedelta(days=days)


def _is_of_type(result: str, text: str) -> bool:
    """Return whether a machine is of the type that it should be, by any name of it."""
    from speccheck.validator.catalogue.hardware import (  # noqa: PLC0415 - where types are told
        resolve_instance,
    )
    from speccheck.validator.catalogue.names import UnknownName  # noqa: PLC0415

    try:
        return resolve_instance(result).id == text
    except UnknownName:
        return False


def secrets_in(kit: Kit) -> Iterator[ExposedSecret]:
    """Yield where credentials stand in the files of a kit, by file and line."""
    count = 0
    for file in kit.of_kind(*_SEARCHED):
        try:
            text = read_file_text(os.path.join(kit.folder, *file.path.split("/")))
        except ReadError:
            continue  # no text: no credential that one could read
        for number, line in enumerate(text.splitlines(), 1):
            kind = _secret(line)
            if kind:
                yield ExposedSecret(file.path, number, kind)
                count += 1
                if count >= _MOST_SECRETS:
                    return


def _secret(line: str) -> str | None:
    """Return what kind of credential stands on a line."""
    for word in _BETWEEN.split(line):
        kind = secret_kind("", word)
        if kind:
            return kind
    for match in _KEYED.finditer(line):
        kind = secret_kind(match[1], match[2])
        if kind:
            return kind
    return None
