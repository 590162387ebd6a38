"""What `nvidia-smi nvlink` prints: the links of each GPU, with their states and counts.

GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)
     Link 0: 26.562 GB/s             -s
     Link 1: <inactive>
     Link 0: Replay Errors: 0        -e
     Link 0: 00000000:1B:00.0        -R, and -p of older drivers
"""

from collections.abc import Callable

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import (
    Capture,
    CapturedValue,
    Scalar,
    line_span,
    pci_address,
)
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_GPU = lazy_pattern(r"GPU (\d+): (.+?) \(UUID: (\S+)\)$")
_LINK = lazy_pattern(r"Link (\d+)(?:, [\w ]+)?: (.+)$")
_SPEED = lazy_pattern(r"(\d+(?:\.\d+)?) GB/s$")
_ADDRESS = lazy_pattern(r"[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d$")
_INACTIVE = "<inactive>"
_NONE_ACTIVE = "as all links are inactive"
_NO_LINKS = "does not have or support nvlink"
_IN_MIG = "not supported for devices in mig mode"
_MOST_LINKS = 64


def _megabytes(text: str) -> Scalar | None:
    match = _SPEED.match(text)
    return None if match is None else round(float(match[1]) * 1000)


def _active(text: str) -> Scalar | None:
    if text == _INACTIVE:
        return False
    return True if _SPEED.match(text) else None


def _address(text: str) -> Scalar | None:
    return pci_address(text) if _ADDRESS.match(text) else None


def _count(label: str) -> Callable[[str], Scalar | None]:
    """Return what reads a count behind its label: `Replay Errors: 3`."""

    def convert(text: str) -> Scalar | None:
        name, _, number = text.partition(":")
        is_it = name.strip().lower() == label and number.strip().isdecimal()
        return int(number) if is_it else None

    return convert


# Lists by link: what a line of a link may say.
_LEAVES: dict[str, Callable[[str], Scalar | None]] = {
    "nvlink_is_active": _active,
    "nvlink_speed_mbyte_per_second": _megabytes,
    "nvlink_remote_pci_address": _address,
    "nvlink_replays": _count("replay errors"),
    "nvlink_recoveries": _count("recovery errors"),
    "nvlink_crc_flit_errors": _count("crc errors"),
}


def _detect(source: Source) -> float:
    lines = [line.strip() for line in source.text.splitlines()]
    has_gpu = any(_GPU.match(line) for line in lines)
    is_of_links = any(_LINK.match(line) or _said_of_all(line) for line in lines)
    return 1.0 if has_gpu and is_of_links else 0.0


def _said_of_all(line: str) -> str:
    """Return what a line says of all links of a GPU; empty for another line."""
    line = line.lower()
    return next(
        (text for text in (_NONE_ACTIVE, _NO_LINKS, _IN_MIG) if text in line), ""
    )


class _Gpu:
    """One GPU in the making: the texts of its links, and where they stand."""

    def __init__(self, span: Span, name: str, uuid: str) -> None:
        self.span = span
        self.name = name
        self.uuid = uuid
        self.words: dict[str, Span] = {}
        self.links: dict[int, list[tuple[str, Span]]] = {}


def _read(source: Source) -> Reading:
    """Return the GPUs in their order; one that stands alone may be one of several."""
    capture = Capture(source.name, "nvidia-smi nvlink")
    gpus: dict[int, _Gpu] = {}  # by number: there may be several looks at each
    gpu: _Gpu | None = None
    for line_number, line in enumerate(source.text.splitlines(), 1):
        span, text = line_span(line_number, line), line.strip()
        if match := _GPU.match(text):
            gpu = gpus.setdefault(int(match[1]), _Gpu(span, match[2], match[3]))
        elif gpu is not None and (match := _LINK.match(text)):
            if int(match[1]) < _MOST_LINKS:
                gpu.links.setdefault(int(match[1]), []).append((match[2], span))
        elif gpu is not None and (words := _said_of_all(text)):
            gpu.words[words] = span
    most = max((max(gpu.links, default=-1) for gpu in gpus.values()), default=-1) + 1
    for gpu in gpus.values():
        part = "gpus", capture.add("gpus", gpu.span)
        capture.put_at(part, "name", gpu.name, gpu.span)
        capture.put_at(part, "uuid", gpu.uuid, gpu.span)
        for words, span in gpu.words.items():
            _put_said(capture, part, words, span)
        _put_links(capture, part, gpu, most)
    numbers = [*gpus]
    if numbers != [*range(len(numbers))]:
        if len(numbers) > 1:
            at = line_span(1, source.line(1))
            capture.put("driver", "gpus_attached", max(numbers) + 1, at)
        capture.partial("gpus", f"shows GPU {', '.join(map(str, numbers))} alone")
    return node_reading(capture.node(), FactSheet(source.name))


def _put_said(capture: Capture, part: tuple[str, int], said: str, span: Span) -> None:
    if said == _NONE_ACTIVE:
        capture.put_at(part, "mig_is_on", False, span)  # noqa: FBT003 - of the leaf
        none_active: CapturedValue = [False]
        capture.put_at(part, "nvlink_is_active", none_active, span)
    elif said == _NO_LINKS:
        absent = {"status": "not_supported", "message": "no NVLink"}
        capture.put_at(part, "nvlink_is_active", absent, span)
    elif said == _IN_MIG:
        capture.put_at(part, "mig_is_on", True, span)  # noqa: FBT003 - of the leaf


def _put_links(capture: Capture, part: tuple[str, int], gpu: _Gpu, count: int) -> None:
    """Put lists as long as the longest: a link that a paste leaves off is unknown."""
    for leaf, convert in _LEAVES.items():
        values: list[Scalar | None] = [None] * count
        at = gpu.span
        for link, texts in gpu.links.items():
            for text, span in texts:
                value = convert(text)
                if value is not None:
                    values[link] = value
                if value is False:
                    at = span
        if gpu.links:  # it refuses to tell of a partitioned one
            capture.put_at(part, "mig_is_on", False, gpu.span)  # noqa: FBT003
        if any(value is not None for value in values):
            capture.put_at(part, leaf, values, at)


READER = CaptureReader("nvidia-smi-nvlink", ("(UUID: ",), _detect, _read)
