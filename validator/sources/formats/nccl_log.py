"""What NCCL writes with NCCL_DEBUG=INFO, of a training or of a test without a table."""

from speccheck.validator.sources.capture import Capture, measurement_reading
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.nccl_log import add_communicators, has_lines
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

FORMAT = "nccl-log"
# Below the readers of tests, whose tables stand among such lines.
_SURE = 0.6


def _detect(source: Source) -> float:
    return _SURE if has_lines(source.text) else 0.0


def _read(source: Source) -> Reading:
    """Return the communicators and what was taken for them."""
    capture = Capture(source.name, "NCCL log")
    if not add_communicators(capture, source.text):
        raise ReadError(
            source.name,
            "empty",
            "no line of NCCL tells of a communicator",
            "run again with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET,ENV,TUNING",
        )
    return measurement_reading(capture.node(), FactSheet(source.name))


READER = CaptureReader(
    FORMAT, ("NCCL INFO", "NCCL WARN"), _detect, _read, role="measurement"
)
