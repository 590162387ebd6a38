"""The shape of `speccheck-evidence/1`: what an evidence kit holds.

Written by `speccheck evidence pack` as `evidence.json`, read by `speccheck certify` and
`speccheck verify`, which hold the files to it.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

SCHEMA = "speccheck-evidence/1"
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


def _demand_below(path: str) -> str:
    """Return the path, where no step of it leads upwards; raises ValueError."""
    if {"", ".", ".."} & {*path.split("/")}:
        message = "must be a path below the folder"
        raise ValueError(message)
    return path


# Below the folder, with slashes, and never out of it.
RelativePath = Annotated[
    str,
    StringConstraints(min_length=1, max_length=4_096, pattern=r"^[^/]"),
    AfterValidator(_demand_below),
]
Text = Annotated[str, StringConstraints(max_length=1_000)]
Time = Annotated[
    str, StringConstraints(pattern=r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)?$")
]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tool(_Part):
    """The program that packed the kit."""

    name: Literal["speccheck"]
    version: Text


class ListedFile(_Part):
    """One file of the kit.

    kind: config (files of the job), snapshot (of a machine), measurement, log (of a
    run), drill (a log with a drill of recovery), other (nothing judges it). format: of
    the reader that knows it. taken: when, in UTC; empty where it does not tell.
    specimen: the one machine that it is of. synthetic: what made it up; empty for what
    was really seen. gives: kinds of evidence, in words of the edition. nodes: how many
    took part in the widest measurement.
    """

    path: RelativePath
    kind: Literal["config", "snapshot", "measurement", "log", "drill", "other"]
    format: Text
    sha256: Sha256
    size_bytes: Count
    taken: Time
    specimen: Text
    synthetic: Text
    gives: list[Text]
    nodes: Count
    instance_type: Text


class MissingEvidence(_Part):
    """Evidence that the asked level wants and no file gives.

    track: empty where all tracks lack it. evidence: kinds, in words of the edition.
    clauses: that it would settle. musts: those of them without which there is no such
    level. text: what is missing, in words.
    """

    track: Text
    level: Literal["L1", "L2", "L3"]
    evidence: list[Text]
    clauses: list[Text]
    musts: list[Text]
    text: Text


class EvidenceDocument(_Part):
    """The files of a folder, and what is missing for a level.

    instance_type, provider: of the profile that was asked for, or of the machines where
    they agree. level: that was asked for. created: in UTC.
    """

    schema_: Literal["speccheck-evidence/1"] = Field(alias="schema")
    tool: Tool
    created: Time
    instance_type: Text
    provider: Text
    level: Literal["L1", "L2", "L3"]
    files: list[ListedFile]
    missing: list[MissingEvidence]
