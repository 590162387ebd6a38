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
    problem = "neither a snapshot nor a profile of a fleet"
    remedy = "give what speccheck probe --out or speccheck fleet --baseline wrote"
    raise ReadError(path, "syntax", problem, remedy)
