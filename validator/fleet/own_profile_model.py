"""The file of a fleet's own profile, `speccheck-fleet-profile/1`: its shape."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

_Name = Annotated[str, Field(min_length=1, max_length=500)]
_Text = Annotated[str, Field(max_length=2000)]
_Count = Annotated[int, Field(ge=0, le=10_000_000, strict=True)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProfileTool(_Part):
    """What made it."""

    name: _Name
    version: _Name


class ProfileValue(_Part):
    """The value that more than half have; of: how many nodes tell the leaf."""

    value: Annotated[_Text, Field(strict=True)]
    nodes: _Count
    of: _Count


class ProfileNumber(_Part):
    """A number over nodes; least, most: what is normal, null where no bound is.

    mad: the median absolute deviation. outliers: nodes that were omitted, folded.
    """

    median: FiniteFloat
    mad: FiniteFloat
    least: FiniteFloat | None
    most: FiniteFloat | None
    nodes: _Count
    values: _Count
    outliers: str = ""


class ProfileLeftOut(_Part):
    """Nodes or a leaf that are no part of it, and why."""

    what: str
    why: _Text


class FleetProfile(_Part):
    """What is usual in a fleet, for other fleets and days to be held to.

    variables_known: whether nodes listed their variables, so that one which is not
    among the values is not to be set.
    """

    schema_name: Literal["speccheck-fleet-profile/1"] = Field(alias="schema")
    made: _Name
    tool: ProfileTool
    evidence: list[_Text]
    nodes: Annotated[_Count, Field(ge=8)]
    variables_known: bool
    synthetic: _Count = 0
    values: Annotated[dict[_Name, ProfileValue], Field(max_length=2000)]
    numbers: Annotated[dict[_Name, ProfileNumber], Field(max_length=2000)]
    nodes_left_out: list[ProfileLeftOut] = []
    leaves_left_out: list[ProfileLeftOut] = []
