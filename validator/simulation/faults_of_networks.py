"""Faults of adapters, ports and interfaces."""

from speccheck.validator.simulation.changes import (
    Change,
    adapter_gone,
    adapters_exchanged,
    all_adapters_with,
    flapping,
    interface_with,
    port_with,
    without_module,
)
from speccheck.validator.simulation.fault import Fault, fixed, of_port


def _port_down(port: int) -> Change:
    return port_with(port, state="DOWN", physical_state="Polling")


def _rate(port: int, gbit_per_second: float) -> Change:
    return port_with(port, rate_gbit_per_second=gbit_per_second)


def _mtu(port: int, bytes: int) -> Change:  # noqa: A002 - the name in plans
    return port_with(port, active_mtu_bytes=bytes)


def _other_firmware(version: str) -> Change:
    return all_adapters_with(firmware_version=version)


FAULTS: dict[str, Fault] = {
    "port_down": Fault(
        "a port that finds no peer", _port_down, ("rail_missing",), {"port": 2}
    ),
    "port_rate": Fault(
        "a port at a quarter of its rate",
        _rate,
        ("rail_missing",),
        {"port": 2, "gbit_per_second": 100.0},
    ),
    "port_without_subnet_manager": of_port(
        2,
        "a port that no subnet manager knows",
        "port_without_subnet_manager",
        subnet_manager_lid=0,
    ),
    "port_lost_its_link": of_port(
        2,
        "a port that has lost its link at some time",
        link_downed=7,
    ),
    "port_flaps": Fault(
        "a port whose link comes and goes",
        flapping,
        ("link_comes_and_goes",),
        {"port": 2},
    ),
    "mtu": Fault(
        "a port with small packets",
        _mtu,
        ("mtu_too_small",),
        {"port": 2, "bytes": 1024},
    ),
    "adapter_missing": fixed(
        adapter_gone, "one adapter less", "rail_missing", instance="oci-h100-8"
    ),
    "gpudirect_missing": fixed(
        without_module("nvidia_peermem"),
        "adapters that cannot read the memory of GPUs",
        "gpudirect_rdma_missing",
    ),
    "congestion_not_heeded": fixed(
        interface_with(5, congestion_heeded_priorities=[]),
        "an adapter that does not slow down in congestion",
        "congestion_marks_ignored",
        instance="oci-h100-8",
    ),
    "efa_does_not_answer": of_port(
        5,
        "an adapter of EFA that leaves commands unanswered",
        "efa_commands_unanswered",
        instance="aws-p5",
        efa_commands_unanswered=12,
    ),
    "firmware_drift": Fault(
        "adapters with other firmware than those of the other nodes",
        _other_firmware,
        values={"version": "28.39.1002"},
        is_fleet=True,
    ),
    "hca_order": fixed(
        adapters_exchanged, "two adapters with each other's name: crossed rails"
    )._replace(is_fleet=True),
}
