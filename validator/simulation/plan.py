"""A plan of faults: which are planted, with which values, on which nodes.

The shape is pydantic's, and so is its JSON Schema; what depends on the fleet - nodes
that are there, parts that the type has - is found when it is planted.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.evidence.value import KeyPath, dotted
from speccheck.validator.simulation.faults import FAULTS
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.documents.reading import load_documents, read_text

SCHEMA = "speccheck-faults/1"
MOST_CHARACTERS = 1_000_000
MOST_FAULTS = 1_000
_MOST_NODES = 100_000

Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,99}$")]
Release = Annotated[str, StringConstraints(pattern=r"^[\w.+-]{1,60}$")]
# Faults take these; which of them each takes is a matter of the table.
VALUES = (
    *("gpu", "link", "port", "code", "celsius", "watts", "gbit_per_second", "bytes"),
    *("milliseconds", "hours", "share_left", "name", "value", "version"),
)


class PlanError(ValueError):
    """A plan that cannot be planted; the message names file, line and remedy."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Planted(_Part):
    """One fault, on the nodes that are named, or on a share or a number of them.

    Exactly one of nodes, share and count. Nodes that are drawn for a share or a number
    have no other fault.
    """

    fault: str = Field(description="its name: speccheck simulate --list-faults")
    nodes: Annotated[list[int | Text], Field(min_length=1, max_length=5_000)] | None = (
        Field(None, description="numbers from 1, ranges (40-45), or node[0040-0045]")
    )
    share: float | None = Field(None, gt=0, le=1, description="of all nodes")
    count: int | None = Field(None, ge=1, le=_MOST_NODES, description="of nodes")
    gpu: int | None = Field(None, ge=0, le=71, description="which, from 0")
    link: int | None = Field(None, ge=0, le=35, description="of NVLink, from 0")
    port: int | None = Field(None, ge=0, le=63, description="which, from 0")
    code: int | None = Field(None, ge=1, le=999, description="of an Xid")
    celsius: int | None = Field(None, ge=0, le=200)
    watts: float | None = Field(None, gt=0, le=10_000)
    gbit_per_second: float | None = Field(None, gt=0, le=10_000)
    bytes: int | None = Field(None, ge=1, le=2**48)
    milliseconds: float | None = Field(None, ge=-1e9, le=1e9)
    hours: float | None = Field(None, gt=0, le=1e6)
    share_left: float | None = Field(
        None, gt=0, lt=1, description="of memory, or of speed"
    )
    name: Name | None = Field(None, description="of a variable")
    value: Text | None = None
    version: int | Release | None = None

    def values(self) -> dict[str, object]:
        """What it says of the fault itself."""
        given = self.model_dump(exclude_none=True, include=set(VALUES))
        return {**given}


class FaultPlan(_Part):
    """What is wrong in a synthetic fleet."""

    schema_name: Literal["speccheck-faults/1"] = Field(alias="schema")
    measurements: bool = Field(
        default=False,
        description="add copies, products and collectives to every node",
    )
    faults: Annotated[list[Planted], Field(max_length=MOST_FAULTS)] = []


class PlanFile:
    """A plan with the file that it stands in, for messages that name the line."""

    __slots__ = ("_document", "path", "plan")

    def __init__(self, path: str, document: Document, plan: FaultPlan) -> None:
        """Take the file, its document and what was read of it."""
        self.path = path
        self.plan = plan
        self._document = document

    def fault(self, at: KeyPath, message: str) -> PlanError:
        """What is wrong at a place of the file."""
        return _error(self.path, self._document, at, message)


def load_plan(path: str) -> PlanFile:
    """The plan in a file; raises PlanError for anything wrong in it."""
    try:
        text = read_text(path)
        if len(text) > MOST_CHARACTERS:
            most = f"a plan may have {MOST_CHARACTERS:,}"
            message = f"{path}: {len(text):,} characters; {most}: write ranges of nodes"
            raise PlanError(message)
        is_json = path.lower().endswith(".json")
        document = load_documents(path, text, "json" if is_json else "yaml")[0]
    except ReadError as error:
        raise PlanError(str(error)) from error
    if not isinstance(document.data, dict) or document.data.get("schema") != SCHEMA:
        message = f"no plan of faults: write schema: {SCHEMA} at its top"
        raise _error(path, document, (), message)
    try:
        plan = FaultPlan.model_validate(document.data)
    except ValidationError as error:
        first: Any = error.errors()[0]
        message = _problem(first)
        raise _error(path, document, _place(first["loc"]), message) from None
    file = PlanFile(path, document, plan)
    for index, one in enumerate(plan.faults):
        _demand_sound(file, one, ("faults", index))
    return file


def _demand_sound(file: PlanFile, one: Planted, at: KeyPath) -> None:
    fault = FAULTS.get(one.fault)
    if fault is None:
        close = nearest(one.fault[:80], FAULTS)
        hint = f"did you mean {close}?" if close else "see --list-faults"
        raise file.fault((*at, "fault"), f"no fault {one.fault[:80]}: {hint}")
    ways = [one.nodes is not None, one.share is not None, one.count is not None]
    if sum(ways) != 1:
        message = f"{one.fault}: say where with one of nodes, share and count"
        raise file.fault(at, message)
    for name in one.values():
        if name not in fault.values:
            takes = ", ".join(fault.values) or "nothing"
            message = f"{one.fault} takes no {name}; it takes {takes}"
            raise file.fault((*at, name), message)


def _place(loc: tuple[int | str, ...]) -> KeyPath:
    """Where pydantic means, without the names of the kinds that it tried."""
    found: list[int | str] = []
    for step in loc:
        if isinstance(step, str) and found[2:] and not isinstance(found[-1], int):
            break
        found.append(step)
    return (*found,)


def _problem(first: Mapping[str, Any]) -> str:
    """One line of what pydantic found."""
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])[:80]
        fields = FaultPlan if len(first["loc"]) == 1 else Planted
        known = [one.alias or key for key, one in fields.model_fields.items()]
        close = nearest(name, known)
        hint = f"did you mean {close}?" if close else f"there are {', '.join(known)}"
        return f"no field {name}: {hint}"
    message = str(first["msg"])
    return message[:1].lower() + message[1:]


def _error(path: str, document: Document, at: KeyPath, message: str) -> PlanError:
    span = None
    for end in range(len(at), -1, -1):
        span = document.span(at[:end], part="key")
        if span:
            break
    place = f"{path}:{span.line}" if span else path
    called = dotted(at)
    text = f"{place}: {called}: {message}" if called else f"{place}: {message}"
    return PlanError("".join(one if one.isprintable() else "?" for one in text))
