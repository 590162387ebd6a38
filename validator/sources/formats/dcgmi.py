"""What `dcgmi discovery -l` prints: the GPUs that DCGM knows."""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import (
    Capture,
    Convert,
    converted,
    line_span,
    pci_address,
)
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_COUNT = lazy_pattern(r"(\d{1,4}) GPUs? found\.$")
_LEAVES: dict[str, tuple[str, Convert]] = {
    "Name": ("name", str),
    "PCI Bus ID": ("pci_address", pci_address),
    "Device UUID": ("uuid", str),
}


def _detect(source: Source) -> float:
    lines = source.text.splitlines()
    return 1.0 if any(_COUNT.match(line.strip()) for line in lines) else 0.0


def _read(source: Source) -> Reading:
    """Return the table of GPUs; those of switches and processors have other leaves."""
    capture = Capture(source.name, "dcgmi discovery -l")
    expected, number = -1, 0
    part: tuple[str, int] | None = None
    for line_number, line in enumerate(source.text.splitlines(), 1):
        span, text = line_span(line_number, line), line.strip()
        if match := _COUNT.match(text):
            expected = int(match[1])
            capture.listed("gpus", span)
        elif text.endswith(" found."):
            part = None
            if expected >= 0 and number >= expected:
                break
        else:
            cells = [cell.strip() for cell in text.strip("|").split("|")]
            if len(cells) < 2 or expected < 0:  # noqa: PLR2004 - number and text
                continue
            if cells[0].isdecimal():
                number += 1
                part = "gpus", capture.add("gpus", span)
            key, _, value = cells[1].partition(":")
            if part is not None and key in _LEAVES:
                leaf, convert = _LEAVES[key]
                capture.put_at(part, leaf, converted(value.strip(), convert), span, key)
    if number != expected:
        capture.partial("gpus", f"shows {number} of {expected} GPUs")
    return node_reading(capture.node(), FactSheet(source.name))


READER = CaptureReader(
    "dcgmi-discovery", (" GPUs found.", " GPU found."), _detect, _read
)
