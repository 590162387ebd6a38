"""Reads RDMA devices, their ports, and network interfaces from /sys/class."""

import re
from collections.abc import Callable

from speccheck.probes.addresses import (
    IPV4_SOURCE,
    IPV6_SOURCE,
    has_ipv4,
    has_ipv6,
)
from speccheck.probes.raw_value import Absence, RawValue, Scalar, Sheet
from speccheck.probes.root import Root
from speccheck.validator.evidence.node.rdma import kind_of_gid

_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
Put = Callable[[str, RawValue, str], None]
KINDS = ("rdma_devices", "rdma_ports", "network_interfaces")
_DEVICES = "/sys/class/infiniband"
_INTERFACES = "/sys/class/net"
_MOST_KEYS = 8
_MOST_GIDS = 256  # ports of ConnectX have 256 entries, most of them unset
_COUNTERS = {
    "symbol_errors": "counters/symbol_error",
    "link_downed": "counters/link_downed",
    "link_recoveries": "counters/link_error_recovery",
    "local_integrity_errors": "counters/local_link_integrity_errors",
    "buffer_overruns": "counters/excessive_buffer_overrun_errors",
    "receive_errors": "counters/port_rcv_errors",
    "transmit_discards": "counters/port_xmit_discards",
    "virtual_lane_15_dropped": "counters/VL15_dropped",
    "transmit_waits": "counters/port_xmit_wait",
    "out_of_sequence": "hw_counters/out_of_sequence",
    "acknowledgement_timeouts": "hw_counters/local_ack_timeout_err",
    "packet_sequence_errors": "hw_counters/packet_seq_err",
    "receiver_not_ready_retries_exceeded": "hw_counters/rnr_nak_retry_err",
    "slow_restarts": "hw_counters/roce_slow_restart",
    "congestion_marked_packets": "hw_counters/np_ecn_marked_roce_packets",
    "congestion_notifications_handled": "hw_counters/rp_cnp_handled",
    "efa_receive_drops": "hw_counters/rx_drops",
    "efa_retransmit_timeouts": "hw_counters/retrans_timeout_events",
    "efa_command_errors": "hw_counters/cmds_err",
    "efa_commands_unanswered": "hw_counters/no_completion_cmds",
}


def probe(root: Root, sheet: Sheet) -> None:
    """Put down devices, ports and interfaces."""
    _devices(root, sheet)
    _interfaces(root, sheet)


def _devices(root: Root, sheet: Sheet) -> None:
    """Put the devices; the kernel has the folder from the first driver of them on."""
    names = root.names(_DEVICES)
    if isinstance(names, Absence):
        is_bare = names.status == "absent" and root.exists("/sys/class/net")
        for kind in ("rdma_devices", "rdma_ports"):
            sheet.listed(kind, None if is_bare else names)
        return
    for name in names:
        _device(root, sheet, name)
    sheet.listed("rdma_devices")
    sheet.listed("rdma_ports")


def _device(root: Root, sheet: Sheet, name: str) -> None:
    number = sheet.add("rdma_devices")
    folder, shown = f"{_DEVICES}/{name}", f"{_DEVICES}/{{device}}"

    def put(leaf: str, result: RawValue, source: str) -> None:
        sheet.put_at("rdma_devices", number, leaf, result, f"{shown}/{source}")

    put("name", name, "")
    for leaf, file in (
        ("firmware_version", "fw_ver"),
        ("board_id", "board_id"),
        ("type", "hca_type"),
        ("node_guid", "node_guid"),
    ):
        put(leaf, root.line(f"{folder}/{file}"), file)
    _put_device(root, sheet, ("rdma_devices", number), folder, shown)
    put("numa_node", root.number(f"{folder}/device/numa_node"), "device/numa_node")
    put("is_virtual_function", root.exists(f"{folder}/device/physfn"), "device/physfn")
    ports = root.names(f"{folder}/ports")
    if isinstance(ports, Absence):
        return
    for port in ports:
        _port(root, sheet, name, port)


def _put_device(
    root: Root, sheet: Sheet, part: tuple[str, int], folder: str, shown: str
) -> None:
    """Put the PCI address and the driver of a device of some class."""
    kind, number = part
    target = root.target(f"{folder}/device")
    address = target if isinstance(target, Absence) else pci_address(target)
    sheet.put_at(kind, number, "pci_address", address, f"{shown}/device")
    link = f"{folder}/device/driver"
    driver = root.target(link)
    name = driver if isinstance(driver, Absence) else driver.rpartition("/")[2]
    sheet.put_at(kind, number, "driver", name, f"{shown}/device/driver")


def pci_address(path: str) -> str | Absence:
    """Return the last PCI function that a path of sysfs goes through."""
    for step in reversed(path.split("/")):
        if _PCI_ADDRESS.fullmatch(step):
            return step
    return Absence("absent", path, "leads through no PCI device")


