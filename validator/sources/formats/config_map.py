"""Kubernetes ConfigMaps that hold the launch script of a job.

Pods mount the payload and start it: `data: {launch.sh: ...}`. Only a payload that
launches is one; settings for `envFrom` are read with the container that takes them.
"""

from collections.abc import Iterator

from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.embedded_script import embedded_script
from speccheck.validator.sources.launching import launches
from speccheck.validator.sources.mapping import section
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, Source

_FORMAT = "config-map"
_KIND = "ConfigMap"
_DATA = "data"
_MOST_PAYLOADS = 50


def detect(document: Document) -> float:
    """Recognise it by its kind and a payload that launches a training."""
    if section(document.data).get("kind") != _KIND:
        return 0.0
    return 0.9 if next(_scripts(document), None) is not None else 0.0


def read(document: Document) -> Reading:
    """Return the scripts of the payload; their readers state what is in them."""
    return Reading(FactSheet.of(document), scripts=tuple(_scripts(document)))


def _scripts(document: Document) -> Iterator[Source]:
    payloads = [*section(document.data, _DATA).items()][:_MOST_PAYLOADS]
    for name, text in payloads:
        if isinstance(text, str) and ("--" in text or "torchrun" in text):
            script = embedded_script(document, (_DATA, name))
            if script is not None and launches(script):
                yield script


READER = Reader(_FORMAT, "launcher", detect, read, keys=(_DATA,))
