"""The YAML file of an imagined framework, `toy_trainer`."""

from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.mapping import Fields, apply, integer, section
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

FIELDS: Fields = {
    "toy_trainer": {
        "nodes": ("cluster.nodes", integer),
        "gpus": ("cluster.gpus_per_node", integer),
        "tensor_parallel": ("parallelism.tensor_parallel_size", integer),
        "keep": ("checkpoint.keep_last", integer),
    }
}


def detect(document: Document) -> float:
    """Return how sure it is, by one key at the top."""
    return 0.9 if section(document.data, "toy_trainer") else 0.0


def read(document: Document) -> Reading:
    """Return what the file states."""
    sheet = FactSheet.of(document)
    apply(sheet, document.data, FIELDS)
    return Reading(sheet)


READER = Reader("toy-trainer", "config", detect, read, keys=("toy_trainer",))
