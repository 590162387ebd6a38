"""A fleet: what the snapshots of many nodes say when they are laid side by side.

Rules that ask for it judge all nodes at once; what a single node does wrong by itself
is for the rules of nodes. Nothing here holds a snapshot.
"""

from array import array
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence, Value

# one: of the host or the driver. distinct: of all parts of a kind, each value once.
# count: how many parts there are. in_order: of all parts, one after another.
# keyed: of all parts, by another leaf of the same part.
Form = Literal["one", "distinct", "count", "in_order", "keyed"]


class SharedField(Record):
    """A leaf that should be the same on all nodes.

    name: under which rules ask for it. key: the other leaf of one that is keyed.
    is_stated: whether the result line of a node tells it as well.
    """

    name: str
    kind: str
    field: str
    form: Form = "one"
    key: str = ""
    is_stated: bool = False


class SampledField(Record):
    """A number of each node or of each of its parts, in the unit of the name."""

    name: str
    kind: str
    field: str


def _single(
    kind: str, *fields: str, is_stated: bool = False
) -> tuple[SharedField, ...]:
    return tuple(
        SharedField(f"{kind}.{field}", kind, field, is_stated=is_stated)
        for field in fields
    )


def _distinct(*fields: str, is_stated: bool = False) -> tuple[SharedField, ...]:
    return tuple(
        SharedField(f"gpus.{field}", "gpus", field, "distinct", is_stated=is_stated)
        for field in fields
    )


SHARED: tuple[SharedField, ...] = (
    *_single(
        "driver",
        "version",
        "cuda_version",
        "nccl_version",
        "nccl_plugins",
        "ofed_version",
        "fabric_manager_version",
        is_stated=True,
    ),
    *_single(
        "driver",
        "kernel_module_version",
        "kernel_module_is_open",
        "nccl_plugin_releases",
    ),
    *_single(
        "host",
        "kernel_release",
        "operating_system",
        "instance_type",
        is_stated=True,
    ),
    *_single(
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
    SharedField("gpus", "gpus", "", "count", is_stated=True),
    *_distinct("name", "vbios_version", "power_limit_watts", is_stated=True),
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
    SharedField("gpus.order", "gpus", "pci_address", "in_order"),
    SharedField("rdma_devices", "rdma_devices", "", "count", is_stated=True),
    SharedField(
        "rdma_devices.firmware_version",
        "rdma_devices",
        "firmware_version",
        "keyed",
        key="board_id",
        is_stated=True,
    ),
    SharedField("rdma_devices.order", "rdma_devices", "name", "in_order"),
    SharedField(
        "rdma_devices.addresses", "rdma_devices", "pci_address", "keyed", key="name"
    ),
    SharedField("rdma_ports.link_layer", "rdma_ports", "link_layer", "keyed", "device"),
    SharedField(
        "rdma_ports.rate_gbit_per_second",
        "rdma_ports",
        "rate_gbit_per_second",
        "keyed",
        "device",
    ),
    SharedField(
        "rdma_ports.active_mtu_bytes",
        "rdma_ports",
        "active_mtu_bytes",
        "keyed",
        "device",
    ),
    SharedField(
        "network_interfaces.mtu_bytes",
        "network_interfaces",
        "mtu_bytes",
        "keyed",
        "name",
    ),
)
# Of each environment variable of NCCL and its plugins: `variables.NCCL_IB_HCA`.
VARIABLES = "variables."
SAMPLED: tuple[SampledField, ...] = tuple(
    SampledField(f"{kind}.{field}", kind, field)
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


class FleetNode(Record):
    """One node that reported.

    name: by which the engine knows it. file: of its snapshot or result line.
    taken: when its evidence was gathered, in seconds since 1970; None if unknown.
    verdict: of its own evidence: go, no-go, inconclusive, bug, or usage of its own
    pre-flight. is_whole: whether a snapshot was read, and not a result line alone.
    is_synthetic: made by `speccheck simulate`. release: of the speccheck that took it.
    """

    name: str
    file: str
    taken: float | None = None
    verdict: str = "go"
    is_whole: bool = True
    is_synthetic: bool = False
    release: str = ""


class Unread(Record):
    """Evidence that could not be read: of which file or line, and why.

    node: whose it would be, as far as its name tells.
    """

    file: str
    problem: str
    node: str = ""


class Repeated(Record):
    """A node, or one specimen of a machine, that reported more than once."""

    name: str
    files: tuple[str, ...]
    problem: str


class Attendance(Record):
    """Who was expected, and who came.

    expected: how many nodes; unknown where nobody says. names: of those, where they
    are known. missing: of them, that did not report. unexpected: that nobody expects.
    """

    expected: Value[int]
    names: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    repeated: tuple[Repeated, ...] = ()


class NodeGroup(Record):
    """Nodes that have the same value."""

    value: str
    hosts: tuple[str, ...]


class Shared(Record):
    """One leaf over all nodes: groups of equal values, the largest first.

    unseen: reason and nodes on which it is not known.
    """

    leaf: str
    groups: tuple[NodeGroup, ...]
    unseen: tuple[NodeGroup, ...] = ()

    @property
    def usual(self) -> NodeGroup | None:
        """The value that more than half of the nodes have, of those that tell it."""
        number = sum(len(group.hosts) for group in self.groups)
        first = self.groups[:1]
        return first[0] if first and 2 * len(first[0].hosts) > number else None


class Samples(Record):
    """One number over all nodes, or over all parts of all nodes.

    Of the same length: the position of each node among those that reported, the number
    of the part on it, and the value. unseen: nodes that do not tell it.
    """

    leaf: str
    nodes: "array[int]"
    parts: "array[int]"
    values: "array[float]"
    unseen: tuple[str, ...] = ()


class Fleet:
    """All nodes that reported, in the order in which they were read."""

    __slots__ = ("attendance", "nodes", "runs", "samples", "shared", "started")
    is_single = True
    kind = "fleet"
    scope = "fleet"

    def __init__(
        self,
        nodes: tuple[FleetNode, ...],
        attendance: Attendance,
        *,
        shared: Mapping[str, Shared] = MappingProxyType({}),
        samples: Mapping[str, Samples] = MappingProxyType({}),
        runs: tuple[CollectiveRun, ...] = (),
        started: float | None = None,
    ) -> None:
        """Take the results of the survey.

        Args:
            nodes: that reported.
            attendance: who should have, and what could not be read.
            shared: by name of the leaf (leaves.py), of those that some node tells.
            samples: by name of the leaf or rate.
            runs: of collectives, that nodes of the fleet measured.
            started: when this is judged, in seconds since 1970.

        """
        self.nodes = nodes
        self.attendance = attendance
        self.shared = shared
        self.samples = samples
        self.runs = runs
        self.started = started

    def leaf(self, name: str) -> Shared:
        """Return one leaf over all nodes.

        Raises MissingEvidence where no node states it.
        """
        shared = self.shared.get(name)
        if shared is None or not shared.groups:
            reason = "no node tells it"
            if shared is not None and shared.unseen:
                reason = shared.unseen[0].value
            raise MissingEvidence(name, reason)
        return shared

    def variables(self) -> tuple[Shared, ...]:
        """Return each environment variable that some node sets, over all nodes."""
        return tuple(
            shared for name, shared in self.shared.items() if name.startswith(VARIABLES)
        )
