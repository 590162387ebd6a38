"""What of the machines of a fleet is compared.

Leaves that should be the same on all of them, and numbers whose outliers count.

Each is read from a snapshot as it lies there, one text a node: ten thousand snapshots
are compared while they pass, and none of them is kept.
"""

from typing import Literal

from speccheck.validator.evidence.record import Record

# one: of the host or the driver. distinct: of all parts of a kind, each value once.
# count: how many parts there are. in_order: of all parts, one after another.
# keyed: of all parts, by another leaf of the same part.
Form = Literal["one", "distinct", "count", "in_order", "keyed"]


class SharedLeaf(Record):
    """A leaf that should be the same on all nodes.

    name: under which rules ask for it. key: the other leaf of one that is keyed.
    is_told: whether the result line of a node tells it as well.
    """

    name: str
    kind: str
    field: str
    form: Form = "one"
    key: str = ""
    is_told: bool = False


class SampledLeaf(Record):
    """A number of each node or of each of its parts, in the unit of the name."""

    name: str
    kind: str
    field: str


def _one(kind: str, *fields: str, is_told: bool = False) -> tuple[SharedLeaf, ...]:
    return tuple(
        SharedLeaf(f"{kind}.{one}", kind, one, is_told=is_told) for one in fields
    )


def _distinct(*fields: str, is_told: bool = False) -> tuple[SharedLeaf, ...]:
    return tuple(
        SharedLeaf(f"gpus.{one}", "gpus", one, "distinct", is_told=is_told)
        for one in fields
    )


SHARED: tuple[SharedLeaf, ...] = (
    *_one(
        "driver",
        "version",
        "cuda_version",
        "nccl_version",
        "nccl_plugins",
        "ofed_version",
        "fabric_manager_version",
        is_told=True,
    ),
    *_one(
        "driver",
        "kernel_module_version",
        "kernel_module_is_open",
        "nccl_plugin_releases",
    ),
    *_one(
        "host",
        "kernel_release",
        "operating_system",
        "instance_type",
        is_told=True,
    ),
    *_one(
        "host",
        "vendor",
        "product",
        "board",
        "virtualisation",
        "processor_model",
        "sockets",
        "cores",
        "processors",
        "numa_nodes",
        "memory_total_bytes",
        "kernel_arguments",
        "transparent_hugepages",
        "numa_balancing",
        "clock_source",
        "governors",
    ),
    SharedLeaf("gpus", "gpus", "", "count", is_told=True),
    *_distinct("name", "vbios_version", "power_limit_watts", is_told=True),
    *_distinct(
        "gsp_firmware_version",
        "board_part_number",
        "memory_total_bytes",
        "ecc_is_on",
        "mig_is_on",
        "persistence_is_on",
        "compute_mode",
        "pcie_generation_maximum",
        "application_sm_clock_mhz",
        "sm_clock_maximum_mhz",
    ),
    SharedLeaf("gpus.order", "gpus", "pci_address", "in_order"),
    SharedLeaf("rdma_devices", "rdma_devices", "", "count", is_told=True),
    SharedLeaf(
        "rdma_devices.firmware_version",
        "rdma_devices",
        "firmware_version",
        "keyed",
        key="board_id",
        is_told=True,
    ),
    SharedLeaf("rdma_devices.order", "rdma_devices", "name", "in_order"),
    SharedLeaf(
        "rdma_devices.addresses", "rdma_devices", "pci_address", "keyed", key="name"
    ),
    SharedLeaf("rdma_ports.link_layer", "rdma_ports", "link_layer", "keyed", "device"),
    SharedLeaf(
        "rdma_ports.rate_gbit_per_second",
        "rdma_ports",
        "rate_gbit_per_second",
        "keyed",
        "device",
    ),
    SharedLeaf(
        "rdma_ports.active_mtu_bytes",
        "rdma_ports",
        "active_mtu_bytes",
        "keyed",
        "device",
    ),
    SharedLeaf(
        "network_interfaces.mtu_bytes",
        "network_interfaces",
        "mtu_bytes",
        "keyed",
        "name",
    ),
)
# Of each environment variable of NCCL and its plugins: `variables.NCCL_IB_HCA`.
VARIABLES = "variables."
SAMPLED: tuple[SampledLeaf, ...] = tuple(
    SampledLeaf(f"{kind}.{field}", kind, field)
    for kind, field in (
        ("gpus", "temperature_celsius"),
        ("gpus", "memory_temperature_celsius"),
        ("gpus", "power_watts"),
        ("gpus", "memory_used_bytes"),
        ("gpus", "pcie_replays"),
        ("host", "clock_offset_milliseconds"),
        ("host", "memory_available_bytes"),
        ("host", "load_one_minute"),
    )
)
# Rates that were measured under load: `copy_tests.host_to_device`,
# `matrix_products.bfloat16`, `collective_runs.all_reduce`; all in a unit per second.
RATES: tuple[str, ...] = ("copy_tests", "matrix_products", "collective_runs")
