"""What `ibv_devinfo` and `ibv_devinfo -v` print: RDMA devices, ports, addresses."""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.node.rdma import kind_of_gid
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import (
    Capture,
    CapturedValue,
    Convert,
    converted,
    line_span,
    whole,
    word,
)
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_DEVICE = lazy_pattern(r"hca_id:\s*([\w.-]+)$")
_PORT = lazy_pattern(r"port:\s*(\d{1,4})$")
_GID = lazy_pattern(r"GID\[\s*(\d{1,4})\]:\s*([0-9a-fA-F:.]+)(?:,\s*(.+))?$")
_NUMBER = lazy_pattern(r"\((\d{1,4})\)$")
_STATES = {
    "port_down": "DOWN",
    "port_init": "INIT",
    "port_armed": "ARMED",
    "port_active": "ACTIVE",
}
# As sysfs names them (kernel drivers/infiniband/core/sysfs.c, phys_state_to_str).
_PHYSICAL_STATES = {
    1: "Sleep",
    2: "Polling",
    3: "Disabled",
    4: "PortConfigurationTraining",
    5: "LinkUp",
    6: "LinkErrorRecovery",
    7: "Phy Test",
}
_MOST_GIDS = 256  # ports of ConnectX have 256 entries


def _state(text: str) -> CapturedValue:
    return word(_STATES)(text.split(maxsplit=1)[0])


def _physical_state(text: str) -> CapturedValue:
    match = _NUMBER.search(text)
    if match is None or int(match[1]) not in _PHYSICAL_STATES:
        raise ValueError(text)
    return _PHYSICAL_STATES[int(match[1])]


_OF_DEVICES: dict[str, tuple[str, Convert]] = {
    "fw_ver": ("firmware_version", str),
    "node_guid": ("node_guid", str),
    "board_id": ("board_id", str),
}
_OF_PORTS: dict[str, tuple[str, Convert]] = {
    "state": ("state", _state),
    "phys_state": ("physical_state", _physical_state),
    "active_mtu": ("active_mtu_bytes", whole),
    "port_lid": ("lid", whole),
    "sm_lid": ("subnet_manager_lid", whole),
    "link_layer": ("link_layer", str),
}


class _Port:
    """What several lines of a port say together."""

    def __init__(self) -> None:
        self.part: tuple[str, int] | None = None
        self.lanes = 0
        self.gids: dict[int, tuple[str, str]] = {}
        self.gids_at: Span | None = None


def _detect(source: Source) -> float:
    lines = source.text.splitlines()
    return 1.0 if any(_DEVICE.match(line.strip()) for line in lines) else 0.0


def _read(source: Source) -> Reading:
    """Return the devices and their ports, line by line."""
    capture = Capture(source.name, "ibv_devinfo")
    device: tuple[str, int] | None = None
    port = _Port()
    name, devices = "", 0
    for line_number, line in enumerate(source.text.splitlines(), 1):
        span, text = line_span(line_number, line), line.strip()
        if match := _DEVICE.match(text):
            _end(capture, port)
            port = _Port()
            devices, name = devices + 1, match[1]
            device = "rdma_devices", capture.add("rdma_devices", span)
            capture.listed("rdma_ports", span)
            capture.put_at(device, "name", name, span)
        elif device is not None and (match := _PORT.match(text)):
            _end(capture, port)
            port = _Port()
            port.part = "rdma_ports", capture.add("rdma_ports", span)
            capture.put_at(port.part, "device", name, span)
            capture.put_at(port.part, "number", int(match[1]), span)
        elif port.part is not None:
            _of_port(capture, port, text, span)
        elif device is not None:
            key, _, value = text.partition(":")
            if key in _OF_DEVICES:
                leaf, convert = _OF_DEVICES[key]
                capture.put_at(device, leaf, converted(value, convert), span, key)
    _end(capture, port)
    if devices == 1:
        reason = "shows one device: ibv_devinfo may have been asked for it alone"
        capture.partial("rdma_devices", reason)
        capture.partial("rdma_ports", reason)
    return node_reading(capture.node(), FactSheet(source.name))


def _of_port(capture: Capture, port: _Port, text: str, span: Span) -> None:
    part = port.part
    if part is None:
        return
    if match := _GID.match(text):
        index = int(match[1])
        if index < _MOST_GIDS:
            port.gids[index] = kind_of_gid(match[2]), match[3] or ""
            port.gids_at = port.gids_at or span
        return
    key, _, value = text.partition(":")
    value = value.strip()
    if key in _OF_PORTS:
        leaf, convert = _OF_PORTS[key]
        capture.put_at(part, leaf, converted(value, convert), span, key)
    elif key == "active_width":
        lanes = converted(value.partition("X")[0], whole)
        port.lanes = lanes if isinstance(lanes, int) else 0
    elif key == "active_speed" and port.lanes and value.partition(" ")[2][:4] == "Gbps":
        rate = converted(value, lambda speed: port.lanes * float(speed.split()[0]))
        capture.put_at(part, "rate_gbit_per_second", rate, span, key)


def _end(capture: Capture, port: _Port) -> None:
    """Put down the addresses: those that are not set are not printed."""
    if port.part is None or port.gids_at is None:
        return
    entries = [
        port.gids.get(index, ("unset", "")) for index in range(max(port.gids) + 1)
    ]
    kinds: CapturedValue = [kind for kind, _ in entries]
    capture.put_at(port.part, "gid_kinds", kinds, port.gids_at, "GID")
    if any(kind_of_entry for _, kind_of_entry in entries):
        types: CapturedValue = [
            _TYPES.get(type_name, type_name) for _, type_name in entries
        ]
        capture.put_at(port.part, "gid_types", types, port.gids_at, "GID")


_TYPES = {"RoCE v1": "IB/RoCE v1"}  # as sysfs names it


READER = CaptureReader("ibv-devinfo", ("hca_id:",), _detect, _read)
