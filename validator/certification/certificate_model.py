"""The shape of `speccheck-certificate/1`: the predicate of a certificate.

The certificate is an in-toto Statement (v1) in a DSSE envelope; this is its predicate,
for its JSON Schema, for `speccheck verify` and for whoever reads one. What judges does
not import it: predicate.py makes plain data, and a test holds the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.evidence.finding import ClauseLevel, Level, Outcome

CertificationLevel = Literal["L1", "L2", "L3"]
Scalar = str | int | float | bool
Sha256 = str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CertifyingTool(_Part):
    """The program that judged.

    rules: how many it has. rules_sha256: of all its code and tables.
    """

    name: Literal["speccheck"]
    version: str
    rules: int
    rules_sha256: Sha256
    plugins: list[str]


class Verifier(_Part):
    """Who judged; self_attested: nobody else answers for the key."""

    id: str
    key_id: str
    self_attested: bool
    tool: CertifyingTool


class CertificateEdition(_Part):
    """What was judged against.

    is_pinned: the user named it. tailoring: own numbers, each with its reason, of
    tailoring_file, which lies with the evidence; empty for none.
    """

    id: str
    stage: str
    is_pinned: bool
    sha256: Sha256
    tailoring: list["Tailored"]
    tailoring_file: str


class Tailored(_Part):
    """A number of the edition that somebody replaced."""

    clause: str
    number: str
    edition_value: Scalar | None
    own_value: Scalar
    reason: str
    owner: str
    expires: str


class TypeIdentity(_Part):
    """What all machines of the type have in common; sha256: of the sorted fields."""

    fields: dict[str, Scalar | list[Scalar]]
    sha256: Sha256


class Specimen(_Part):
    """One machine that was looked at; its names are salted digests."""

    name: str
    taken: str
    identity: dict[str, Scalar | list[Scalar]]
    evidence: list[Sha256]


class Denied(_Part):
    """Why a track has no higher level; clause: empty where none is to blame."""

    level: CertificationLevel
    clause: str
    outcome: str
    reason: str


class Track(_Part):
    """One track.

    level: the highest that it has, null for none. highest: of which a clause applies.
    required, passed, not_applicable: musts and shoulds.
    """

    track: str
    level: CertificationLevel | None
    highest: CertificationLevel
    required: int
    passed: int
    not_applicable: int
    coverage: float | None
    denied: list[Denied]


class Judgement(_Part):
    """What one rule says of one subject.

    specimen: empty for the job, or for all machines. level: what it weighs if it fails.
    measured, required: as its message tells. What does not apply is not listed.
    """

    rule: str
    outcome: Outcome
    level: Level
    waived: bool
    subject: str
    specimen: str
    message: str
    measured: Scalar | None
    required: Scalar | None


class ClauseResult(_Part):
    """One clause with what all its rules say together."""

    clause: str
    title: str
    level: ClauseLevel
    certification_level: CertificationLevel
    tracks: list[str]
    outcome: Literal["pass", "fail", "unknown", "not_applicable", "error", "waived"]
    judgements: list[Judgement]


class Measured(_Part):
    """One quantity over all specimens; conditions: message size, nodes, tool, ...

    spread: between the medians of specimens, largest less smallest over their median.
    floor, ceiling: what it was held to, in the same unit.
    """

    name: str
    unit: str
    conditions: dict[str, Scalar]
    count: int
    specimens: int
    median: float
    p5: float
    least: float
    most: float
    spread: float | None
    floor: float | None
    ceiling: float | None


class EvidenceFile(_Part):
    """One file that was judged; kind: config, snapshot, measurement, log, drill."""

    path: str
    kind: str
    sha256: Sha256
    size_bytes: int
    specimen: str


class CertificateWaiver(_Part):
    """A failure that somebody answers for."""

    clause: str
    subject: str
    reason: str
    owner: str
    expires: str


class Coverage(_Part):
    """Of what the profile requires, how much was judged, and how it came out."""

    required: int
    passed: int
    failed: int
    unknown: int
    not_applicable: int
    waived: int
    share: float | None


class Invalidator(_Part):
    """What ends the validity at once when it changes; value: as it was."""

    name: str
    value: str


class Validity(_Part):
    """UTC; revocation: where it would be told, empty where nowhere."""

    created: str
    not_before: str
    not_after: str
    invalidators: list[Invalidator]
    revocation: str


class Synthetic(_Part):
    """No such machine was looked at."""

    by: str
    files: int
    note: str


class Certificate(_Part):
    """The predicate.

    profiles: in force. asked_profiles: those of them that the user named beside the
    instance type. expected_machines: how many should have reported.
    """

    schema_: Literal["speccheck-certificate/1"] = Field(alias="schema")
    run_id: str
    instance_type: str
    provider: str
    profiles: list[str]
    asked_profiles: list[str]
    expected_machines: int | None
    verifier: Verifier
    edition: CertificateEdition
    validity: Validity
    type: TypeIdentity
    specimens: list[Specimen]
    tracks: list[Track]
    coverage: Coverage
    clauses: list[ClauseResult]
    measurements: list[Measured]
    evidence: list[EvidenceFile]
    waivers: list[CertificateWaiver]
    limits: list[str]
    synthetic: Synthetic | None
