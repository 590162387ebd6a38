"""A run file of MosaicML's command line (`mcli run -f`) that wraps no training file.

Where LLM Foundry's configuration lies below `parameters`, the reader of that format
takes the whole file.
"""

from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._mosaic_mcli import add_run
from speccheck.validator.sources.mapping import section
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

_FORMAT = "mosaic-mcli"
_COMPANIONS = frozenset(
    {"compute", "env_variables", "image", "integrations", "name", "parameters"}
)
_COMPUTE = frozenset({"cluster", "gpu_type", "gpus", "instance", "nodes"})
_FEWEST = 2


def detect(document: Document) -> float:
    """By a command, and the machines or repositories that MosaicML gives it."""
    data = section(document.data)
    companions = len(_COMPANIONS.intersection(data))
    if not isinstance(data.get("command"), str) or companions < _FEWEST:
        return 0.0
    machines = not _COMPUTE.isdisjoint(section(data, "compute"))
    repositories = isinstance(data.get("integrations"), list)
    if not machines and not repositories:
        return 0.0
    return min(0.9, 0.5 + 0.06 * companions + 0.05 * (machines and repositories))


def read(document: Document) -> Reading:
    """What the run asks of the platform, and the command that it runs."""
    return add_run(document, Reading(FactSheet.of(document)))


READER = Reader(_FORMAT, "launcher", detect, read, keys=("compute", "integrations"))
