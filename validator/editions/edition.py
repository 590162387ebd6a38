"""One edition of the specification, read from its compiled file.

An edition is written as YAML (schemas/1.0) and compiled into one JSON file, the only
thing that a run reads: clauses, the conditions under which they apply, and profiles.
The sha256 of its content is named in every report.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, TypeAlias

import speccheck.schemas
from speccheck.validator.evidence.finding import ClauseLevel
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place

DEFAULT_EDITION = "1.1"  # that of every run that names none
DRAFT = "-draft"  # at the end of the id of an edition that is no more than one


class BaseEdition(Record):
    """The edition that another one extends, with the sha256 of its content."""

    id: str
    sha256: str


class Deprecation(Record):
    """Notice that a clause will be withdrawn. since, removed_in: editions.

    replaced_by: the clause that takes its place; empty for none.
    """

    reason: str
    since: str
    removed_in: str
    replaced_by: str = ""

    @property
    def text(self) -> str:
        """The notice in a sentence."""
        instead = f"; {self.replaced_by} takes its place" if self.replaced_by else ""
        return (
            f"deprecated since edition {self.since}, withdrawn in {self.removed_in}: "
            f"{self.reason}{instead}"
        )


class Tombstone(Record):
    """A clause that is no more; its id is never used again. since: an edition."""

    id: str
    title: str
    reason: str
    since: str
    replaced_by: str = ""

    @property
    def text(self) -> str:
        """What became of the clause, in a sentence."""
        instead = f"; {self.replaced_by} takes its place" if self.replaced_by else ""
        return f"withdrawn in edition {self.since}: {self.reason}{instead}"


def deprecation_of(row: Mapping[str, Any] | None) -> Deprecation | None:
    """Return the notice that a compiled clause holds."""
    if row is None:
        return None
    return Deprecation(
        row["reason"], row["since"], row["removed_in"], row.get("replaced_by", "")
    )


def tombstones_of(document: Mapping[str, Any]) -> dict[str, Tombstone]:
    """Return the tombstones of a compiled edition by the id of the clause."""
    return {
        name: Tombstone(
            name,
            row.get("title", ""),
            row["reason"],
            row["since"],
            row.get("replaced_by", ""),
        )
        for name, row in document.get("withdrawn", {}).items()
    }


def base_of(head: Mapping[str, Any]) -> BaseEdition | None:
    """Return the edition that a compiled one extends."""
    row = head.get("extends")
    return BaseEdition(row["id"], row["sha256"]) if row else None


def version_of(edition_id: str) -> tuple[int, int, int]:
    """Return the major, minor and patch of an edition.

    A draft has those it is to become.

    Raises ValueError for an id of another form.
    """
    numbers = [int(part) for part in edition_id.removesuffix(DRAFT).split(".")]
    major, minor, patch = [*numbers, 0, 0][:3]
    return major, minor, patch


def age(edition_id: str) -> tuple[tuple[int, int, int], bool]:
    """Return what sorts ids from the oldest on, a draft before what it becomes."""
    return version_of(edition_id), not edition_id.endswith(DRAFT)


def editions_in(folder: str, file: str) -> tuple[str, ...]:
    """Return the ids of the editions whose folder holds a file, oldest first."""
    texts = [
        name
        for name in os.listdir(folder)
        if os.path.isfile(os.path.join(folder, name, file))
    ]
    return tuple(sorted(texts, key=age))


NumberValue: TypeAlias = int | float | str | tuple[int | float | str, ...]

_NODES = "nodes/"
# What kind of model, and on which software: leaves that say where evidence can occur.
_WHERE_EVIDENCE_OCCURS = frozenset({"model.family", "run.framework", "run.uses_torch"})
_MEBIBYTE = 1 << 20
_GIBIBYTE = 1 << 30


class Unit(Record):
    """How a number of this unit is written."""

    name: str
    is_bare: bool = False  # the value alone, without the unit
    singular: str = ""  # of units that are words: node, link


class Number(Record):
    """A number, name or list that a clause compares with.

    value: without a key of `by_profile` that matches; None: there is no such default.
    by_profile: keyed by profile id, `precision/NAME` or `nodes/COUNT`. plausible: the
    range that no numeric value leaves. released: as the edition has it, where somebody
    put an own number in its place.
    """

    name: str
    value: NumberValue | None
    unit: Unit
    by_profile: Mapping[str, NumberValue]
    source: str
    confidence: str
    note: str = ""
    plausible: tuple[float, float] | None = None
    released: "Number | None" = None

    def under(
        self, profiles: Sequence[str], nodes: int | None, precision: str | None
    ) -> NumberValue | None:
        """Return the value that holds; None when the edition has none for this job.

        The first of these that the number has a key for: the profiles, from the last
        to the first; the precision; the table over node counts; the default.

        The table is read by linear interpolation, which fits what it is made for: the
        ring-versus-tree crossover of COMM-001 grows a little faster than the nodes, so
        a chord lies at most a few percent above it, and the clause halves it anyway.
        Beyond the last entry the last value holds: too low for a growing quantity, so
        fewer plans fail. Below the first entry there is no value, as the model does not
        reach there (one node has no network).
        """
        if not self.by_profile:
            return self.value
        for key in (*reversed(profiles), f"precision/{precision}"):
            if key in self.by_profile:
                return self.by_profile[key]
        table = self._table() if nodes is not None else []
        if nodes is None or not table or nodes < table[0][0]:
            return self.value
        return _interpolated(table, nodes)

    def _table(self) -> list[tuple[int, int | float]]:
        return sorted(
            (int(key[len(_NODES) :]), value)
            for key, value in self.by_profile.items()
            if key.startswith(_NODES) and isinstance(value, int | float)
        )


class OwnNumber(Record):
    """A number of the edition that somebody replaced, and who answers for that.

    released: the number as the edition has it. expires: the last day on which the own
    value counts, a date of UTC. place: of the entry in the file of own numbers.
    """

    clause: str
    number: str
    value: NumberValue
    released: Number
    reason: str
    owner: str
    expires: str
    place: Place


def _interpolated(table: list[tuple[int, int | float]], nodes: int) -> int | float:
    before, low = table[0]
    for after, high in table:
        if nodes == after:
            return high
        if nodes < after:
            value = low + (high - low) * (nodes - before) / (after - before)
            return round(value) if isinstance(low, int) else value
        before, low = after, high
    return low


def number_text(number: Number, value: NumberValue | None) -> str:
    """Return a value of that number for people: `8 nodes`, `50 MiB`, `a, b and c`."""
    unit = number.unit
    if value is None:
        return f"[{number.name.replace('_', ' ')} of the profile]"
    if isinstance(value, tuple):
        *first, last = (_plain(item) for item in value)
        return f"{', '.join(first)} and {last}" if first else last
    if unit.name == "B" and isinstance(value, int | float) and value >= _MEBIBYTE:
        if value >= _GIBIBYTE:
            return f"{round(value / _GIBIBYTE, 1):g} GiB"
        return f"{round(value / _MEBIBYTE, 1):g} MiB"
    if unit.is_bare:
        # A compute capability of 8.0 is written so; 8 is another way to say sm_80.
        has_point = unit.name == "compute capability"
        return str(value) if has_point else _plain(value)
    name = unit.singular if value == 1 and unit.singular else unit.name
    return f"{_plain(value)} {name}"


def _plain(value: float | str) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else value


def number_of(name: str, row: dict[str, Any], units: Mapping[str, Unit]) -> Number:
    """Return a number of a compiled edition."""
    by_profile = row.get("by_profile") or {}
    return Number(
        name=name,
        value=_value(row.get("value")),
        unit=units[row["unit"]],
        by_profile={key: _value(item) for key, item in by_profile.items()},
        source=row["source"],
        confidence=row["confidence"],
        note=row.get("note", ""),
        plausible=_value(row.get("plausible")),
    )


def _value(raw: Any) -> Any:  # noqa: ANN401 - JSON; the compiler held it to its unit
    return tuple(raw) if isinstance(raw, list) else raw


COMPILED = "compiled.json"
_EDITIONS = os.path.dirname(speccheck.schemas.__file__)


class UnknownEdition(Exception):  # noqa: N818 - a usage error with its own message
    """`--spec` names no edition, or a file that holds none."""


def level_word(level: ClauseLevel) -> str:
    """Return what users read for a level: a clause that may be met is advice."""
    return "advice" if level == "may" else level


class Clause(Record):
    """One numbered requirement.

    level: before profiles raise it. applies_when: names of conditions, all of which
    must hold. evidence: kinds of evidence that a rule may need. origin: what the
    clause rests on, by kind (claims, primary, secondary, ...). remedies: by framework,
    launcher or scheduler, in place of the remedy that holds for all.
    """

    id: str
    area: str
    title: str
    level: ClauseLevel
    status: str  # core, proposed
    certification_level: str  # L1 files, L2 a live node, L3 a measured run
    requirement: str
    rationale: str
    remedy: str
    applies_when: tuple[str, ...]
    evidence: tuple[str, ...]
    tracks: tuple[str, ...]
    numbers: Mapping[str, Number]
    origin: Mapping[str, tuple[str, ...]]
    note: str
    deprecated: Deprecation | None = None
    remedies: Mapping[str, str] = MappingProxyType({})

    def remedy_for(self, programs: Iterable[str]) -> str:
        """Return the remedy in the words of the first program that has its own."""
        for name in programs:
            if name in self.remedies:
                return self.remedies[name]
        return self.remedy

    def requirement_text(
        self, numbers: Mapping[str, NumberValue | None] | None = None
    ) -> str:
        """Return the requirement with its numbers and their units.

        Args:
            numbers: values by name, as the profiles in force give them; without them
                the values that hold where no profile says otherwise.

        """
        values = numbers if numbers is not None else _defaults(self.numbers)
        return self.requirement.format_map(
            {
                name: number_text(number, values[name])
                for name, number in self.numbers.items()
            }
        )


class Condition(Record):
    """A named test of one fact of the plan; exactly one of the tests is set.

    fact: a leaf of the plan, `cluster.size_class` or `profile.use`. text: completes
    "applies only where ...".
    """

    name: str
    fact: str
    text: str
    equals: bool | float | str | None = None
    more_than: float | None = None
    at_least: float | None = None
    one_of: tuple[int | float | str, ...] = ()
    is_stated: bool | None = None

    @property
    def is_about_evidence(self) -> bool:
        """Whether it only tells where there is something to judge.

        A failure that rests on all that its rule needs stands without it: whoever
        states a kernel of attention has a model with attention. Every other condition
        (role, scale, fabric, what is switched on) bounds the requirement itself.
        """
        return self.fact in _WHERE_EVIDENCE_OCCURS

    @property
    def holds_from(self) -> bool:
        """Whether it holds for every number above one for which it holds."""
        return self.more_than is not None or self.at_least is not None

    def holds(self, fact: object) -> bool:
        """Return whether it holds for a fact; None is a fact that is not known."""
        if self.is_stated is not None:
            return (fact is not None) == self.is_stated
        if self.one_of:
            return fact in self.one_of
        if self.equals is not None:
            return fact == self.equals
        if isinstance(fact, bool) or not isinstance(fact, int | float):
            return False
        if self.more_than is not None:
            return fact > self.more_than
        return self.at_least is not None and fact >= self.at_least


class Raise(Record):
    """Clauses that get a higher level, for some uses and size classes or for all."""

    levels: Mapping[str, ClauseLevel]
    reason: str
    uses: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()


class UseTerms(Record):
    """What a use asks of the evidence.

    unknown_must: what a must without evidence does: listed, inconclusive or denied.
    validity_days: how long a certificate is valid; None: the use gives none.
    evidence_age_days: how old evidence of it may be. coverage_floor: the share of
    applicable musts and shoulds that must be judged for a level. least_specimens: how
    many machines speak for their type.
    """

    certification_levels: tuple[str, ...]
    unknown_must: str
    edition_pin: str
    validity_days: int | None = None
    bound_to: tuple[str, ...] = ()
    evidence_age_days: int | None = None
    coverage_floor: float | None = None
    least_specimens: int | None = None


class Bounds(Record):
    """Smallest and largest count, both included; None: no largest."""

    least: int
    most: int | None

    def hold(self, count: int) -> bool:
        """Return whether a count lies within."""
        return self.least <= count and (self.most is None or count <= self.most)


class EditionProfile(Record):
    """What a size class, fabric, accelerator, instance type or use changes.

    adds: proposed clauses that are judged. adds_with_evidence: the same, where evidence
    of the kind is at hand. not_applicable: clause ids or whole areas, with the reason.
    """

    id: str
    title: str
    status: str
    adds: tuple[str, ...] = ()
    adds_with_evidence: Mapping[str, tuple[str, ...]] = {}
    raises: tuple[Raise, ...] = ()
    not_applicable: Mapping[str, str] = {}
    nodes: Bounds | None = None  # of a size class
    gpus: Bounds | None = None  # of a size class
    terms: UseTerms | None = None  # of a use
    accelerator: str = ""  # of an instance type: ids of other profiles
    fabric: str = ""

    @property
    def kind(self) -> str:
        """size, accel, fabric, use, instance or base."""
        return self.id.partition("/")[0]


class Edition(Record):
    """A whole edition.

    sha256: of its canonical content, as it was released. tailoring: own numbers that
    stand in the clauses in place of released ones. lapsed: own numbers whose last day
    is over, and which have no effect.
    withdrawn: what became of clauses that earlier editions had. extends: the edition
    that it was written as a change of; it is whole without it.
    """

    id: str
    sha256: str
    stage: str
    title: str
    statement: str
    areas: Mapping[str, str]  # code to title
    clauses: Mapping[str, Clause]
    conditions: Mapping[str, Condition]
    profiles: Mapping[str, EditionProfile]
    withdrawn: Mapping[str, Tombstone] = {}
    extends: BaseEdition | None = None
    tailoring: tuple[OwnNumber, ...] = ()
    lapsed: tuple[OwnNumber, ...] = ()

    def size_class(self, world_size: int, nodes: int | None) -> str | None:
        """Return XS to XXL by the GPUs of the job.

        None when it may be one node or several.
        """
        candidates = [
            profile
            for profile in self.profiles.values()
            if profile.nodes and (nodes is None or profile.nodes.hold(nodes))
        ]
        fitting = [
            candidate
            for candidate in candidates
            if candidate.gpus and candidate.gpus.hold(world_size)
        ]
        left = fitting or candidates
        return left[0].id.partition("/")[2] if len(left) == 1 else None

    def sizes_from(self, smallest: str) -> tuple[str, ...]:
        """Return the size classes from that one up."""
        sizes = [
            profile.id.partition("/")[2]
            for profile in self.profiles.values()
            if profile.nodes
        ]
        ordered = sorted(sizes, key=self._least_gpus)
        return tuple(ordered[ordered.index(smallest) :])

    def _least_gpus(self, size: str) -> int:
        gpus = self.profiles[f"size/{size}"].gpus
        return gpus.least if gpus is not None else 0


def editions() -> tuple[str, ...]:
    """Return the ids of the editions that come with speccheck, oldest first."""
    return editions_in(_EDITIONS, COMPILED)


def load_edition(name: str = DEFAULT_EDITION) -> Edition:
    """Load an edition by its id, or by the path of a folder or compiled file.

    Raises UnknownEdition when there is none, it cannot be read, or its content is not
    that of its sha256.
    """
    # A cache of its own would keep `load_edition()` beside `load_edition("1.1")`.
    return _loaded(name)


@cache
def _loaded(name: str) -> Edition:
    path = os.path.join(_EDITIONS, name, COMPILED)
    is_built_in = os.path.basename(name) == name and os.path.isfile(path)
    if not is_built_in:
        path = os.path.join(name, COMPILED) if os.path.isdir(name) else name
    document = _read(path, name)
    if not is_built_in and document.get("sha256") != digest(document):
        message = (
            f"{path}: not the content that was compiled; compile the edition again"
        )
        raise UnknownEdition(message)
    try:
        return edition_of(document)
    except (KeyError, TypeError, AttributeError) as error:
        message = f"{path}: no compiled edition: {type(error).__name__}: {error}"
        raise UnknownEdition(message) from error


def _read(path: str, name: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except FileNotFoundError as error:
        if os.path.isfile(os.path.join(name, "edition.yaml")):
            message = f"{name}: not compiled: run python -m compile_edition {name}"
        else:
            message = (
                f"no edition {name}: known is {', '.join(editions())}, or give a "
                f"folder or file that holds a compiled edition"
            )
        raise UnknownEdition(message) from error
    except (OSError, ValueError) as error:
        message = f"{path}: no compiled edition: {error}"
        raise UnknownEdition(message) from error
    if not isinstance(document, dict):
        message = f"{path}: no compiled edition: it holds no object"
        raise UnknownEdition(message)
    return document


def canonical(content: Mapping[str, object]) -> str:
    """Return the hashed text of an edition: sorted keys, no blanks, no sha256."""
    kept = {key: value for key, value in content.items() if key != "sha256"}
    return json.dumps(kept, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(content: Mapping[str, object]) -> str:
    """Return the sha256 of an edition's canonical text, in hexadecimal."""
    from hashlib import sha256  # noqa: PLC0415 - loads OpenSSL, 10 ms

    return sha256(canonical(content).encode()).hexdigest()


