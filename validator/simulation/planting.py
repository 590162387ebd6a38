"""Which nodes get which fault: named ones first, then those that are drawn."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.evidence.value import KeyPath, dotted
from speccheck.validator.node.host_names import HostNamesError, unfold
from speccheck.validator.simulation.fault import Fault, Values
from speccheck.validator.simulation.faults import FAULTS
from speccheck.validator.simulation.fleet import SimulatedFleet, name_of
from speccheck.validator.simulation.rng import Dice
from speccheck.validator.simulation.shape import shape_of
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
        """Return what it says of the fault itself."""
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
        """Return what is wrong at a place of the file."""
        return _error(self.path, self._document, at, message)


def load_plan(path: str) -> PlanFile:
    """Return the plan in a file; raises PlanError for anything wrong in it."""
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
    for index, fault in enumerate(plan.faults):
        _demand_sound(file, fault, ("faults", index))
    return file


def _demand_sound(file: PlanFile, planted: Planted, at: KeyPath) -> None:
    fault = FAULTS.get(planted.fault)
    if fault is None:
        close = nearest(planted.fault[:80], FAULTS)
        hint = f"did you mean {close}?" if close else "see --list-faults"
        raise file.fault((*at, "fault"), f"no fault {planted.fault[:80]}: {hint}")
    ways = [
        planted.nodes is not None,
        planted.share is not None,
        planted.count is not None,
    ]
    if sum(ways) != 1:
        message = f"{planted.fault}: say where with one of nodes, share and count"
        raise file.fault(at, message)
    for name in planted.values():
        if name not in fault.values:
            takes = ", ".join(fault.values) or "nothing"
            message = f"{planted.fault} takes no {name}; it takes {takes}"
            raise file.fault((*at, name), message)


def _place(loc: tuple[int | str, ...]) -> KeyPath:
    """Return where pydantic means, without the names of the kinds that it tried."""
    result: list[int | str] = []
    for step in loc:
        if isinstance(step, str) and result[2:] and not isinstance(result[-1], int):
            break
        result.append(step)
    return (*result,)


def _problem(first: Mapping[str, Any]) -> str:
    """Return one line of pydantic's complaint."""
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])[:80]
        fields = FaultPlan if len(first["loc"]) == 1 else Planted
        known = [
            model_field.alias or key for key, model_field in fields.model_fields.items()
        ]
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
    return PlanError("".join(item if item.isprintable() else "?" for item in text))


_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_NAME = re.compile(r"node(\d{4,9})")
# What a machine that has no such part makes of a change.
_NOT_HERE = (LookupError, ValueError, TypeError, AttributeError, StopIteration)


class Plant(Record):
    """A fault with its values, on these nodes (numbers from 0)."""

    name: str
    fault: Fault
    values: Values
    nodes: tuple[int, ...]


class Planting(Record):
    """All that is planted in a fleet."""

    plants: tuple[Plant, ...] = ()
    has_measurements: bool = False

    def by_node(self) -> Mapping[int, Sequence[Plant]]:
        """Return the faults of each node that has some."""
        result: dict[int, list[Plant]] = {}
        for plant in self.plants:
            for node in plant.nodes:
                result.setdefault(node, []).append(plant)
        return result


def plant(file: PlanFile, fleet: SimulatedFleet) -> Planting:
    """Choose the nodes of each fault of a plan; raises PlanError."""
    taken: set[int] = set()
    chosen: dict[int, tuple[int, ...]] = {}
    entries = file.plan.faults
    for index, entry in enumerate(entries):
        if entry.nodes is not None:
            chosen[index] = _named(file, entry, fleet, index)
            taken.update(chosen[index])
    for index, entry in enumerate(entries):
        if entry.nodes is None:
            chosen[index] = _drawn(file, entry, fleet, index, taken)
            taken.update(chosen[index])
    plants = tuple(
        Plant(
            entry.fault,
            FAULTS[entry.fault],
            _values(file, entry, fleet, index),
            chosen[index],
        )
        for index, entry in enumerate(entries)
    )
    return Planting(plants, file.plan.measurements)


def _named(
    file: PlanFile, planted: Planted, fleet: SimulatedFleet, index: int
) -> tuple[int, ...]:
    result: dict[int, None] = {}
    for position, text in enumerate(planted.nodes or ()):
        at = ("faults", index, "nodes", position)
        for number in _numbers(file, text, at):
            if not 1 <= number <= fleet.nodes:
                message = f"node {number}: the fleet has nodes 1 to {fleet.nodes:,}"
                raise file.fault(at, message)
            result[number - 1] = None
    return (*sorted(result),)


