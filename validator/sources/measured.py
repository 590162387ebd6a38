"""What a file of measurements says of the job that ran: little, only what it saw."""

from collections.abc import Iterable

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.evidence.measurement.communicator import Communicators
from speccheck.validator.evidence.measurement.copying import CopyTests
from speccheck.validator.evidence.measurement.multiplication import MatrixProducts
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.context import gpu_facts
from speccheck.validator.sources.facts import FactSheet
from speccheck.validator.sources.reader import Reading


def measurement_reading(node: Node, sheet: FactSheet) -> Reading:
    """Measurements, the GPU they were taken on and the release of NCCL.

    The nodes of a test are not those of the job: nothing is said of them.
    """
    gpus = (
        one.gpu
        for several in (CollectiveRuns, CopyTests, MatrixProducts)
        for one in node.several(several).shown
    )
    gpu = _shared(gpus)
    if gpu is not None:
        try:
            gpu_facts(sheet, str(gpu.value), gpu.places[0])
        except UnknownName as error:
            sheet.unusable("cluster.accelerator", str(error), gpu.places[0])
    version = _shared(one.nccl_version for one in node.several(Communicators).shown)
    if version is not None:
        note = f"{version.name} of the log"
        sheet.derive("run.nccl_version", version.value, note, *version.places)
    return Reading(sheet, node=node)


def _shared(values: Iterable[Value[str]]) -> Value[str] | None:
    """The first of these, where all that are known say the same."""
    known = [one for one in values if one.is_known]
    return known[0] if len({one.value for one in known}) == 1 else None
