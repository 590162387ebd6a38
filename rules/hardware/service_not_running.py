"""The service that starts jobs on the node is installed and does not run.

Why it hurts: the scheduler takes the node for lost: jobs do not start, or end when it
is fenced.

What passes: slurmd or the kubelet runs; of a node that has both installed, one.

Where it does not apply: nodes on which neither is installed. In a container the
processes of the host are not seen: unknown.

Source: facebookresearch/gcm, tests of services; oracle-quickstart/oci-hpc.

Bad::

    systemctl is-active slurmd     # failed

Good::

    systemctl is-active slurmd     # active
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Services(Numbers):
    """The services that start jobs."""

    services: tuple[str, ...]


@rule(clause="HW-128")
def service_not_running(host: Host, wanted: Services) -> Verdicts:
    """Judge those that are installed: one of them must run."""
    states = {
        "slurmd": host.slurm_daemon_is_running,
        "kubelet": host.kubelet_is_running,
    }
    there = [
        service
        for service in wanted.services
        if service in host.services_installed.need()
    ]
    if not there:
        return
    running = [text for text in there if states[text].value is True]
    if running:
        yield passed(at=[states[text] for text in running])
        return
    if any(states[text].need() for text in there):
        return
    words = " and ".join(there)
    yield fail(
        f"{words} {'is' if len(there) == 1 else 'are'} installed and not running; one "
        "service should start jobs",
        at=[*(states[text] for text in there), host.services_installed],
        measured="not running",
        required="running",
        cost="no job starts on the node",
        remedy=f"journalctl -u {there[0]} tells why; systemctl restart {there[0]}.",
        action="FIX_CONFIG",
    )
