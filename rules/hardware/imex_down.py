"""A tray of an NVLink rack without IMEX.

Why it hurts: without the daemon and a channel no process can map memory of another
tray, and NCCL takes the network instead of NVLink.

What passes: the daemon runs, and this node has a channel.

Where it does not apply: nodes whose NVLinks end within them. Where Slurm or Kubernetes
starts jobs, they may start IMEX with each job: there only a look from within a job
tells.

Source: NVIDIA/DCGM error 122; oracle-quickstart/oci-hpc.

Bad::

    ls /dev/nvidia-caps-imex-channels    # no channel

Good::

    nvidia-imex-ctl -N    # domain UP; channel0 is there
"""

from speccheck.validator.evidence.node.fault_codes import is_one_node_fabric
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Driver, Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Channels(Numbers):
    """How many channels there are at least."""

    channels_min: int


@rule(clause="HW-117")
def imex_down(driver: Driver, gpus: Gpus, host: Host, limit: Channels) -> Verdicts:
    """Judge daemon and channels on nodes that are part of a larger fabric."""
    clusters = [gpu.fabric_cluster for gpu in gpus.shown]
    if all(
        cluster.value is None or is_one_node_fabric(cluster.value)
        for cluster in clusters
    ):
        for gpu in gpus.each():
            if gpu.fabric_cluster.status != "not_supported":
                gpu.fabric_cluster.need()
        return
    running, channels = driver.imex_is_running, driver.imex_channels
    lacking: list[str] = []
    if running.value is False or running.status == "absent":
        lacking.append("nvidia-imex does not run")
    if channels.or_else(limit.channels_min) < limit.channels_min:
        lacking.append(f"{channels.value} IMEX channels")
    if not lacking:
        yield passed(
            at=[running, channels],
            measured=channels.need() if running.need() else 0,
            required=limit.channels_min,
        )
        return
    text = f"{' and '.join(lacking)}, and the GPUs are part of a rack"
    schedulers = (host.slurm_daemon_is_running, host.kubelet_is_running)
    if not all(scheduler.value is False for scheduler in schedulers):
        yield unknown(
            f"{text}; Slurm or Kubernetes may start IMEX with each job: look from "
            "within one",
            missing=[running.name, channels.name],
            at=[running, channels],
        )
        return
    yield fail(
        f"{text}; required: the daemon, and at least {limit.channels_min} channel",
        at=[running, channels],
        measured=", ".join(lacking),
        required=limit.channels_min,
        cost="traffic between the trays of the rack takes the network",
        remedy="Name all trays in /etc/nvidia-imex/nodes_config.cfg and start it on "
        "each (systemctl restart nvidia-imex); options nvidia "
        "NVreg_CreateImexChannel0=1 makes a channel at each start.",
        action="FIX_CONFIG",
    )
