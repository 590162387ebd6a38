"""The shapes of `speccheck-waivers/1` and `speccheck-baseline/1`, for their schemas.

Reading them does not import this module
(validator/run/waivers/file.py and baseline.py): a
test holds both to the same.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Names = Name | Annotated[list[Name], Field(min_length=1, max_length=200)]
_DAY = r"^\d{4}-\d{2}-\d{2}$"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class WaiverEntry(_Part):
    """Failures that are waived: of which clauses or rules, where, why, until when.

    At least one of clause and rule, and at least one of files, nodes and subject.
    """

    clause: Names | None = Field(None, description="such as COMM-001")
    rule: Names | None = Field(None, description="as speccheck rules lists them")
    files: Names | None = Field(
        None,
        description="patterns of paths, relative to this file: configs/**/*.json",
    )
    nodes: Names | None = Field(
        None, description="names of machines: node[001-064], or node*"
    )
    subject: Names | None = Field(None, description="part of a machine: GPU 3")
    reason: Name = Field(description="why this may fail")
    owner: Name = Field(description="who answers for it")
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
