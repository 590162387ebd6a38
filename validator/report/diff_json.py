"""The comparison of two snapshots as JSON, `speccheck-diff/1`."""

from math import isfinite
from typing import Any, Literal

from speccheck.validator.comparison.snapshots import (
    Answer,
    Change,
    Comparison,
    NotCompared,
    NoValue,
)
from speccheck.validator.evidence.node.changes import VARYING, Group
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.serialise import TOOL, Tool, alike, document_text

_OF_ANOTHER = "is another one on each machine, or each time it is measured"


class DiffSide(Record):
    """One snapshot; taken: in seconds since 1970."""

    file: str
    name: str
    taken: float | None
    release: str
    is_synthetic: bool


class DiffMachine(Record):
    """Whether both are of one machine, and on what the answer rests."""

    answer: Answer
    reason: str


class DiffNoValue(Record):
    """Why a leaf has no value; is_certain: it is known that there is none."""

    no_value: str
    is_certain: bool


_Scalar = str | bool | int | float | None
_Value = _Scalar | list[_Scalar] | DiffNoValue


class DiffLeaf(Record):
    """One leaf, or one part that only one of the two has.

    by: how much more the second is; of measurements, as a share of the first.
    per_hour: of counters of one machine.
    """

    group: Group
    leaf: str
    part: str
    change: Change
    a: _Value
    b: _Value
    by: float | None
    per_hour: float | None
    note: str


class DiffVarying(Record):
    """A leaf that is never the same twice, and why."""

    group: Group
    leaf: str
    part: str
    change: Change
    a: _Value
    b: _Value
    by: float | None
    per_hour: float | None
    note: str
    reason: str


class DiffDocument(Record):
    """Two snapshots, leaf by leaf; differences: by what matters most.

    compared: how many leaves have a value in both.
    """

    schema_name: Literal["speccheck-diff/1"]
    tool: Tool
    verdict: Literal["same", "differs", "nothing_compared"]
    exit_code: int
    a: DiffSide
    b: DiffSide
    machine: DiffMachine
    hours: float | None
    was_restarted: bool | None
    compared: int
    differences: tuple[DiffLeaf, ...]
    varying: tuple[DiffVarying, ...]
    not_compared: tuple[NotCompared, ...]


def diff_json(comparison: Comparison, exit_code: int) -> str:
    """Return the whole document."""
    document = alike(
        DiffDocument,
        comparison,
        schema_name="speccheck-diff/1",
        tool=TOOL,
        exit_code=exit_code,
        a=alike(DiffSide, comparison.a),
        b=alike(DiffSide, comparison.b),
        machine=alike(DiffMachine, comparison.machine),
        differences=[
            alike(DiffLeaf, leaf, a=_value(leaf.a), b=_value(leaf.b))
            for leaf in comparison.notable
        ],
        varying=[
            alike(
                DiffVarying,
                leaf,
                a=_value(leaf.a),
                b=_value(leaf.b),
                reason=VARYING.get(leaf.leaf, _OF_ANOTHER),
            )
            for leaf in comparison.varying
        ],
    )
    return document_text(document)


def _value(value: object) -> Any:  # noqa: ANN401 - content of JSON
    """Return a value as the snapshot has it, without secrets; of none, why."""
    if isinstance(value, NoValue):
        return DiffNoValue(hidden(value.reason), value.is_known)
    if isinstance(value, str):
        return hidden(value)
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has no NaN
    if isinstance(value, list):
        return [_value(item) for item in value]
    return None if isinstance(value, dict) else value
