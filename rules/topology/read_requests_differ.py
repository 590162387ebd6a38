"""RDMA adapters of one model with different sizes of PCIe read requests.

Why it hurts: where somebody has raised the size (setpci) to reach the rate of the port,
an adapter that has lost it since, by a reset or an exchange, is the slow one.

What passes: one size over the adapters of each model.

Where it does not apply: nodes with one adapter of a model, virtual machines and virtual
functions. Reading it takes privileges: without them it is unknown.

Source: oracle-quickstart/oci-hpc, which sets 4,096 bytes.

Bad::

    lspci -vvv -d 15b3: | grep MaxReadReq   # 4096 on seven, 512 on one

Good::

    lspci -vvv -d 15b3: | grep MaxReadReq   # 4096 on all
"""

from collections import defaultdict

from speccheck.rules.topology._links import by_address
from speccheck.validator.evidence.node.host import Host, PciDevice, PciDevices
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.models.units import numbered
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Distinct(Numbers):
    """The most different PCIe read-request sizes among adapters of one model."""

    max_distinct: int


@rule(clause="TOPO-057")
def read_requests_differ(
    adapters: RdmaDevices, devices: PciDevices, host: Host, limit: Distinct
) -> Verdicts:
    """Compare the adapters of each model."""
    if host.virtualisation.need() != "none":
        return
    known = by_address(devices)
    models = defaultdict[str, list[PciDevice]](list)
    for address in {
        rdma_device.pci_address.need(): None for rdma_device in adapters.each()
    }:
        device = known.get(address)
        if device is None:
            devices.count.need()
        elif not device.is_virtual_function.need():
            model = f"{device.vendor.need()} {device.device.need()}"
            models[model].append(device)
    for cards in models.values():
        if not cards[1:]:
            continue
        leaves = [card.maximum_read_request_bytes for card in cards]
        sizes = {leaf.need() for leaf in leaves}
        if len(sizes) <= limit.max_distinct:
            yield passed(at=leaves, measured=max(sizes))
            continue
        low = [
            card
            for card in cards
            if card.maximum_read_request_bytes.need() < max(sizes)
        ]
        yield fail(
            f"{', '.join(pci_device.title for pci_device in low)} may ask for less "
            f"than {max(sizes):,} bytes in one read; "
            f"{numbered(len(cards) - len(low), 'equal adapter')} may ask for that",
            at=[pci_device.maximum_read_request_bytes for pci_device in low],
            measured=min(sizes),
            required=max(sizes),
            remedy=f"Read the word with setpci -s {low[0].title} CAP_EXP+8.w and "
            "write it with the first digit of the other adapters, as root.",
            action="FIX_CONFIG",
        )
