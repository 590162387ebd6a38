"""A node with NVSwitches on which the fabric manager does not run.

Why it hurts: nobody trains the switches. CUDA does not start (error 802), or finds no
NVLink, while the driver calls all GPUs well.

What passes: the fabric manager runs.

Where it does not apply: nodes without switches of their own: trays of a rack, boards
whose links end at GPUs, and guests to which the host has given GPUs but no switch;
there the registration of each GPU tells.

Source: NVIDIA/NVSentinel issue 891; NVIDIA/gpu-operator issue 2781; NVIDIA Fabric
Manager user guide, deployment models.

Bad::

    systemctl is-active nvidia-fabricmanager    # inactive

Good::

    systemctl is-active nvidia-fabricmanager    # active
"""

from speccheck.rules.hardware._links import ends, ends_at_switch, has_no_links
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import (
    NVIDIA_VENDOR,
    NVSWITCH_CLASS,
    Driver,
    Host,
    PciDevices,
)
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule

_BOARD = "sxm"


@rule(clause="TOPO-010")
def fabric_manager_down(
    driver: Driver, gpus: Gpus, host: Host, devices: PciDevices, profiles: GpuProfiles
) -> Verdicts:
    """Judge the daemon where this machine has switches to train."""
    running = driver.fabric_manager_is_running
    each = gpus.each()
    forms = {profiles.of(gpu).form_factor.value for gpu in each}
    if not each or _BOARD not in forms | {None}:
        return
    has_switch = _has_switch(devices)
    is_board = has_switch or any(ends_at_switch(gpu) for gpu in each)
    if not is_board:
        for gpu in each:
            if not has_no_links(gpu, profiles) and not ends(gpu):
                gpu.nvlink_is_active.need()
                gpu.nvlink_remote_type.need()
                raise MissingEvidence(gpu.nvlink_remote_type.name, "no end is known")
        return
    if running.value:
        yield passed(at=running, measured="running", required="running")
        return
    if not has_switch and host.virtualisation.need() != "none":
        return
    running.need()
    yield fail(
        "the fabric manager does not run, and the GPUs are joined by switches that it "
        "has to train",
        at=running,
        measured="not running",
        required="running",
        cost="CUDA does not start (error 802), or finds no NVLink",
        remedy="Start it in the release of the driver: systemctl enable --now "
        "nvidia-fabricmanager; it tells why it ends in /var/log/fabricmanager.log.",
        action="RESET_GPU",
    )


def _has_switch(devices: PciDevices) -> bool:
    """Return whether a switch is a device of this machine, as before NVLink 5."""
    return any(
        pci_device.vendor.value == NVIDIA_VENDOR
        and pci_device.pci_class.or_else("").startswith(NVSWITCH_CLASS)
        for pci_device in devices.shown
    )