def _port(root: Root, sheet: Sheet, device: str, port: str) -> None:
    number = sheet.add("rdma_ports")
    folder = f"{_DEVICES}/{device}/ports/{port}"
    shown = f"{_DEVICES}/{{device}}/ports/{{port}}"

    def put(leaf: str, result: RawValue, source: str) -> None:
        sheet.put_at("rdma_ports", number, leaf, result, f"{shown}/{source}")

    put("device", device, "")
    put("number", int(port) if port.isdecimal() else 0, "")
    for leaf, file in (("state", "state"), ("physical_state", "phys_state")):
        put(leaf, word_of(root.line(f"{folder}/{file}")), file)
    put("link_layer", root.line(f"{folder}/link_layer"), "link_layer")
    put("rate_gbit_per_second", rate_of(root.line(f"{folder}/rate"), folder), "rate")
    put("lid", root.number(f"{folder}/lid"), "lid")
    put("subnet_manager_lid", root.number(f"{folder}/sm_lid"), "sm_lid")
    absence = Absence("not_supported", f"{shown}", "sysfs does not tell it")
    put("active_mtu_bytes", absence, "")
    put("partition_keys", _texts(root, f"{folder}/pkeys"), "pkeys/*")
    for leaf, file in _COUNTERS.items():
        put(leaf, root.number(f"{folder}/{file}"), file)
    _gids(root, put, folder)


def _gids(root: Root, put: Put, folder: str) -> None:
    """Put the kinds of the addresses, not the addresses: they name the specimen."""
    names = root.names(f"{folder}/gids")
    if isinstance(names, Absence):
        for leaf in ("gid_kinds", "gid_types"):
            put(leaf, names, "gids")
        return
    indices = sorted(int(name) for name in names if name.isdecimal())[:_MOST_GIDS]
    gids = [root.line(f"{folder}/gids/{index}") for index in indices]
    kinds = [gid if isinstance(gid, Absence) else kind_of_gid(gid) for gid in gids]
    used = len(kinds)
    while used and kinds[used - 1] == "unset":
        used -= 1
    put("gid_kinds", [*kinds[:used]], "gids/*")
    types = [root.line(f"{folder}/gid_attrs/types/{index}") for index in indices]
    # The kernel refuses to tell the type of an entry that is not set.
    result: list[Scalar | Absence | None] = [
        "" if isinstance(type_, Absence) and kind == "unset" else type_
        for type_, kind in zip(types, kinds, strict=True)
    ]
    put("gid_types", result[:used], "gid_attrs/types/*")
    device = root.line(f"{folder}/gid_attrs/ndevs/0")
    put("network_interface", device, "gid_attrs/ndevs/0")


def word_of(text: str | Absence) -> str | Absence:
    """Return `4: ACTIVE` as `ACTIVE`."""
    return text if isinstance(text, Absence) else text.rpartition(":")[2].strip()


def rate_of(text: str | Absence, folder: str) -> float | Absence:
    """Return `400 Gb/sec (4X NDR)` as 400.0."""
    if isinstance(text, Absence):
        return text
    first = text.split(" ", 1)[0]
    try:
        return float(first)
    except ValueError:
        return Absence("failed", f"{folder}/rate", f"holds {text[:40]!r}")


def _texts(root: Root, folder: str) -> RawValue:
    names = root.names(folder)
    if isinstance(names, Absence):
        return names
    indices = sorted(int(name) for name in names if name.isdecimal())[:_MOST_KEYS]
    return [root.line(f"{folder}/{index}") for index in indices]


def _enabled(root: Root, folder: str) -> RawValue:
    """Return priorities whose file holds 1; only the vendor's driver has such files.

    One that cannot be read leaves all in doubt.
    """
    names = root.names(folder)
    if isinstance(names, Absence):
        return names
    result: list[Scalar | Absence | None] = []
    for name in sorted(name for name in names if name.isdecimal()):
        state = root.number(f"{folder}/{name}")
        if isinstance(state, Absence):
            return state
        if state:
            result.append(int(name))
    return result


def _interfaces(root: Root, sheet: Sheet) -> None:
    names = root.names(_INTERFACES)
    if isinstance(names, Absence):
        sheet.listed("network_interfaces", names)
        return
    for name in names:
        if name != "lo" and root.exists(f"{_INTERFACES}/{name}/operstate"):
            _interface(root, sheet, name)
    sheet.listed("network_interfaces")


def _interface(root: Root, sheet: Sheet, name: str) -> None:
    number = sheet.add("network_interfaces")
    folder, shown = f"{_INTERFACES}/{name}", f"{_INTERFACES}/{{name}}"

    def put(leaf: str, result: RawValue, source: str) -> None:
        sheet.put_at("network_interfaces", number, leaf, result, f"{shown}/{source}")

    put("name", name, "")
    put("state", root.line(f"{folder}/operstate"), "operstate")
    put("mtu_bytes", root.number(f"{folder}/mtu"), "mtu")
    put("speed_mbit_per_second", root.number(f"{folder}/speed"), "speed")
    put("carrier_changes", root.number(f"{folder}/carrier_changes"), "carrier_changes")
    put("address", root.line(f"{folder}/address"), "address")
    for leaf, point in (
        ("congestion_answered_priorities", "roce_np"),
        ("congestion_heeded_priorities", "roce_rp"),
    ):
        enabled = _enabled(root, f"{folder}/ecn/{point}/enable")
        put(leaf, enabled, f"ecn/{point}/enable/*")
    for leaf, has, source in (
        ("has_ipv4", has_ipv4, IPV4_SOURCE),
        ("has_ipv6", has_ipv6, IPV6_SOURCE),
    ):
        sheet.put_at("network_interfaces", number, leaf, has(root, name), source)
    if root.exists(f"{folder}/device"):
        _put_device(root, sheet, ("network_interfaces", number), folder, shown)
