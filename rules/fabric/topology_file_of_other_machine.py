"""A topology file that describes another machine.

Why it hurts: NCCL pairs GPUs with adapters by the file: with one of another size the
pairs are wrong, and bandwidth is lost without a message.

What passes: the file of NCCL_TOPO_FILE can be read, and all PCI addresses of GPUs and
adapters that it names are those of devices of the machine.

Where it does not apply: the variable is not set. Where the snapshot was taken without
the variables of the job, another file was read, or none: what this one names is not
known.

Source: Azure/azurehpc-health-checks issues 142 and 143; NVIDIA/nccl issue 1008.

Bad::

    NCCL_TOPO_FILE=/opt/microsoft/ndv4/topo.xml      # on another size of machine

Good::

    NCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.host import Driver, PciDevices
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule

_REMEDY = "Set NCCL_TOPO_FILE to the file of this machine's type, or unset it."


@rule(clause="FAB-030", about=("NCCL_TOPO_FILE",))
def topology_file_of_other_machine(
    environment: Environment, driver: Driver, devices: PciDevices
) -> Verdicts:
    """Compare the addresses of the file with those of the machine."""
    variable = environment.find("NCCL_TOPO_FILE")
    if variable is None or not variable.value:
        return
    named = driver.topology_file_addresses
    if driver.topology_file.need() != variable.value:
        reason = f"of {driver.topology_file.value}, not of {variable.value}"
        raise MissingEvidence(named.name, reason)
    if named.status == "absent":
        yield fail(
            f"NCCL_TOPO_FILE={variable.value}: there is no such file",
            at=variable.place,
            measured=variable.value,
            cost="NCCL goes on without it: pairs of GPU and adapter may be wrong",
            remedy=_REMEDY,
            action="FIX_CONFIG",
        )
        return
    there = {pci_device.address.need().lower() for pci_device in devices.each()}
    missing = [text for text in named.need() if text and text.lower() not in there]
    if missing:
        yield fail(
            f"NCCL_TOPO_FILE={variable.value} names {', '.join(missing)}: the machine "
            "has no such device",
            at=[variable.place, *named.places],
            measured=len(missing),
            required=0,
            cost="GPUs send over the wrong adapters",
            remedy=_REMEDY,
            action="FIX_CONFIG",
        )
        return
    yield passed(at=[variable.place, *named.places])