def _defaults(numbers: Mapping[str, Number]) -> dict[str, NumberValue | None]:
    return {name: number.value for name, number in numbers.items()}


def edition_of(document: dict[str, Any]) -> Edition:
    """Return the edition that a compiled document holds.

    Raises KeyError, TypeError or AttributeError for another document.
    """
    head, clauses = document["edition"], document["clauses"]
    areas = {row["code"]: row["title"] for row in head["areas"]}
    # The keys are sorted by name; readers expect the areas in the edition's order.
    places = {code: place for place, code in enumerate(areas)}
    ordered = sorted(clauses, key=lambda key: (places[clauses[key]["area"]], key))
    units = {
        name: Unit(name, row["shown"] == "bare", row.get("one", ""))
        for name, row in head["units"].items()
    }
    return Edition(
        id=head["id"],
        sha256=document["sha256"],
        stage=head["stage"],
        title=head["title"],
        statement=head["statement"],
        areas=areas,
        clauses={key: _clause(key, clauses[key], units) for key in ordered},
        conditions={
            key: _condition(key, row) for key, row in document["conditions"].items()
        },
        profiles={key: _profile(key, row) for key, row in document["profiles"].items()},
        withdrawn=tombstones_of(document),
        extends=base_of(head),
    )


def _clause(key: str, row: dict[str, Any], units: Mapping[str, Unit]) -> Clause:
    numbers = row.get("numbers") or {}
    return Clause(
        id=key,
        area=row["area"],
        title=row["title"],
        level=row["level"],
        status=row["status"],
        certification_level=row["certification_level"],
        requirement=row["requirement"],
        rationale=row["rationale"],
        remedy=row["remedy"],
        applies_when=tuple(row.get("applies_when", ())),
        evidence=tuple(row["evidence"]),
        tracks=tuple(row["tracks"]),
        numbers={
            name: number_of(name, number, units) for name, number in numbers.items()
        },
        origin={kind: tuple(names) for kind, names in row["origin"].items()},
        note=row.get("note", ""),
        deprecated=deprecation_of(row.get("deprecated")),
        remedies=row.get("remedies", {}),
    )


