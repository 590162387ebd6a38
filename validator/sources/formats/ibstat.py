"""What `ibstat` prints: InfiniBand and RoCE adapters with their ports."""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import (
    Capture,
    CapturedValue,
    Convert,
    converted,
    line_span,
    number,
    whole,
    word,
)
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_ADAPTER = lazy_pattern(r"CA '([\w.-]+)'$")
_PORT = lazy_pattern(r"Port (\d{1,4}):$")
# As sysfs names the states (kernel drivers/infiniband/core/sysfs.c, state_show).
_STATES = {"down": "DOWN", "initializing": "INIT", "armed": "ARMED", "active": "ACTIVE"}


def _guid(text: str) -> CapturedValue:
    """Return `0x0c42a10300a1b2c4` as sysfs writes it: `0c42:a103:00a1:b2c4`."""
    digits = f"{int(text, 16):016x}"
    return ":".join(digits[at : at + 4] for at in range(0, 16, 4))


def _lid(text: str) -> CapturedValue:
    return int(text, 0)


_OF_ADAPTERS: dict[str, tuple[str, Convert]] = {
    "CA type": ("type", str),
    "Firmware version": ("firmware_version", str),
    "Node GUID": ("node_guid", _guid),
}
_OF_PORTS: dict[str, tuple[str, Convert]] = {
    "State": ("state", word(_STATES)),
    "Physical state": ("physical_state", str),
    "Rate": ("rate_gbit_per_second", number),
    "Base lid": ("lid", _lid),
    "SM lid": ("subnet_manager_lid", _lid),
    "Link layer": ("link_layer", str),
}


def _detect(source: Source) -> float:
    lines = source.text.splitlines()
    return 1.0 if any(_ADAPTER.match(line.strip()) for line in lines) else 0.0


def _read(source: Source) -> Reading:
    """Return the adapters and their ports, line by line."""
    capture = Capture(source.name, "ibstat")
    adapter: tuple[str, int] | None = None
    port: tuple[str, int] | None = None
    adapters, name, expected, seen = 0, "", 0, 0
    for line_number, line in enumerate(source.text.splitlines(), 1):
        span, text = line_span(line_number, line), line.strip()
        if match := _ADAPTER.match(text):
            adapters, name, port = adapters + 1, match[1], None
            adapter = "rdma_devices", capture.add("rdma_devices", span)
            capture.listed("rdma_ports", span)
            capture.put_at(adapter, "name", name, span)
        elif adapter is not None and (match := _PORT.match(text)):
            seen += 1
            port = "rdma_ports", capture.add("rdma_ports", span)
            capture.put_at(port, "device", name, span)
            capture.put_at(port, "number", int(match[1]), span)
        else:
            key, _, value = text.partition(":")
            value = value.strip()
            if key == "Number of ports":
                count = converted(value, whole)
                expected += count if isinstance(count, int) else 0
            table, part = (_OF_PORTS, port) if port else (_OF_ADAPTERS, adapter)
            if part is not None and key in table:
                leaf, convert = table[key]
                capture.put_at(part, leaf, converted(value, convert), span, key)
    if adapters == 1:
        reason = "shows one adapter: ibstat may have been asked for it alone"
        capture.partial("rdma_devices", reason)
        capture.partial("rdma_ports", reason)
    elif seen < expected:
        capture.partial("rdma_ports", f"shows {seen} of {expected} ports")
    return node_reading(capture.node(), FactSheet(source.name))


READER = CaptureReader("ibstat", ("CA '",), _detect, _read)
