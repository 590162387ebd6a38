"""The form of the YAML files that an edition is written in.

For the compiler and for tests: a run reads the compiled file, without pydantic.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from speccheck.validator.editions.edition import DRAFT

ClauseId = Annotated[str, Field(pattern=r"^[A-Z]{2,5}-\d{3}$")]
Version = Annotated[str, Field(pattern=r"^\d+\.\d+(\.\d+)?$")]
EditionId = Annotated[str, Field(pattern=r"^\d+\.\d+(\.\d+)?(-draft)?$")]
ProfileId = Annotated[str, Field(pattern=r"^(base|[a-z]+/[A-Za-z0-9.-]+)$")]
Text = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]
Level = Literal["must", "should", "may"]
Confidence = Literal["verified", "secondary", "derived", "engineering-default"]
Value = (
    int | float | Text | Annotated[tuple[int | float | Text, ...], Field(min_length=1)]
)
OriginKind = Literal[
    "claims", "primary", "secondary", "derived_model", "engineering_default"
]


class Strict(BaseModel):
    """Refuses unknown fields; frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AreaSource(Strict):
    """A group of clauses; `rules` names the folder of the rules that judge it."""

    code: Annotated[str, Field(pattern=r"^[A-Z]{2,5}$")]
    title: Text
    rules: Text | None


class UnitSource(Strict):
    """A unit of numbers; `one` is its singular."""

    shown: Literal["bare", "suffixed"]
    one: Text | None = None
    text: Text | None = None


class BaseSource(Strict):
    """The edition that another one extends; sha256: of the base as it was then."""

    id: EditionId
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class WithdrawnSource(Strict):
    """The tombstone of a clause. title: of the clause, which the compiler fills in."""

    reason: Text
    since: Version
    replaced_by: ClauseId | None = None
    title: Text | None = None


class DeprecatedSource(Strict):
    """Notice that a clause will be withdrawn, in which edition, and why."""

    reason: Text
    since: Version
    removed_in: Version
    replaced_by: ClauseId | None = None


class HeadSource(Strict):
    """edition.yaml. extends: an edition of which only what changes is written."""

    id: EditionId
    stage: Literal["draft", "candidate", "approved", "retired"]
    title: Text
    statement: Text
    areas: tuple[AreaSource, ...]
    tracks: tuple[Text, ...]
    units: dict[Text, UnitSource]
    evidence_kinds: dict[Text, Text]
    extends: BaseSource | None = None
    withdrawn: dict[ClauseId, WithdrawnSource] = {}
    deprecated: dict[ClauseId, DeprecatedSource] = {}

    @property
    def version(self) -> str:
        """The id without the word that makes it a draft."""
        return self.id.removesuffix(DRAFT)


class NumberSource(Strict):
    """A number of a clause. plausible: the range that none of its values leaves."""

    value: Value | None
    unit: Text
    by_profile: dict[Text, Value] = {}
    plausible: tuple[float, float] | None = None
    source: Text
    confidence: Confidence
    note: Text | None = None

    @property
    def values(self) -> tuple[Value, ...]:
        """The default and the values by profile."""
        default = () if self.value is None else (self.value,)
        return (*default, *self.by_profile.values())

    @model_validator(mode="after")
    def _holds_together(self) -> "NumberSource":
        numeric = [value for value in self.values if isinstance(value, int | float)]
        if not self.values:
            message = "has neither a value nor one by profile"
            raise ValueError(message)
        if bool(numeric) != (self.plausible is not None):
            message = "plausible: a range for a numeric value, and only for one"
            raise ValueError(message)
        if self.plausible is not None:
            low, high = self.plausible
            for item in numeric:
                if not low <= item <= high:
                    span = f"{low:,.10g} to {high:,.10g}"
                    message = f"{item} is outside the plausible range {span}"
                    raise ValueError(message)
        repeated = [key for key, item in self.by_profile.items() if item == self.value]
        if repeated:
            message = f"by_profile.{repeated[0]} repeats the default"
            raise ValueError(message)
        return self


class ClauseSource(Strict):
    """One requirement, as edition.yaml explains its fields."""

    id: ClauseId
    title: Text
    level: Level
    status: Literal["core", "proposed"]
    certification_level: Literal["L1", "L2", "L3"]
    tracks: Annotated[tuple[Text, ...], Field(min_length=1)]
    applies_when: tuple[Text, ...] = ()
    evidence: Annotated[tuple[Text, ...], Field(min_length=1)]
    requirement: Text
    rationale: Text
    remedy: Text
    remedies: dict[Text, Text] = {}
    numbers: dict[Text, NumberSource] = {}
    origin: Annotated[dict[OriginKind, tuple[Text, ...]], Field(min_length=1)]
    note: Text | None = None

    @property
    def area(self) -> str:
        """The code before the dash of the id."""
        return self.id.partition("-")[0]


class ClauseFile(Strict):
    """clauses/AREA.yaml."""

    area: str
    clauses: tuple[ClauseSource, ...]


