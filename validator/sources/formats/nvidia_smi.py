"""What `nvidia-smi -q -x` prints: the GPUs of a node, as XML."""

from collections.abc import Iterator

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import Capture, Found, absence_of, told, whole
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.xml_elements import Element, load_xml
from speccheck.validator.sources.formats._nvidia_smi import (
    REASONS,
    SIMPLE,
    SUMS,
    health_mask,
)
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_ROOT = "nvidia_smi_log"
_COMMAND = "nvidia-smi -q -x"
_ROOT_TAG = lazy_pattern(r"<nvidia_smi_log[\s>]")
_LOST, _NEEDS_RESET = "gpu is lost", "gpu requires reset"
_ACTIVE = {"active": True, "not active": False}
# drivers before 535 call them reasons to throttle
_REASONS = (
    ("clocks_event_reasons", "clocks_event_reason_"),
    ("clocks_throttle_reasons", "clocks_throttle_reason_"),
)


def _detect(source: Source) -> float:
    return 1.0 if _ROOT_TAG.search(source.text) else 0.0


def _read(source: Source) -> Reading:
    """The GPUs and the driver; raises ReadError for XML that is cut off."""
    root = load_xml(source.name, source.text)
    if root.tag != _ROOT:
        problem = f"its first element is <{root.tag}>, not <{_ROOT}>"
        at = root.span.line, root.span.column
        raise ReadError(source.name, "syntax", problem, f"capture {_COMMAND}", at)
    capture = Capture(source.name, _COMMAND)
    _driver(capture, root)
    gpus = [*root.each("gpu")]
    attached = root.find("attached_gpus")
    capture.listed("gpus", root.span if attached is None else attached.span)
    for gpu in gpus:
        _gpu(capture, gpu)
    count = None if attached is None else told(attached.text, whole)
    if count != len(gpus):
        listed = "an unknown number" if not isinstance(count, int) else f"{count}"
        capture.partial("gpus", f"shows {len(gpus)} of {listed} GPUs")
    timestamp = root.find("timestamp")
    node = capture.node(timestamp.text if timestamp else "")
    return node_reading(node, FactSheet(source.name))


def _driver(capture: Capture, root: Element) -> None:
    for leaf, tag in (("version", "driver_version"), ("cuda_version", "cuda_version")):
        found = root.find(tag)
        if found is not None:
            capture.put("driver", leaf, told(found.text, str), found.span, tag)


def _gpu(capture: Capture, gpu: Element) -> None:
    part = "gpus", capture.add("gpus", gpu.span)

    def put(leaf: str, found: Found, at: Element, source: str) -> None:
        capture.put_at(part, leaf, found, at.span, source)

    for leaf, paths, convert in SIMPLE:
        shown = [(path, one) for path in paths if (one := gpu.find(path)) is not None]
        if shown:
            valued = [row for row in shown if absence_of(row[1].text) is None]
            path, element = (valued or shown)[0]
            put(leaf, told(element.text, convert), element, path)
    for leaf, sets in SUMS.items():
        _put_sum(capture, part, gpu, leaf, sets)
    _put_clock_reasons(capture, part, gpu)
    _put_banks(capture, part, gpu)
    pending = gpu.find("mig_mode/pending_mig")
    current = gpu.find("mig_mode/current_mig")
    if pending is not None and current is not None:
        absence = absence_of(pending.text) or absence_of(current.text)
        differs = pending.text != current.text
        put("mig_is_pending", absence or differs, pending, "mig_mode")
    health = gpu.find("fabric/health")
    if health is not None:
        put("fabric_health_mask", health_mask(health), health, "fabric/health")
    _put_processes(capture, part, gpu)
    _put_state(capture, part, gpu)


def _put_sum(
    capture: Capture,
    part: tuple[str, int],
    gpu: Element,
    leaf: str,
    sets: tuple[tuple[str, ...], ...],
) -> None:
    """The sum of the first set of elements that are all there."""
    for paths in sets:
        elements = [one for path in paths if (one := gpu.find(path)) is not None]
        if len(elements) < len(paths):
            continue
        values = [told(one.text, whole) for one in elements]
        unknown = [one for one in values if not isinstance(one, int)]
        total = sum(one for one in values if isinstance(one, int))
        # A line with a count tells more than one with a zero.
        at = next((e for e, v in zip(elements, values, strict=True) if v), elements[0])
        found = unknown[0] if unknown else total
        capture.put_at(part, leaf, found, at.span, paths[0])
        return


def _put_clock_reasons(capture: Capture, part: tuple[str, int], gpu: Element) -> None:
    """The reasons as bits; none of them may be unknown."""
    for tag, prefix in _REASONS:
        section = gpu.find(tag)
        if section is None:
            continue
        bits, at = 0, section
        found: Found | None = None
        for name, bit in REASONS.items():
            element = section.find(f"{prefix}{name}")
            if element is None:
                continue
            is_active = _ACTIVE.get(element.text.lower())
            if is_active is None:
                found = absence_of(element.text) or {"status": "failed"}
            elif is_active:
                bits |= bit
                at = element
        if found is None and section.children:
            found = bits
        if found is not None:
            capture.put_at(part, "clock_event_reasons", found, at.span, tag)
        return


def _put_banks(capture: Capture, part: tuple[str, int], gpu: Element) -> None:
    path = "remapped_rows/row_remapper_histogram"
    section = gpu.find(path)
    if section is None:
        return
    names = ("max", "high", "partial", "low", "none")
    texts = [
        "" if one is None else one.text
        for one in (section.find(f"row_remapper_histogram_{name}") for name in names)
    ]
    absence = absence_of(texts[0])
    banks = [told(text, whole) for text in texts]
    found: Found = [one if isinstance(one, int) else None for one in banks]
    capture.put_at(part, "remap_banks", absence or found, section.span, path)


def _put_processes(capture: Capture, part: tuple[str, int], gpu: Element) -> None:
    section = gpu.find("processes")
    if section is None:
        return
    kinds = [
        "" if (kind := one.find("type")) is None else kind.text.upper()
        for one in section.each("process_info")
    ]
    absence = absence_of(section.text) if section.text else None
    for leaf, letter in (("compute_processes", "C"), ("graphics_processes", "G")):
        count = sum(letter in kind.split("+") for kind in kinds)
        capture.put_at(part, leaf, absence or count, section.span, "processes")


def _put_state(capture: Capture, part: tuple[str, int], gpu: Element) -> None:
    """What the GPU itself says in the place of values: that it is lost, or hangs."""
    reset = gpu.find("gpu_reset_status/reset_required")
    said = {"is_lost": gpu, "needs_reset": gpu}
    found = {"is_lost": False, "needs_reset": False}
    for element in _all(gpu):
        text = element.text.lower()
        for leaf, words in (("is_lost", _LOST), ("needs_reset", _NEEDS_RESET)):
            if words in text and not found[leaf]:
                found[leaf], said[leaf] = True, element
    if reset is not None and reset.text.lower() == "yes":
        found["needs_reset"], said["needs_reset"] = True, reset
    if gpu.find("temperature/gpu_temp") is None and not any(found.values()):
        return  # too little of it is shown to say that it answers
    for leaf, value in found.items():
        capture.put_at(part, leaf, value, said[leaf].span, "texts of all values")


def _all(element: Element) -> Iterator[Element]:
    for child in element.children:
        yield child
        yield from _all(child)


READER = CaptureReader("nvidia-smi", (f"<{_ROOT}",), _detect, _read)
