"""Which lines of a kernel log matter, what they say, and in which forms they come.

Patterns follow the messages of the drivers: NVIDIA's resource manager (NVRM) and
NVSwitch driver (SXid), the kernel's PCIe error reporting, mlx5_core, EDAC and machine
checks, the out-of-memory killer and the hung task detector.
"""

import re
from collections.abc import Iterable

from speccheck.validator.evidence.record import Record

# Xids that an application causes by itself; NVIDIA's Xid catalogue.
OF_APPLICATIONS = frozenset({13, 31, 43, 45, 94})
_PCI = r"(?P<pci>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)"
_MOST_TEXT = 300
_FUNCTION = ".0"
_MICROSECONDS = 1_000_000
_KERNEL = 0  # the facility of lines that the kernel itself wrote
_FACILITY_SHIFT = 3


class ParsedEvent(Record):
    """What one line says; code, address, device: where it names them."""

    event: str
    code: int | None = None
    pci_address: str | None = None
    device: str | None = None
    is_fatal: bool | None = None


class KernelLine(Record):
    """A line of the log, and when after the start of the kernel."""

    seconds: float
    text: str


class _Pattern(Record):
    """event: of a line that has the word and that the pattern matches."""

    event: str
    word: str
    pattern: re.Pattern[str]


def _pattern(event: str, word: str, pattern: str) -> _Pattern:
    return _Pattern(event, word, re.compile(pattern))


# The first that matches counts. The word is looked for first: it is cheap, and most
# lines of a log have none of them.
_PATTERNS = (
    _pattern(
        "sxid",
        "SXid",
        rf"SXid \(PCI:{_PCI}\): (?P<code>\d{{1,6}})(?:, (?P<fatal>Fatal|Non-fatal))?",
    ),
    _pattern(
        "sxid",
        "detected NVSwitch",  # of the fabric manager
        rf"detected NVSwitch (?P<fatal>fatal|non-fatal) error (?P<code>\d{{1,6}}) .*"
        rf"pci bus id {_PCI}",
    ),
    _pattern("xid", "Xid", rf"NVRM: .*?\bXid \(PCI:{_PCI}\): (?P<code>\d{{1,6}})\b"),
    _pattern("gpu_fallen_off_bus", "fallen off", rf"NVRM:(?:.*?{_PCI})?.*fallen off"),
    _pattern(
        "gpu_initialisation_failed",
        "RmInitAdapter",
        rf"NVRM: GPU (?:at )?(?:PCI:)?{_PCI}.*RmInitAdapter failed",
    ),
    _pattern("gpu_reset_required", "RESET_REQUIRED", r"NVRM: .*NV_ERR_RESET_REQUIRED"),
    _pattern("gsp_timeout", "imed", r"NVRM: .*(?:GSP|Heartbeat).*[Tt]imed ?[Oo]ut"),
    _pattern(
        "nvlink_detection_failed",
        "Link",
        r"NVRM: knvlink\w+: .*(?:[Pp]ostRxDetLinkMask failed|Rx Detect Link mask)",
    ),
    _pattern("peer_memory_error", "peermem", r"nvidia-peermem .*ERROR"),
    _pattern(
        "library_crashed",
        "segfault",
        r"segfault at .* in (?P<device>lib(?:nccl|cuda|ibverbs|mlx5)\b[\w.\-]*)",
    ),
    _pattern("driver_version_mismatch", "API mismatch", r"NVRM: API mismatch"),
    _pattern(
        "pcie_bus_error_corrected",
        "PCIe Bus Error",
        rf"(?:{_PCI}: )?(?:AER: )?PCIe Bus Error: severity=Correct",
    ),
    _pattern(
        "pcie_bus_error",
        "PCIe Bus Error",
        rf"(?:{_PCI}: )?(?:AER: )?PCIe Bus Error: severity=Uncorrect\w+"
        r"(?: \((?P<fatal>Fatal|Non-Fatal)\))?",
    ),
    _pattern("pcie_slot_power", "insufficient power", rf"{_PCI}.*insufficient power"),
    _pattern(
        "pcie_bandwidth_limited",
        "available PCIe bandwidth, limited",
        rf"{_PCI}.*available PCIe bandwidth, limited",
    ),
    _pattern("pcie_link_down", "pciehp", rf"{_PCI}.*pciehp: .*Link Down"),
    _pattern(
        "module_temperature",
        "emperature",
        rf"mlx5_core {_PCI}.*(?:High Temperature|High temperature on sensors)",
    ),
    _pattern("cable_unplugged", "able unplugged", rf"mlx5_core {_PCI}.*unplugged"),
    _pattern(
        "network_health",
        "ealth",
        rf"mlx5_core {_PCI}.*(?:health compromised|health recovery failed|"
        r"unrecoverable)",
    ),
    _pattern(
        "network_command_timeout",
        "leak of a command",
        rf"mlx5_core {_PCI}.*leak of a command resource",
    ),
    _pattern(
        "link_down",
        "ink",
        rf"(?:\S+ {_PCI}:? )?(?:infiniband )?(?P<device>[a-z][\w.\-]{{0,30}}):? "
        r"(?:Port: \d+ )?(?:NIC )?[Ll]ink (?:is )?(?:down|Down|DOWN)\b",
    ),
    _pattern(
        "link_down",
        "arrier",
        r"systemd-networkd\[\d+\]: (?P<device>[a-z][\w.\-]{0,30}): [Ll]ost carrier",
    ),
    _pattern("out_of_memory_of_group", "Memory cgroup out of", r"Killed process"),
    _pattern("out_of_memory", "Out of memory: ", r"Kill(?:ed)? process"),
    _pattern("hung_task", "blocked for more than", r"INFO: task .* blocked for more"),
    _pattern("soft_lockup", "soft lockup", r"BUG: soft lockup"),
    _pattern("hard_lockup", "LOCKUP", r"hard LOCKUP"),
    _pattern("kernel_fault", "anic", r"Kernel panic - not syncing|^Panic#\d"),
    _pattern("kernel_fault", "BUG: ", r"(?:kernel BUG at|BUG: (?:unable|kernel NULL))"),
    _pattern("kernel_fault", "kernel BUG", r"kernel BUG at"),
    _pattern("kernel_fault", "Oops", r"\bOops(?::| - )"),
    _pattern("kernel_fault", "general protection", r"^general protection fault"),
    _pattern("memory_error", "EDAC", r"EDAC .*\b(?:\d+ )?UE\b"),
    _pattern("memory_error_corrected", "EDAC", r"EDAC .*\b(?:\d+ )?CE\b"),
    _pattern("memory_error", "Memory failure", r"^Memory failure: 0x"),
    _pattern(
        "machine_check",
        "ardware Error",
        r"(?:event severity: (?:(?P<fatal>fatal)|recoverable)|"
        r"Machine Check Exception|Uncorrected|PROCESSOR CONTEXT CORRUPT|"
        r"Machine check: )",
    ),
    _pattern(
        "machine_check_corrected",
        "ardware Error",
        r"(?:event severity: corrected|[Mm]achine check events logged|"
        r"Corrected error)",
    ),
    _pattern("processor_throttled", "throttled", r"temperature above threshold"),
    _pattern("iommu_fault", "fault", r"DMAR: .*\bfault\b"),
    _pattern("iommu_fault", "IO_PAGE_FAULT", rf"AMD-Vi: .*(?:{_PCI})?.*IO_PAGE_FAULT"),
    _pattern(
        "disk_error",
        "I/O error",
        r"I/O error, dev (?P<device>\w{1,30})",
    ),
    _pattern("disk_timeout", "timeout", r"nvme (?P<device>nvme\d+): I/O .*timeout"),
    _pattern(
        "file_system_error",
        "EXT4-fs error",
        r"EXT4-fs error \(device (?P<device>[\w\-]{1,30})",
    ),
    _pattern(
        "file_system_error",
        "XFS",
        r"XFS \((?P<device>[\w\-]{1,30})\): .*(?:[Cc]orruption|shut(?:ting)? ?down)",
    ),
    _pattern(
        "file_system_read_only", "read-only", r"[Rr]emounting filesystem read-only"
    ),
)


