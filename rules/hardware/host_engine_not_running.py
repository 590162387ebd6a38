"""DCGM is installed and its host engine does not run.

Why it hurts: it may not. Where health and use of the GPUs are watched through DCGM,
nobody sees the next fault.

What passes: the host engine runs.

Where it does not apply: nodes without it. An exporter that brings DCGM within itself
needs no host engine: information.

Source: GoogleCloudPlatform/cluster-toolkit, issue 6230.

Bad::

    systemctl is-active nvidia-dcgm    # inactive

Good::

    systemctl is-active nvidia-dcgm    # active
"""

from speccheck.validator.evidence.node.host import Driver, Host
from speccheck.validator.rule import Verdicts, fail, passed, rule

_ENGINE = "nv-hostengine"


@rule(clause="HW-129")
def host_engine_not_running(host: Host, driver: Driver) -> Verdicts:
    """Judge whether it runs where it is installed."""
    if _ENGINE not in host.services_installed.need():
        return
    running = driver.host_engine_is_running
    if running.need():
        yield passed(at=running)
        return
    yield fail(
        f"{_ENGINE} is installed and does not run",
        at=[running, host.services_installed],
        measured="not running",
        required="running",
        remedy="systemctl enable --now nvidia-dcgm; dcgmi discovery -l must answer.",
        action="FIX_CONFIG",
    )
