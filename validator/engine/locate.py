"""Where findings stand: positions in files, worked out only for what is reported."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_text
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.reader import Source

if TYPE_CHECKING:
    from speccheck.validator.evidence.finding import PlacedEdit, Proposal


class Location(Record):
    """A place with its position and the text of its line; line 0: no position."""

    file: str
    key: str
    line: int = 0
    column: int = 0
    length: int = 0
    text: str = ""


class LocatedFinding(Record):
    """A finding and where it stands in the files.

    proposals: settings that mend it; None where there may be some and none were sought.
    edits: of its fix, where the request asks for them.
    """

    finding: Finding
    locations: tuple[Location, ...]
    proposals: "tuple[Proposal, ...] | None" = ()
    edits: "tuple[PlacedEdit, ...]" = ()


def sources_of(files: Iterable[ReadFile]) -> dict[str, Source]:
    """Return the files of a plan and those that they inherit from, by name."""
    return {
        source.name: source for file in files for source in (*file.parents, file.source)
    }


def located(finding: Finding, sources: dict[str, Source]) -> LocatedFinding:
    """Return a finding with its places: positions where it failed, else keys alone."""
    if finding.outcome not in {"fail", "error"}:
        keys = tuple(Location(place.file, place.key) for place in finding.places)
        return LocatedFinding(finding, keys)
    message = hidden(finding.message)
    if message != finding.message:
        finding = finding._replace(message=message)
    return LocatedFinding(
        finding, tuple(locate(place, sources) for place in finding.places)
    )


def _looked_into(path: str) -> Source | None:
    """Return a file that is no part of the plan, read for its pins: requirements."""
    try:
        return Source(path, read_text(path), "shell")
    except ReadError:
        return None


def locate(place: Place, sources: dict[str, Source]) -> Location:
    """Return the position of a place, and the line it stands on."""
    source = sources.get(place.file)
    if source is None and place.span is not None:
        source = _looked_into(place.file)
    if source is None:
        return Location(place.file, place.key)
    span = place.span
    if span is None and place.path:
        # Empty documents of a YAML file are counted and not kept.
        for document in source.documents:
            if document.index == place.document:
                span = document.span(place.path, part=place.part)
    if span is None:
        return Location(place.file, place.key)
    text = hidden(source.line(span.line))
    return Location(place.file, place.key, span.line, span.column, span.length, text)
