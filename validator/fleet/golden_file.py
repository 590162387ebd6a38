"""Reads a golden machine: a snapshot, or the profile of one's own fleet."""

from speccheck.validator.fleet.golden import Golden, golden_of
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import load_documents, read_text
from speccheck.validator.sources.formats.snapshot import is_snapshot, node_of


def golden_file(path: str) -> Golden:
    """The golden machine that a file describes; raises ReadError."""
    text = read_text(path)
    documents = load_documents(path, text)
    data = documents[0].data if len(documents) == 1 else None
    if isinstance(data, dict) and is_snapshot(data):
        node_of(data, path)  # that its parts are parts
        return golden_of(data, path)
    if len(documents) == 1 and _says_profile(data):
        from speccheck.validator.fleet.own_profile_file import (  # noqa: PLC0415 - pydantic
            golden_profile,
        )

        return golden_profile(documents[0])
    problem = "neither a snapshot nor a profile of a fleet"
    remedy = "give what speccheck probe --out or speccheck fleet --baseline wrote"
    raise ReadError(path, "syntax", problem, remedy)


def _says_profile(data: object) -> bool:
    """Whether a document says that it is a profile of a fleet, of any version."""
    told = data.get("schema") if isinstance(data, dict) else None
    return isinstance(told, str) and told.startswith("speccheck-fleet-profile/")