def _numbers(
    file: PlanFile, text: int | str, at: tuple[str | int, ...]
) -> Sequence[int]:
    match = _RANGE.fullmatch(str(text).strip())
    if match:
        first = int(match[1])
        last = int(match[2] or first)
        if last < first:
            raise file.fault(at, f"the range {text} runs backwards")
        return range(first, last + 1)
    try:
        names = unfold(str(text))
    except HostNamesError as error:
        raise file.fault(at, str(error)) from error
    matches = [_NAME.fullmatch(name) for name in names]
    if not all(matches):
        message = f"{text}: nodes are called node0001, ...; or write 17, or 40-45"
        raise file.fault(at, message)
    return [int(match[1]) for match in matches if match]


def _drawn(
    file: PlanFile, planted: Planted, fleet: SimulatedFleet, index: int, taken: set[int]
) -> tuple[int, ...]:
    """Return as many of the nodes that have no fault yet."""
    wanted = planted.count or max(1, round((planted.share or 0) * fleet.nodes))
    if wanted > fleet.nodes - len(taken):
        left = f"{fleet.nodes - len(taken):,} of {fleet.nodes:,} nodes have no fault"
        message = f"{planted.fault} wants {wanted:,} nodes, and {left} yet"
        raise file.fault(("faults", index), message)
    dice = Dice(fleet.seed, "plan", index, planted.fault)
    numbers: set[int] = set()
    if wanted * 2 > fleet.nodes - len(taken):
        free = [node for node in range(fleet.nodes) if node not in taken]
        while len(numbers) < wanted:
            numbers.add(free.pop(dice.whole(0, len(free) - 1)))
    while len(numbers) < wanted:
        node = dice.whole(0, fleet.nodes - 1)
        if node not in taken:
            numbers.add(node)
    return (*sorted(numbers),)


def _values(
    file: PlanFile, planted: Planted, fleet: SimulatedFleet, index: int
) -> Values:
    """Return its values, once a machine of the type can have the fault."""
    fault = FAULTS[planted.fault]
    values = {**fault.values, **planted.values()}
    at = ("faults", index)
    shape = shape_of(fleet.profile)
    # The usual one may be beyond those that the type has.
    for name, number, count in (
        ("gpu", planted.gpu, shape.gpus),
        ("link", planted.link, shape.gpu.get("nvlinks", 0)),
        ("port", planted.port, shape.instance.get("network_adapters", 0)),
    ):
        if number is None and name in values and count:
            values[name] = int(str(values[name])) % count
    if fault.is_measured and not file.plan.measurements:
        message = f"{planted.fault} shows in measurements: write measurements: true"
        raise file.fault(at, message)
    well, changed = fault.well(fleet.profile), fault.well(fleet.profile)
    try:
        fault.change(values)(changed)
        is_changed = well != changed or bool(fault.delivery)
        is_changed &= not _fills_gaps(well, changed)
    except _NOT_HERE:
        is_changed = False
    if not is_changed:
        other = f"; {fault.instance} can" if fault.instance != fleet.profile else ""
        message = f"{fleet.profile} cannot have {planted.fault} so{other}"
        raise file.fault(at, message)
    return values


def _fills_gaps(well: object, changed: object) -> bool:
    """Return whether something is known now that such a machine has not."""
    if isinstance(well, dict):
        if not isinstance(changed, dict):
            return "status" in well
        known = well.keys() & changed.keys()
        return any(_fills_gaps(well[key], changed[key]) for key in known)
    if isinstance(well, list) and isinstance(changed, list):
        return any(map(_fills_gaps, well, changed))
    return False


def planted_rows(planting: Planting) -> list[dict[str, object]]:
    """Return what is planted where, for the manifest: the truth to detect."""
    return [
        {
            "fault": item.name,
            "text": item.fault.text,
            "values": dict(item.values),
            "rules": list(item.fault.rules),
            "rules_of": item.fault.instance,
            "is_fleet": item.fault.is_fleet,
            "delivery": item.fault.delivery,
            "nodes": [name_of(node) for node in item.nodes],
        }
        for item in planting.plants
    ]
