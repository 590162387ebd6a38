"""One edition of the specification, read from its compiled file.

An edition is written as YAML (schemas/1.0) and compiled into one JSON file, the only
thing that a run reads: clauses, the conditions under which they apply, and profiles.
The sha256 of its content is named in every report.
"""

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

import speccheck.schemas
from speccheck.validator.editions.lifecycle import (
    BaseEdition,
    Deprecation,
    Tombstone,
    base_of,
    deprecation_of,
    editions_in,
    tombstones_of,
)
from speccheck.validator.editions.number import (
    Number,
    NumberValue,
    OwnNumber,
    Unit,
    number_of,
    number_text,
)
from speccheck.validator.evidence.finding import ClauseLevel
from speccheck.validator.evidence.record import Record

COMPILED = "compiled.json"
_EDITIONS = os.path.dirname(speccheck.schemas.__file__)


class UnknownEdition(Exception):  # noqa: N818 - a usage error with its own message
    """`--spec` names no edition, or a file that holds none."""


class Clause(Record):
    """One numbered requirement.

    level: before profiles raise it. applies_when: names of conditions, all of which
    must hold. evidence: kinds of evidence that a rule may need. origin: what the
    clause rests on, by kind (claims, primary, secondary, ...).
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

    def requirement_text(
        self, numbers: Mapping[str, NumberValue | None] | None = None
    ) -> str:
        """The requirement with its numbers and their units.

        Args:
            numbers: values by name, as the profiles in force give them; without them
                the values that hold where no profile says otherwise.

        """
        values = numbers if numbers is not None else _defaults(self.numbers)
        return self.requirement.format_map(
            {name: number_text(one, values[name]) for name, one in self.numbers.items()}
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

    def holds(self, fact: object) -> bool:
        """Whether it holds for a fact; None is a fact that is not known."""
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
        """Whether a count lies within."""
        return self.least <= count and (self.most is None or count <= self.most)


class Profile(Record):
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
    profiles: Mapping[str, Profile]
    withdrawn: Mapping[str, Tombstone] = {}
    extends: BaseEdition | None = None
    tailoring: tuple[OwnNumber, ...] = ()
    lapsed: tuple[OwnNumber, ...] = ()

    def size_class(self, world_size: int, nodes: int | None) -> str | None:
        """XS to XXL by the GPUs of the job; None when it may be one node or several."""
        candidates = [
            profile
            for profile in self.profiles.values()
            if profile.nodes and (nodes is None or profile.nodes.hold(nodes))
        ]
        fitting = [one for one in candidates if one.gpus and one.gpus.hold(world_size)]
        left = fitting or candidates
        return left[0].id.partition("/")[2] if len(left) == 1 else None


def editions() -> tuple[str, ...]:
    """The ids of the editions that come with speccheck, oldest first."""
    return editions_in(_EDITIONS, COMPILED)


def load_edition(name: str = "1.0") -> Edition:
    """Load an edition by its id, or by the path of a folder or compiled file.

    Raises UnknownEdition when there is none, it cannot be read, or its content is not
    that of its sha256.
    """
    # A cache of its own would keep `load_edition()` beside `load_edition("1.0")`.
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
    """The text of an edition that is hashed: sorted keys, no blanks, no sha256."""
    kept = {key: value for key, value in content.items() if key != "sha256"}
    return json.dumps(kept, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(content: Mapping[str, object]) -> str:
    """The sha256 of an edition's canonical text, in hexadecimal."""
    from hashlib import sha256  # noqa: PLC0415 - loads OpenSSL, 10 ms

    return sha256(canonical(content).encode()).hexdigest()


def _defaults(numbers: Mapping[str, Number]) -> dict[str, NumberValue | None]:
    return {name: number.value for name, number in numbers.items()}


def edition_of(document: dict[str, Any]) -> Edition:
    """The edition that a compiled document holds.

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
        numbers={name: number_of(name, one, units) for name, one in numbers.items()},
        origin={kind: tuple(names) for kind, names in row["origin"].items()},
        note=row.get("note", ""),
        deprecated=deprecation_of(row.get("deprecated")),
    )


def _value(raw: Any) -> Any:  # noqa: ANN401 - JSON; the compiler held it to its unit
    return tuple(raw) if isinstance(raw, list) else raw


def _condition(key: str, row: dict[str, Any]) -> Condition:
    tests = {name: _value(one) for name, one in row.items()}
    return Condition(name=key, **tests)


def _profile(key: str, row: dict[str, Any]) -> Profile:
    evidenced = row.get("adds_with_evidence") or {}
    return Profile(
        id=key,
        title=row.get("title", ""),
        status=row["status"],
        adds=tuple(row.get("adds", ())),
        adds_with_evidence={kind: tuple(ids) for kind, ids in evidenced.items()},
        raises=tuple(_raise(one) for one in row.get("raises_when", ())),
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
