"""Reads the memory of the host: size, limits, pages, errors, shared memory."""

import re

from speccheck.probes.raw_value import Absence, RawValue, Sheet, formed
from speccheck.probes.root import Root

_KIBIBYTE = 1024
_MEMINFO = "/proc/meminfo"
_LEAVES = {
    "memory_total_bytes": ("MemTotal", _KIBIBYTE),
    "memory_available_bytes": ("MemAvailable", _KIBIBYTE),
    "swap_total_bytes": ("SwapTotal", _KIBIBYTE),
    "hugepages": ("HugePages_Total", 1),
    "hugepage_bytes": ("Hugepagesize", _KIBIBYTE),
}
_UNLIMITED = -1
# What version 1 of control groups writes for no limit: the largest number of pages.
_NO_LIMIT_BYTES = 1 << 60
_GROUPS = "/sys/fs/cgroup"
_CONTROLLERS = "/sys/devices/system/edac/mc"
_LARGE_ORDER = 8
_ZONE = re.compile(r"Node\s+(\d+), zone\s+(\S+)((?:\s+\d+)+)$")


def put_memory(root: Root, sheet: Sheet) -> None:
    """Put down all leaves of memory."""
    text = root.text(_MEMINFO)
    for leaf, (label, unit) in _LEAVES.items():
        result: RawValue = (
            text if isinstance(text, Absence) else meminfo(text, label, unit)
        )
        sheet.put("host", leaf, result, _MEMINFO)
    for leaf, place in (("shared_memory_bytes", 0), ("shared_memory_free_bytes", 1)):
        space = root.space("/dev/shm")  # noqa: S108 - it is looked at, not written to
        result = (
            space if isinstance(space, Absence) else (space.total, space.free)[place]
        )
        sheet.put("host", leaf, result, "statvfs /dev/shm")
    limit, source = _group_limit(root)
    sheet.put("host", "memory_limit_bytes", limit, source)
    path = "/sys/kernel/mm/transparent_hugepage/enabled"
    sheet.put("host", "transparent_hugepages", formed(root.line(path), chosen), path)
    path = "/proc/sys/kernel/numa_balancing"
    sheet.put("host", "numa_balancing", root.number(path), path)
    path = "/proc/buddyinfo"
    sheet.put("host", "free_large_blocks", formed(root.text(path), large_blocks), path)
    _errors(root, sheet)


def meminfo(text: str, label: str, unit: int) -> int | Absence:
    """Return a number of /proc/meminfo."""
    matched = re.search(rf"^{label}:\s+(\d{{1,18}})\b", text, re.MULTILINE)
    if matched is None:
        return Absence("absent", _MEMINFO, f"has no {label}")
    return int(matched.group(1)) * unit


def chosen(text: str) -> RawValue:
    """Return the choice in brackets: `always [madvise] never`."""
    matched = re.search(r"\[(\w+)\]", text)
    if matched is None:
        return Absence("failed", "transparent_hugepage/enabled", "marks no choice")
    return matched.group(1)


def large_blocks(text: str) -> RawValue:
    """Return the free blocks of order 8 and above, by NUMA node.

    Only of the zone Normal: the small zones below it have few on every machine.
    """
    result: dict[int, int] = {}
    for line in text.splitlines():
        matched = _ZONE.match(line.strip())
        if matched is None or matched.group(2) != "Normal":
            continue
        blocks = [int(part) for part in matched.group(3).split()]
        result[int(matched.group(1))] = sum(blocks[_LARGE_ORDER:])
    if not result:
        return Absence("absent", "/proc/buddyinfo", "has no zone Normal")
    return [result[node] for node in sorted(result)]


def _group_limit(root: Root) -> tuple[int | Absence, str]:
    """Return the least limit of the process's control group and those above it."""
    path = "/proc/self/cgroup"
    text = root.text(path)
    if isinstance(text, Absence):
        return text, path
    groups = [line.split(":", 2) for line in text.splitlines() if line.count(":") > 1]
    for number, controllers, group in groups:
        if "memory" in controllers.split(","):
            return _least(root, f"{_GROUPS}/memory", group, "memory.limit_in_bytes")
        if number == "0" and not controllers and len(groups) == 1:
            return _least(root, _GROUPS, group, "memory.max")
    return Absence("absent", path, "has no group that limits memory"), path


def _least(root: Root, base: str, group: str, file: str) -> tuple[int | Absence, str]:
    """Return the least limit of a group and its parents; the root has no such file."""
    steps = [part for part in group.split("/") if part not in {"", ".", ".."}]
    limits: list[int] = []
    source = f"{base}/**/{file}"
    if not root.exists(base):
        return Absence("absent", base), source
    for length in range(len(steps), -1, -1):
        text = root.line("/".join([base, *steps[:length], file]))
        if isinstance(text, Absence):
            if text.status != "absent":
                return text, source
        elif text.isdecimal() and int(text) < _NO_LIMIT_BYTES:
            limits.append(int(text))
    return min(limits, default=_UNLIMITED), source


def _errors(root: Root, sheet: Sheet) -> None:
    """Put uncorrected errors that the memory controllers have counted since boot."""
    source = f"{_CONTROLLERS}/mc*/ue_count"
    names = root.names(_CONTROLLERS)
    result: RawValue = Absence("absent", source, "no driver of memory controllers")
    if isinstance(names, Absence):
        result = names
    else:
        counts = [
            root.number(f"{_CONTROLLERS}/{name}/ue_count")
            for name in names
            if re.fullmatch(r"mc\d+", name)
        ]
        unread = [count for count in counts if isinstance(count, Absence)]
        total = sum(count for count in counts if isinstance(count, int))
        if counts:
            result = unread[0] if unread and not total else total
    sheet.put("host", "memory_errors_uncorrected", result, source)
