"""A machine for GPUDirect-TCPXO without its aperture devices.

Why it hurts: the receive daemon cannot map GPU memory for the network; NCCL goes
through host memory, or the plugin stops the job.

What passes: /dev/aperture_devices is there.

Where it does not apply: machine types of other networks. Within a container, to which
it may not have been given, its absence is unknown.

Source: Google Cloud, GPUDirect-TCPXO; NVIDIA/aicr PR 422.

Bad::

    ls /dev/aperture_devices     # No such file or directory

Good::

    ls /dev/aperture_devices     # 0000:04:00.0 ...
"""

from speccheck.validator.evidence.node.host import Driver, Host
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_FOLDER = "aperture_devices"


@rule(clause="HW-133")
def aperture_devices_missing(
    driver: Driver, host: Host, profile: InstanceProfile
) -> Verdicts:
    """Judge the folder on machines of that network."""
    if not profile.id or profile.network_kind.value != "tcpxo":
        return
    files = driver.device_nodes
    if _FOLDER in files.need():
        yield passed(at=files)
        return
    if host.container.need() != "none":
        yield unknown(
            "the container does not show /dev/aperture_devices",
            missing=["a snapshot of the host"],
            at=files,
        )
        return
    yield fail(
        "/dev/aperture_devices is not there; GPUDirect-TCPXO maps GPU memory by it",
        at=files,
        measured="not there",
        required="/dev/aperture_devices",
        cost="messages between nodes go through host memory, or the plugin stops",
        remedy="Start the daemon set nccl-tcpxo-installer on GKE, or the start-up "
        "script of the machine image.",
        action="FIX_CONFIG",
    )
