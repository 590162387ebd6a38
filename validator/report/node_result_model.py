"""The shape of `speccheck-node-result/1`, for its JSON Schema and for who reads one.

Writing and reading lines does not import this module (node_result.py does it by hand,
fast enough for ten thousand nodes); a test holds the two together.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.evidence.node.node import NAME

Number = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Counts(_Part):
    """Clauses by their outcome; error: a bug of speccheck."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    passed: Number = Field(alias="pass")
    fail: Number
    unknown: Number
    not_applicable: Number
    waived: Number
    error: Number


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
    tailored: Number = 0


class Tool(_Part):
    """The program that wrote the line."""

    name: str
    version: str


class Synthetic(_Part):
    """What made a node up that does not exist."""

    by: str
    seed: Number | None = None
    profile: str | None = None
    day: Number | None = None


class NodeResultDocument(_Part):
    """What came of one node, in one line of at most 4,096 bytes."""

    schema_name: Literal["speccheck-node-result/1"] = Field(alias="schema")
    node: str = Field(pattern=f"^{NAME.pattern}$")
    engine: Literal["slurm", "mpi", "torchrun", "kubernetes", "ray", "none"]
    job: str | None = None
    rank: Number | None = None
    ranks: Number | None = None
    nodes: Number | None = None  # of the job
    node_list: str | None = None  # left out where it is long
    attempt: Number | None = None
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
    findings_left_out: Number
    facts: dict[str, str | int | float | bool] = Field(
        description="leaves that should be the same on all nodes"
    )
    facts_left_out: Number = 0
    synthetic: Synthetic | None = None
