"""Measurements in the form of a snapshot, as `speccheck bench` writes them."""

from speccheck.validator.sources.capture import measurement_reading
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats.snapshot import is_measurement, node_of
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

FORMAT = "measurement"


def _detect(document: Document) -> float:
    return 1.0 if is_measurement(document.data) else 0.0


def _read(document: Document) -> Reading:
    node = node_of(document.data, document.name)
    return measurement_reading(node, FactSheet.of(document))


READER = Reader(FORMAT, "measurement", _detect, _read, keys=("schema",))
