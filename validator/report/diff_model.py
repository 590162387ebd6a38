"""The shape of `speccheck-diff/1`, for its JSON Schema and for whoever reads one.

Nothing that runs imports this module: diff_json.py writes plain data, and a test holds
the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.report.report_model import Tool

_Number = int | float


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DiffSide(_Part):
    """One snapshot; taken: in seconds since 1970."""

    file: str
    name: str
    taken: float | None
    release: str
    is_synthetic: bool


class DiffMachine(_Part):
    """Whether both are of one machine, and on what the answer rests."""

    answer: Literal["one", "two", "not_known"]
    reason: str


class DiffNoValue(_Part):
    """Why a leaf has no value; is_certain: it is known that there is none."""

    no_value: str
    is_certain: bool


_Scalar = str | bool | _Number | None
_Value = _Scalar | list[_Scalar] | DiffNoValue


class DiffLeaf(_Part):
    """One leaf, or one part that only one of the two has.

    by: how much more the second is; of measurements, as a share of the first.
    per_hour: of counters of one machine.
    """

    group: Literal[
        "identity", "topology", "health", "settings", "measurements", "varying"
    ]
    leaf: str
    part: str
    change: Literal["changed", "came", "went", "grew", "fell", "not_known"]
    a: _Value
    b: _Value
    by: float | None
    per_hour: float | None
    note: str


class DiffVarying(DiffLeaf):
    """A leaf that is never the same twice, and why."""

    reason: str


class DiffNotCompared(_Part):
    """Leaves of which nothing follows, such as digests of different salts."""

    leaf: str
    reason: str
    parts: int


class DiffDocument(_Part):
    """Two snapshots, leaf by leaf; differences: by what matters most.

    compared: how many leaves have a value in both.
    """

    schema_name: Literal["speccheck-diff/1"] = Field(alias="schema")
    tool: Tool
    verdict: Literal["same", "differs", "nothing_compared"]
    exit_code: int
    a: DiffSide
    b: DiffSide
    machine: DiffMachine
    hours: float | None
    was_restarted: bool | None
    compared: int
    differences: list[DiffLeaf]
    varying: list[DiffVarying]
    not_compared: list[DiffNotCompared]
