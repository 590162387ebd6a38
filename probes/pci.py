"""Reads PCI devices from /sys/bus/pci: those that training is judged by."""

import re

from speccheck.probes.config_space import access_control, request_bytes
from speccheck.probes.raw_value import Absence, RawValue, Sheet, formed
from speccheck.probes.root import Root

KINDS = ("pci_devices",)
_DEVICES = "/sys/bus/pci/devices"
ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_NVIDIA = "0x10de"
# By the first two bytes of the class code (PCI Code and ID Assignment Specification).
_MATTER = {
    "0x0108": "drive",
    "0x0200": "network",
    "0x0207": "InfiniBand",
    "0x0300": "display",
    "0x0302": "GPU",
    "0x0380": "display",
    "0x1200": "accelerator",
}
_SWITCH = "0x0680"  # NVSwitch, where NVIDIA makes it; else bridges of the board
_BRIDGE = "0x0604"
_UNKNOWN_WIDTHS = {0, 63, 255}  # what the kernel tells for a link that it cannot read
_ERRORS = {
    "correctable_errors": ("aer_dev_correctable", "TOTAL_ERR_COR"),
    "non_fatal_errors": ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
    "fatal_errors": ("aer_dev_fatal", "TOTAL_ERR_FATAL"),
}


def probe(root: Root, sheet: Sheet) -> None:
    """Put down the devices that matter, and the bridges above them."""
    names = root.names(_DEVICES)
    if isinstance(names, Absence):
        sheet.listed("pci_devices", names)
        return
    ancestors: dict[str, list[str] | Absence] = {}
    chosen: set[str] = set()
    for name in names:
        if ADDRESS.fullmatch(name) and _matters(root, name):
            above = _ancestors(root, name)
            ancestors[name] = above
            chosen |= {name, *([] if isinstance(above, Absence) else above)}
    for name in sorted(chosen & set(names)):
        if name not in ancestors:
            ancestors[name] = _ancestors(root, name)
        _device(root, sheet, name, ancestors[name])
    sheet.listed("pci_devices")


def _matters(root: Root, name: str) -> bool:
    code = root.line(f"{_DEVICES}/{name}/class")
    if isinstance(code, Absence):
        return False
    if code[:6] == _SWITCH:
        return root.line(f"{_DEVICES}/{name}/vendor") == _NVIDIA
    return code[:6] in _MATTER


def _ancestors(root: Root, name: str) -> list[str] | Absence:
    """Return the devices that its path goes through, from the root port down."""
    path = root.target(f"{_DEVICES}/{name}")
    if isinstance(path, Absence):
        return path
    steps = [step for step in path.split("/") if ADDRESS.fullmatch(step)]
    if name not in steps:
        return Absence("absent", path, "is not where the device stands")
    return steps[: steps.index(name)]


def _device(
    root: Root, sheet: Sheet, name: str, ancestors: list[str] | Absence
) -> None:
    number = sheet.add("pci_devices")
    folder, shown = f"{_DEVICES}/{name}", f"{_DEVICES}/{{address}}"

    def put(leaf: str, entry: RawValue, source: str) -> None:
        place = f"{shown}/{source}" if source else shown
        sheet.put_at("pci_devices", number, leaf, entry, place)

    put("address", name, "")
    for leaf, file in (
        ("vendor", "vendor"),
        ("device", "device"),
        ("pci_class", "class"),
    ):
        put(leaf, root.line(f"{folder}/{file}"), file)
    for leaf, link in (("driver", "driver"), ("iommu_group", "iommu_group")):
        target = root.target(f"{folder}/{link}")
        put(leaf, formed(target, lambda path: path.rpartition("/")[2]), link)
    put("iommu_domain", root.line(f"{folder}/iommu_group/type"), "iommu_group/type")
    put("numa_node", root.number(f"{folder}/numa_node"), "numa_node")
    put("ancestors", ancestors if isinstance(ancestors, Absence) else [*ancestors], "")
    put("is_virtual_function", root.exists(f"{folder}/physfn"), "physfn")
    for leaf, file in (
        ("speed_gigatransfers_per_second", "current_link_speed"),
        ("speed_maximum_gigatransfers_per_second", "max_link_speed"),
    ):
        put(leaf, speed(root.line(f"{folder}/{file}"), f"{folder}/{file}"), file)
    for leaf, file in (
        ("width", "current_link_width"),
        ("width_maximum", "max_link_width"),
    ):
        put(leaf, width(root.number(f"{folder}/{file}"), f"{folder}/{file}"), file)
    for leaf, (file, total) in _ERRORS.items():
        text = root.text(f"{folder}/{file}")
        result = text if isinstance(text, Absence) else errors(text, total, file)
        put(leaf, result, file)
    path = f"{folder}/config"
    space = root.data(path, 4096)
    for leaf, read in (
        ("acs_control", access_control),
        ("maximum_read_request_bytes", request_bytes),
    ):
        put(leaf, space if isinstance(space, Absence) else read(space, path), "config")


def speed(text: str | Absence, path: str) -> RawValue:
    """Return `32.0 GT/s PCIe` as 32.0; older kernels write `8 GT/s`."""
    if isinstance(text, Absence):
        return text
    matched = re.match(r"(\d{1,3}(?:\.\d)?) GT/s", text)
    if matched is None:
        return Absence("absent", path, f"the link tells {text[:40]!r}")
    return float(matched.group(1))


def width(number: int | Absence, path: str) -> RawValue:
    """Return the lanes; a link that is down or virtual tells none."""
    if isinstance(number, Absence) or number not in _UNKNOWN_WIDTHS:
        return number
    return Absence("absent", path, f"the link tells {number}")


def errors(text: str, total: str, path: str) -> RawValue:
    """Return the total of a file of advanced error reporting."""
    matched = re.search(rf"^{total} (\d{{1,18}})$", text, re.MULTILINE)
    if matched is None:
        return Absence("failed", path, f"has no {total}")
    return int(matched.group(1))