def _condition(key: str, row: dict[str, Any]) -> Condition:
    tests = {name: _value(item) for name, item in row.items()}
    return Condition(name=key, **tests)


def _profile(key: str, row: dict[str, Any]) -> EditionProfile:
    evidenced = row.get("adds_with_evidence") or {}
    return EditionProfile(
        id=key,
        title=row.get("title", ""),
        status=row["status"],
        adds=tuple(row.get("adds", ())),
        adds_with_evidence={kind: tuple(ids) for kind, ids in evidenced.items()},
        raises=tuple(_raise(item) for item in row.get("raises_when", ())),
        not_applicable=row.get("not_applicable") or {},
        nodes=Bounds(*row["nodes"]) if "nodes" in row else None,
        gpus=Bounds(*row["gpus"]) if "gpus" in row else None,
        terms=_terms(row) if "certification_levels" in row else None,
        accelerator=row.get("accelerator", ""),
        fabric=row.get("fabric", ""),
    )


def _raise(row: dict[str, Any]) -> Raise:
    return Raise(
        levels=row["raises"],
        reason=row["reason"],
        uses=tuple(row.get("use", ())),
        sizes=tuple(row.get("size", ())),
    )


def _terms(row: dict[str, Any]) -> UseTerms:
    return UseTerms(
        certification_levels=tuple(row["certification_levels"]),
        unknown_must=row["unknown_must"],
        edition_pin=row["edition_pin"],
        validity_days=row.get("validity_days"),
        bound_to=tuple(row.get("bound_to", ())),
        evidence_age_days=row.get("evidence_age_days"),
        coverage_floor=row.get("coverage_floor"),
        least_specimens=row.get("least_specimens"),
    )