def event_of(line: str) -> ParsedEvent | None:
    """Return what a line says; None for the many that do not matter."""
    for pattern in _PATTERNS:
        if pattern.word not in line:
            continue
        matched = pattern.pattern.search(line)
        if matched is not None:
            return _event(pattern.event, matched)
    return None


def _event(name: str, matched: re.Match[str]) -> ParsedEvent:
    result = matched.groupdict()
    code = result.get("code")
    fatal = result.get("fatal")
    is_marked = "fatal" in result
    return ParsedEvent(
        name,
        None if code is None else int(code),
        address_of(result.get("pci")),
        result.get("device"),
        fatal.lower() == "fatal" if is_marked and fatal else None,
    )


def address_of(text: str | None) -> str | None:
    """Return an address as sysfs writes it; drivers omit the function or the domain."""
    if text is None:
        return None
    address = text.lower()
    if "." not in address:
        address += _FUNCTION
    domain, _, rest = address.partition(":")
    if rest.count(":") == 0:
        return f"0000:{address}"
    return f"{int(domain, 16):04x}:{rest}"


class _Seen:
    """How often an event stands in the log, and when."""

    __slots__ = ("count", "first", "last", "text")

    def __init__(self, line: KernelLine) -> None:
        self.count = 0
        self.first = line.seconds
        self.last = line.seconds
        self.text = line.text


def events_of(
    lines: Iterable[KernelLine],
) -> list[dict[str, str | float | bool | None]]:
    """Return the leaves of each event of a log; None where a line does not say."""
    result: dict[ParsedEvent, _Seen] = {}
    for line in lines:
        event = event_of(line.text)
        if event is None:
            continue
        seen = result.setdefault(event, _Seen(line))
        seen.count += 1
        seen.last, seen.text = line.seconds, line.text
    return [_leaves(event, seen) for event, seen in result.items()]


def _leaves(event: ParsedEvent, seen: _Seen) -> dict[str, str | float | bool | None]:
    leaves: dict[str, str | float | bool | None] = {
        **event._asdict(),
        "count": seen.count,
        "first_seconds": seen.first,
        "last_seconds": seen.last,
        "text": shown(seen.text),
    }
    if event.event == "xid":
        leaves["is_of_application"] = event.code in OF_APPLICATIONS
    return leaves


def line_of_buffer(record: str) -> KernelLine | None:
    """Return a record `priority,number,microseconds,flags;text` of the kernel itself.

    None for another: root may write into the buffer.
    """
    head, separator, text = record.partition(";")
    fields = head.split(",")
    if not separator or len(fields) < 3:  # noqa: PLR2004 - priority, number, time
        return None
    priority, _, microseconds = fields[:3]
    if not priority.isdecimal() or not microseconds.isdecimal():
        return None
    if int(priority) >> _FACILITY_SHIFT != _KERNEL:
        return None
    return KernelLine(int(microseconds) / _MICROSECONDS, text)


def shown(line: str) -> str:
    """Return a line as it may stand in a snapshot."""
    kept = line.strip()[:_MOST_TEXT]
    return "".join(text if text.isprintable() else "?" for text in kept)
