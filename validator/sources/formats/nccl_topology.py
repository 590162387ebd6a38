"""Topology files of NCCL: what it found (NCCL_TOPO_DUMP_FILE), what a provider states.

A dump holds the devices that one job used; a provider's file those that it wants NCCL
to believe in. Neither need list all that a node has. The speed
and the width that they give are the least of what device and slot can do (NVIDIA/nccl
src/graph/xml.cc, ncclTopoGetXmlFromSys), which is no leaf of a device, and so are not
taken over.
"""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.capture import Capture, converted, pci_address, whole
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.xml_elements import Element, load_xml
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_ROOT_TAG = lazy_pattern(r"<system[\s>]")
_BODY = lazy_pattern(r"<pci\s[^>]{0,2000}\bbusid\s*=")
_MADE_UP = "ffff:"  # switches that no machine has: a provider's way to group devices
_REASON = "a topology file of NCCL need not name all of a node"


class _Above(Record):
    """What an element stands in: NUMA node of its processor, bridges above it."""

    numa_node: str
    ancestors: tuple[str, ...]


def _detect(source: Source) -> float:
    text = source.text
    return 1.0 if _ROOT_TAG.search(text) and _BODY.search(text) else 0.0


def _read(source: Source) -> Reading:
    """Return the devices; raises ReadError for XML that is cut off."""
    root = load_xml(source.name, source.text)
    if root.tag != "system":
        problem = f"its first element is <{root.tag}>, not <system>"
        remedy = "capture it anew with NCCL_TOPO_DUMP_FILE"
        at = root.span.line, root.span.column
        raise ReadError(source.name, "syntax", problem, remedy, at)
    capture = Capture(source.name, "NCCL topology file")
    for processor in root.each("cpu"):
        above = _Above(processor.attributes.get("numaid", ""), ())
        for device in processor.each("pci"):
            _device(capture, device, above)
    for kind in ("pci_devices", "rdma_devices"):
        capture.partial(kind, _REASON)
    return node_reading(capture.node(), FactSheet(source.name))


def _device(capture: Capture, element: Element, above: _Above) -> None:
    """Note one PCIe function, and those behind it."""
    given = element.attributes
    try:
        address = pci_address(given.get("busid", ""))
    except ValueError:
        return
    if not address.startswith(_MADE_UP):
        part = "pci_devices", capture.add("pci_devices", element.span)
        for leaf, name in (("vendor", "vendor"), ("device", "device")):
            if name in given:
                capture.put_at(part, leaf, given[name].lower(), element.span, name)
        capture.put_at(part, "address", address, element.span, "busid")
        if "class" in given:
            capture.put_at(part, "pci_class", given["class"], element.span, "class")
        if above.numa_node:
            numa_node = converted(above.numa_node, whole)
            capture.put_at(part, "numa_node", numa_node, element.span, "numaid")
        ancestors = [*above.ancestors]
        capture.put_at(part, "ancestors", [*ancestors], element.span, "pci")
    for nic in element.each("nic"):
        _nic(capture, nic, address)
    below = _Above(above.numa_node, (*above.ancestors, address))
    for device in element.each("pci"):
        _device(capture, device, below)


def _nic(capture: Capture, nic: Element, address: str) -> None:
    """Note adapters that NCCL's own plugin for InfiniBand verbs names: with a GUID."""
    names: set[str] = set()  # an adapter of two ports stands twice
    for net in nic.each("net"):
        name, guid = net.attributes.get("name"), net.attributes.get("guid", "")
        try:
            has_guid = int(guid, 16) > 0
        except ValueError:
            has_guid = False
        if name and has_guid and name not in names:
            names.add(name)
            part = "rdma_devices", capture.add("rdma_devices", net.span)
            capture.put_at(part, "name", name, net.span, "name")
            capture.put_at(part, "pci_address", address, net.span, "busid")


READER = CaptureReader("nccl-topology", ("<system",), _detect, _read)
