"""Shapes of files whose readers and writers hold to them by hand, for their schemas.

Waivers and baselines (validator/run/waivers), own numbers (validator/engine/tailoring)
and the result line of a node (validator/node/result.py).
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from speccheck.validator.evidence.node.node import NAME

_Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
_Names = _Name | Annotated[list[_Name], Field(min_length=1, max_length=200)]
_DAY = r"^\d{4}-\d{2}-\d{2}$"
_Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Number = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WaiverEntry(_Part):
    """Failures that are waived: of which clauses or rules, where, why, until when.

    At least one of clause and rule, and at least one of files, nodes and subject.
    """

    clause: _Names | None = Field(None, description="such as COMM-001")
    rule: _Names | None = Field(None, description="as speccheck rules lists them")
    files: _Names | None = Field(
        None,
        description="patterns of paths, relative to this file: configs/**/*.json",
    )
    nodes: _Names | None = Field(
        None, description="names of machines: node[001-064], or node*"
    )
    subject: _Names | None = Field(None, description="part of a machine: GPU 3")
    reason: _Name = Field(description="why this may fail")
    owner: _Name = Field(description="who answers for it")
    until: Annotated[str, StringConstraints(pattern=_DAY)] | None = Field(
        None, description="the last day with effect, in UTC"
    )
    permanent: bool = Field(default=False, description="in place of a last day")
    ticket: str | int | None = Field(None, description="where it was agreed on")


class Waivers(_Part):
    """What may fail in a project, why, and until when."""

    schema_name: Literal["speccheck-waivers/1"] = Field(alias="schema")
    waivers: Annotated[list[WaiverEntry], Field(max_length=5_000)]


class BaselinePlace(_Part):
    """A file as seen from the baseline, the key and the value as written."""

    file: str = ""
    key: str = ""
    value: str = ""


class BaselineEntry(_Part):
    """A failure of before; count: how often one plan has it."""

    rule: str
    clause: str
    subject: str = ""
    places: list[BaselinePlace]
    count: Annotated[int, Field(ge=1)] = 1


class Baseline(_Part):
    """What failed when speccheck was adopted and has not been mended."""

    schema_name: Literal["speccheck-baseline/1"] = Field(alias="schema")
    findings: list[BaselineEntry]


class OwnNumber(_Part):
    """A number of a clause that another one takes the place of."""

    clause: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,5}-\d{3}$")] = Field(
        description="such as COMM-001"
    )
    number: _Word = Field(description="its name: speccheck spec show CLAUSE lists them")
    value: (
        int
        | float
        | _Word
        | Annotated[list[int | float | _Word], Field(min_length=1, max_length=200)]
    ) = Field(description="within what is plausible for the number")
    unit: _Word = Field(description="that of the edition: ratio, s, nodes, ...")
    reason: _Name = Field(description="why another number is right here")
    owner: _Name = Field(description="who answers for it")
    expires: Annotated[str, StringConstraints(pattern=_DAY)] = Field(
        description="the last day with effect, in UTC"
    )


class Tailoring(_Part):
    """Own numbers in place of an edition's; each with its reason and an end."""

    schema_name: Literal["speccheck-tailoring/1"] = Field(alias="schema")
    tailoring: Annotated[list[OwnNumber], Field(max_length=500)]


class Counts(_Part):
    """Clauses by their outcome; error: a bug of speccheck."""

    passed: _Number = Field(alias="pass")
    fail: _Number
    unknown: _Number
    not_applicable: _Number
    waived: _Number
    error: _Number


class Finding(_Part):
    """One requirement that failed."""

    clause: str
    rule: str
    level: Literal["error", "warning", "info"]
    subject: str  # a part of the node, such as GPU 3
    message: str
    action: str | None  # what is to be done with it


class Snapshot(_Part):
    """The snapshot that was judged."""

    path: str
    sha256: str


class Edition(_Part):
    """The compiled edition that was judged by; tailored: numbers not its own."""

    version: str
    sha256: str
    tailored: _Number = 0


class Tool(_Part):
    """The program that wrote the line."""

    name: str
    version: str


class Synthetic(_Part):
    """What made a node up that does not exist."""

    by: str
    seed: _Number | None = None
    profile: str | None = None
    day: _Number | None = None


class NodeResultDocument(_Part):
    """The result of one node, in one line of at most 4,096 bytes."""

    schema_name: Literal["speccheck-node-result/1"] = Field(alias="schema")
    node: str = Field(pattern=f"^{NAME.pattern}$")
    engine: Literal["slurm", "mpi", "torchrun", "kubernetes", "ray", "none"]
    job: str | None = None
    rank: _Number | None = None
    ranks: _Number | None = None
    nodes: _Number | None = None  # of the job
    node_list: str | None = None  # left out where it is long
    attempt: _Number | None = None
    taken: str = Field(description="when it began, in UTC")
    seconds: float
    tier: Literal[0, 1, 2, 3]
    verdict: Literal["go", "no-go", "inconclusive", "usage", "bug"]
    exit_code: Literal[0, 1, 2, 3, 4]
    reason: str
    counts: Counts
    missing: list[str] = Field(description="evidence without which musts are unknown")
    snapshot: Snapshot | None
    edition: Edition | None
    tool: Tool
    findings: list[Finding] = Field(description="errors first, as far as they fit")
    findings_left_out: _Number
    facts: dict[str, str | int | float | bool] = Field(
        description="leaves that should be the same on all nodes"
    )
    facts_left_out: _Number = 0
    synthetic: Synthetic | None = None