class ConditionSource(Strict):
    """A named test of one fact of the plan: exactly one of the five tests."""

    fact: Annotated[str, Field(pattern=r"^[a-z]+\.[a-z0-9_]+$")]
    text: Text
    equals: bool | int | Text | None = None
    more_than: int | None = None
    at_least: int | None = None
    one_of: tuple[int | Text, ...] | None = None
    is_stated: bool | None = None

    @model_validator(mode="after")
    def _one_test(self) -> "ConditionSource":
        tests = self.model_dump(exclude={"fact", "text"}, exclude_none=True)
        if len(tests) != 1:
            message = f"needs exactly one test, has {len(tests)}"
            raise ValueError(message)
        return self


class RaiseSource(Strict):
    """Higher levels, for the uses and sizes named or for all, and why."""

    use: tuple[ProfileId, ...] = ()
    size: tuple[ProfileId, ...] = ()
    raises: Annotated[dict[ClauseId, Level], Field(min_length=1)]
    reason: Text


class TermSource(Strict):
    """A number of what a use asks of the evidence."""

    value: Annotated[int | float, Field(gt=0)]
    unit: Literal["d", "ratio", "nodes"]
    source: Text
    confidence: Confidence
    note: Text | None = None


class SettingsSource(Strict):
    """What a sound fabric shows, for readers: values of one source."""

    where: Text
    source: Text
    confidence: Confidence
    values: dict[Text, Text]


class ProfileSource(Strict):
    """A profile of any kind; the fields below `note` belong to one kind each."""

    id: ProfileId
    title: Text = ""
    status: Literal["core", "proposed"]
    adds: tuple[ClauseId, ...] = ()
    adds_with_evidence: dict[Text, tuple[ClauseId, ...]] = {}
    raises_when: tuple[RaiseSource, ...] = ()
    not_applicable: dict[Text, Text] = {}
    note: Text | None = None
    # size classes: bounds, the larger one null for none
    nodes: tuple[int, int | None] | None = None
    gpus: tuple[int, int | None] | None = None
    reason: Text | None = None
    confidence: Confidence | None = None
    # fabrics
    link_layer: Text | None = None
    rdma: bool | None = None
    lossless: bool | None = None
    network_names: tuple[Text, ...] = ()
    settings: tuple[SettingsSource, ...] = ()
    # instance types
    accelerator: ProfileId | None = None
    fabric: ProfileId | None = None
    # uses
    certification_levels: tuple[Literal["L1", "L2", "L3"], ...] = ()
    unknown_must: Literal["listed", "inconclusive", "denied"] | None = None
    edition_pin: Literal["recommended", "required"] | None = None
    validity: TermSource | None = None
    evidence_age: TermSource | None = None
    coverage_floor: TermSource | None = None
    specimens: TermSource | None = None
    bound_to: tuple[Text, ...] = ()


class ProfileFile(Strict):
    """profiles/KIND.yaml."""

    profiles: tuple[ProfileSource, ...]


class ChangeSource(Strict):
    """One difference from the edition before, with its reason."""

    kind: Literal[
        "level",
        "kept",
        "added",
        "wording",
        "condition",
        "number",
        "profile",
        "field",
        "withdrawn",
        "deprecated",
    ]
    clauses: tuple[ClauseId, ...]
    reason: Text
    from_: Annotated[Level | None, Field(alias="from")] = None
    to: Level | None = None


class ChangesSource(Strict):
    """CHANGES.yaml."""

    before: Text
    changes: tuple[ChangeSource, ...]


class ClaimNumberSource(Strict):
    """A number that a public claim gives."""

    value: float | str | tuple[float, ...]
    unit: Text
    kind: Literal["limit", "class-edge", "outcome", "illustration"]
    note: Text | None = None


class ClaimSource(Strict):
    """A public claim in our own words."""

    id: Annotated[str, Field(pattern=r"^S\d#\d+$")]
    claim: Text
    evidence: tuple[Text, ...] = ()
    number: ClaimNumberSource | None = None
    is_limit: bool
    note: Text | None = None
    clauses: tuple[ClauseId, ...] = ()
    used_for: Text | None = None


class ReportSource(Strict):
    """A public report."""

    id: Text
    title: Text
    subject: Text


class ContradictionSource(Strict):
    """A topic on which the reports disagree, and what the edition makes of it."""

    id: Text
    topic: Text
    statements: dict[Text, Text]
    resolution: Text


class ProvenanceSource(Strict):
    """provenance.yaml."""

    statement: Text
    reports: tuple[ReportSource, ...]
    contradictions: tuple[ContradictionSource, ...]
    claims: tuple[ClaimSource, ...]


class EditionSource(Strict):
    """All files of an edition."""

    head: HeadSource
    clauses: tuple[ClauseSource, ...]
    conditions: dict[str, ConditionSource]
    profiles: tuple[ProfileSource, ...]
    changes: ChangesSource
    provenance: ProvenanceSource
