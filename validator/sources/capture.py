"""What a tool printed of a machine, put down field by field in the form of a snapshot.

What a capture does not show is not put down, so that it is absent and never judged as
if it had been seen. Each field knows the line that it stands on. A file of measurements
says little of the job that ran: `measurement_reading` takes only what it saw.
"""

from collections.abc import Callable, Iterable, Mapping

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRuns,
    Communicators,
)
from speccheck.validator.evidence.measurement.device import CopyTests, MatrixProducts
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.evidence.node.part import SnapshotFile
from speccheck.validator.evidence.value import (
    KeyPath,
    Place,
    Span,
    Status,
    Value,
    dotted,
)
from speccheck.validator.sources.context import gpu_facts
from speccheck.validator.sources.reader import FactSheet, Reading

Scalar = str | int | float | bool
# A value, or why there is none: {"status": "not_supported"}.
CapturedValue = Scalar | Mapping[str, str] | list[Scalar | None]
# Where it stands: in a text, or at a key of a document.
Where = Span | Place
# From what the tool prints to a leaf; raises ValueError for another text.
Convert = Callable[[str], CapturedValue]

# How tools say that there is no value; what else they print is left to the leaf.
_ABSENCES: dict[str, Status] = {
    "": "absent",
    "n/a": "not_supported",
    "[n/a]": "not_supported",
    "not supported": "not_supported",
    "[not supported]": "not_supported",
    "requested functionality has been deprecated": "not_supported",
    "insufficient permissions": "not_permitted",
    "[insufficient permissions]": "not_permitted",
    "<access denied>": "not_permitted",
}


class Capture:
    """The leaves of one machine as one tool prints them."""

    __slots__ = ("_data", "_partial", "_places", "_sources", "command", "name")

    def __init__(self, name: str, command: str) -> None:
        """Start an empty one of a file, that such a command has printed."""
        self.name = name
        self.command = command
        self._data: dict[str, object] = {}
        self._partial: dict[str, str] = {}
        self._places: dict[KeyPath, Place] = {}
        self._sources: dict[str, str] = {}

    def put(
        self, kind: str, leaf: str, result: CapturedValue, span: Where, source: str = ""
    ) -> None:
        """Put a leaf of what a machine has once."""
        part = self._data.setdefault(kind, {})
        if isinstance(part, dict):
            part[leaf] = result
            self._put_place((kind, leaf), span)
            self._sources.setdefault(f"{kind}.{leaf}", f"{self.command} {source}")

    def add(self, kind: str, span: Where) -> int:
        """Add another part of a kind; return its number, from 0."""
        parts = self._listed(kind, span)
        parts.append({})
        return len(parts) - 1

    def put_at(
        self,
        part: tuple[str, int],
        leaf: str,
        result: CapturedValue,
        span: Where,
        source: str = "",
    ) -> None:
        """Put a leaf of one part."""
        kind, number = part
        self._listed(kind, span)[number][leaf] = result
        self._put_place((kind, number, leaf), span)
        self._sources.setdefault(f"{kind}.{leaf}", f"{self.command} {source}")

    def listed(self, kind: str, span: Where) -> None:
        """Note that a machine has no parts of that kind besides those added."""
        self._listed(kind, span)

    def partial(self, kind: str, reason: str) -> None:
        """Note that a machine may have parts of that kind besides those added."""
        self._partial[kind] = reason

    def node(self, taken: str = "") -> Node:
        """Return the node that the capture shows."""
        file = SnapshotFile(self.name, self._sources, self._partial, self._places)
        lists = {"partly_listed": sorted(self._partial)}
        return Node({**self._data, **lists}, file, taken)

    def _listed(self, kind: str, span: Where) -> list[dict[str, CapturedValue]]:
        result = self._data.get(kind)
        if isinstance(result, list):
            return result
        made: list[dict[str, CapturedValue]] = []
        self._data[kind] = made
        self._put_place((kind,), span)
        return made

    def _put_place(self, path: KeyPath, span: Where) -> None:
        if isinstance(span, Span):
            span = Place(self.name, dotted(path), span=span)
        self._places[path] = span


def absence_of(text: str) -> Mapping[str, str] | None:
    """Return why a tool prints no value, where it says so."""
    status = _ABSENCES.get(text.strip().lower())
    if status is None:
        return None
    return {"status": status, "message": text.strip()} if text else {"status": status}


def converted(text: str, convert: Convert) -> CapturedValue:
    """Return what a tool's text says; a text that it should not print is a failure."""
    text = text.strip()
    result = absence_of(text)
    if result is not None:
        return result
    try:
        return convert(text)
    except ValueError:
        return {"status": "failed", "message": f"printed {text[:60]!r}"}


def word(table: Mapping[str, Scalar]) -> Convert:
    """Return a conversion by a table of lower-case words."""

    def convert(text: str) -> CapturedValue:
        result = table.get(text.strip().lower())
        if result is None:
            raise ValueError(text)
        return result

    return convert


def whole(text: str) -> CapturedValue:
    """Return a whole number, with or without a unit behind it."""
    return int(text.split(maxsplit=1)[0])


def number(text: str) -> CapturedValue:
    """Return a number, with or without a unit behind it."""
    return float(text.split(maxsplit=1)[0])


def mebibytes(text: str) -> CapturedValue:
    """Return `81559 MiB` as bytes."""
    count, unit = text.split()
    if unit != "MiB":
        raise ValueError(text)
    return int(count) * 2**20


def pci_address(text: str) -> str:
    """Return `00000000:1B:00.0` and `1b:00.0` as sysfs writes them: `0000:1b:00.0`."""
    domain, _, rest = text.strip().lower().rpartition(":")
    domain, _, bus = domain.rpartition(":")
    device, _, function = rest.partition(".")
    return (
        f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}."
        f"{int(function, 16):x}"
    )


def first_words(lines: Iterable[str]) -> Iterable[tuple[int, str, str]]:
    """Yield the line number, name and value of lines such as `State: Active`."""
    for line_number, line in enumerate(lines, 1):
        name, colon, value = line.partition(":")
        if colon:
            yield line_number, name.strip(), value.strip()


def line_span(line_number: int, line: str) -> Span:
    """Return where the text of a line stands."""
    text = line.strip()
    column = len(line) - len(line.lstrip()) + 1
    return Span(line_number, column, max(1, len(text)))


def measurement_reading(node: Node, sheet: FactSheet) -> Reading:
    """Return the measurements, the GPU they were taken on and the release of NCCL.

    The nodes of a test are not those of the job: nothing is said of them.
    """
    gpus = (
        part.gpu
        for several in (CollectiveRuns, CopyTests, MatrixProducts)
        for part in node.several(several).shown
    )
    gpu = _shared(gpus)
    if gpu is not None:
        try:
            gpu_facts(sheet, str(gpu.value), gpu.places[0])
        except UnknownName as error:
            sheet.unusable("cluster.accelerator", str(error), gpu.places[0])
    version = _shared(
        communicator.nccl_version for communicator in node.several(Communicators).shown
    )
    if version is not None:
        note = f"{version.name} of the log"
        sheet.derive("run.nccl_version", version.value, note, *version.places)
    return Reading(sheet, node=node)


def _shared(values: Iterable[Value[str]]) -> Value[str] | None:
    """Return the first of these, where all that are known say the same."""
    known = [value for value in values if value.is_known]
    return known[0] if len({value.value for value in known}) == 1 else None
