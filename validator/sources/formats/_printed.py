"""Readers of what tools print of a measurement, each of its own and of the others.

The log of a job often holds the output of several tools. Whichever of them names its
format, all of them read it, so that nothing in it is lost.
"""

from collections.abc import Callable
from importlib import import_module

from speccheck.validator.sources.capture import Capture, measurement_reading
from speccheck.validator.sources.nccl_log import add_communicators, has_lines
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

# By module: a text without any of these holds nothing of that tool.
MARKS: dict[str, tuple[str, ...]] = {
    "nccl_tests": ("busbw", "# Avg bus bandwidth", "# nThread "),
    "nvbandwidth": ("memcpy CE ", "memcpy SM ", "memcpy local GPU"),
    "perftest": (" BW Test", " Latency Test", "BW average[", "t_typical["),
    "osu": ("# OSU ",),
    "mllog": (":::MLLOG",),
}
# Puts down what a tool has printed in a text.
Put = Callable[[Capture, str], None]


def printed_reader(
    format_id: str, module: str, detect: Callable[[str], float]
) -> CaptureReader:
    """The reader of a module, which has a function `put`."""

    def detected(source: Source) -> float:
        return detect(source.text)

    return CaptureReader(format_id, MARKS[module], detected, _read, role="measurement")


def _read(source: Source) -> Reading:
    """What all tools and NCCL itself have printed in a log."""
    capture = Capture(source.name, "")
    for module, marks in MARKS.items():
        if any(mark in source.text for mark in marks):
            put: Put = import_module(f"{__package__}.{module}").put
            put(capture, source.text)
    if has_lines(source.text):
        capture.command = "NCCL log"
        add_communicators(capture, source.text)
    return measurement_reading(capture.node(), FactSheet(source.name))
