"""A node: all parts of one snapshot."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.evidence.measurement.communicator import (
    Communicators,
    VariablesInForce,
)
from speccheck.validator.evidence.measurement.copying import CopyTests
from speccheck.validator.evidence.measurement.diagnosis import DiagnosticResults
from speccheck.validator.evidence.measurement.multiplication import MatrixProducts
from speccheck.validator.evidence.measurement.telemetry import (
    Metrics,
    RunEvents,
    RunLogs,
)
from speccheck.validator.evidence.measurement.transfer import RdmaTransfers
from speccheck.validator.evidence.node.driver import Driver
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.job_path import JobPaths
from speccheck.validator.evidence.node.kernel_log import KernelEvents, KernelLog
from speccheck.validator.evidence.node.launch import Launch, read_launch
from speccheck.validator.evidence.node.part import (
    NOT_IN_SNAPSHOT,
    Part,
    Parts,
    SnapshotFile,
    absence,
)
from speccheck.validator.evidence.node.pci import PciDevices
from speccheck.validator.evidence.node.rdma import (
    NetworkInterfaces,
    RdmaDevices,
    RdmaPorts,
)
from speccheck.validator.evidence.node.settings import NodeVariables
from speccheck.validator.evidence.value import Value

SINGLES: tuple[type[Part], ...] = (Host, Driver, KernelLog)
SEVERAL: tuple[type[Parts[Part]], ...] = (
    Gpus,
    PciDevices,
    RdmaDevices,
    RdmaPorts,
    NetworkInterfaces,
    NodeVariables,
    KernelEvents,
    JobPaths,
    CollectiveRuns,
    CopyTests,
    MatrixProducts,
    RdmaTransfers,
    DiagnosticResults,
    Communicators,
    VariablesInForce,
    RunLogs,
    Metrics,
    RunEvents,
)
KINDS: dict[str, type[Part]] = {
    **{one.kind: one for one in SINGLES},
    **{one.part.kind: one.part for one in SEVERAL},
}
# By the kind of evidence that a rule asks for: one of several parts, or all of them.
ALL: dict[type, type] = {
    **{one: one for one in (*SINGLES, *SEVERAL)},
    **{one.part: one for one in SEVERAL},
}
_SINGLE_KINDS = frozenset(one.kind for one in SINGLES)
# Kinds that were measured under load, and the words of the edition for such evidence.
MEASURED: dict[str, tuple[str, ...]] = {
    "collective_runs": ("bench.allreduce", "bench.collectives"),
    "copy_tests": ("bench.memcpy",),
    "matrix_products": ("bench.gemm",),
    "rdma_transfers": ("bench.fabric",),
    "diagnostic_results": ("bench.diagnosis",),
    "communicators": ("log.nccl",),
    "variables_in_force": ("log.nccl",),
    "run_logs": ("log.metrics", "log.events"),
    "metrics": ("log.metrics",),
    "run_events": ("log.events",),
}
# Leaves by which one part is known again, whichever tool shows it.
PART_KEYS: dict[str, tuple[str, ...]] = {
    "gpus": ("pci_address",),
    "pci_devices": ("address",),
    "rdma_devices": ("name",),
    "rdma_ports": ("device", "number"),
    "network_interfaces": ("name",),
    "variables": ("layer", "name"),
    "job_paths": ("role", "name"),
}
# Measurements that are called by the GPU they were taken on.
_OF_ONE_GPU = frozenset({"matrix_products", "diagnostic_results"})
# Leaves that name one specimen. They are replaced by a salted digest unless the user
# asks for them: equal within a site, and telling nobody else anything.
SPECIMENS: frozenset[str] = frozenset(
    {
        "gpus.uuid",
        "gpus.serial",
        "gpus.fabric_cluster",
        "rdma_devices.node_guid",
        "network_interfaces.address",
        "host.name",
    }
)

_LONGEST_NAME = 100  # of the program that made a machine up

S = TypeVar("S", bound=Part)
M = TypeVar("M", bound=Parts[Part])


class Node:
    """The parts of one snapshot, by type.

    partly_listed: the kinds of which there may be more than it lists.
    synthetic: what made it up, where there is no such machine; empty for a real one.
    """

    __slots__ = (
        "_launch",
        "_parts",
        "data",
        "file",
        "partly_listed",
        "synthetic",
        "taken",
    )

    def __init__(
        self, data: Mapping[str, object], file: SnapshotFile, taken: str
    ) -> None:
        """Take the content of a snapshot; nothing in it is looked at before it is used.

        Raises TypeError for a kind that is neither parts nor a reason.
        """
        self.data = {kind: data[kind] for kind in KINDS if kind in data}
        self.partly_listed = _partly_listed(data)
        self.file = file
        self.taken = taken
        self.synthetic = _synthetic(data)
        self._launch = data.get("launch")
        self._parts: dict[type, Part | Parts[Part]] = {}
        for kind, found in self.data.items():
            _demand_parts(kind, found)

    def single(self, kind: type[S]) -> S:
        """The part of that kind; raises TypeError for what a node has several of."""
        found = self._made(kind)
        if not isinstance(found, kind):
            raise TypeError(kind)
        return found

    def several(self, kind: type[M]) -> M:
        """All parts of that kind; raises TypeError for what a node has one of."""
        found = self._made(kind)
        if not isinstance(found, kind):
            raise TypeError(kind)
        return found

    def _made(self, kind: type) -> Part | Parts[Part]:
        """Parts are made when they are first asked for: most rules ask for a few."""
        made = self._parts.get(kind)
        if made is not None:
            return made
        if issubclass(kind, Parts):
            may_lack_some = kind.part.kind in self.partly_listed
            made = _parts(kind, self.data, self.file, may_lack_some=may_lack_some)
        elif issubclass(kind, Part) and kind in ALL:
            leaves: Any = self.data.get(kind.kind, {})
            made = kind(leaves, self.file, (kind.kind,), kind.kind)
        else:
            raise TypeError(kind)
        self._parts[kind] = made
        return made

    def evidence(self, kind: type) -> Part | Parts[Part] | None:
        """What a rule is given that asks for a kind of part; None for other kinds."""
        kind = ALL.get(kind, kind)
        return self._made(kind) if kind in ALL else None

    @property
    def launch(self) -> Launch:
        """How the process was started that took the snapshot."""
        return read_launch(self._launch)

    @property
    def measured(self) -> tuple[str, ...]:
        """The kinds of measurements that it holds."""
        return tuple(kind for kind in MEASURED if kind in self.data)

    def by_type(self) -> Iterator[tuple[type, Part | Parts[Part]]]:
        """Each kind of evidence: one part under its own type, several under both."""
        for asked, kind in ALL.items():
            yield asked, self._made(kind)


def _demand_parts(kind: str, found: object) -> None:
    """Raise TypeError for what is neither parts of a kind nor why there are none."""
    if isinstance(found, Mapping) or (found is None and kind not in _SINGLE_KINDS):
        return
    if kind in _SINGLE_KINDS or not isinstance(found, list):
        raise TypeError(kind)
    # Most are dictionaries, of which Python knows at once that they are mappings.
    if not all(type(one) is dict or isinstance(one, Mapping) for one in found):
        raise TypeError(kind)


def _parts(
    several: type[Parts[Part]],
    data: Mapping[str, object],
    file: SnapshotFile,
    *,
    may_lack_some: bool,
) -> Parts[Part]:
    kind = several.part.kind
    found = data.get(kind)
    place = (file.place((kind,)),)
    if found is None:
        reason = file.cut_short.get(kind, NOT_IN_SNAPSHOT)
        return several((), Value(kind, note=reason), file.reads)
    if isinstance(found, Mapping):
        return several((), absence(kind, found, place), file.reads)
    listed: Any = found
    items = tuple(
        several.part(
            one, file, (kind, index), _title(kind, index, one, is_part=may_lack_some)
        )
        for index, one in enumerate(listed)
    )
    if may_lack_some:
        reason = file.cut_short.get(kind, "the list may lack some")
        return several(items, Value(kind, None, "unknown", place, reason), file.reads)
    return several(items, Value(kind, len(items), "measured", place), file.reads)


def _synthetic(data: Mapping[str, object]) -> str:
    """What says that it is made up counts, whatever else it says of that."""
    found = data.get("synthetic")
    if found is None or found is False:
        return ""
    by = found.get("by") if isinstance(found, Mapping) else None
    return by[:_LONGEST_NAME] if isinstance(by, str) and by else "unnamed"


def _partly_listed(data: Mapping[str, object]) -> frozenset[str]:
    found = data.get("partly_listed")
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()


def _title(
    kind: str, index: int, leaves: Mapping[str, object], *, is_part: bool
) -> str:
    """What people call a part: by its name where it has one."""

    def told(leaf: str) -> str:
        found = leaves.get(leaf)  # a leaf without a value says why, in a mapping
        return str(found) if isinstance(found, str | int) else ""

    if kind == "gpus":
        # The third of some GPUs need not be the third of the node.
        return f"GPU {(told('pci_address') if is_part else '') or index}"
    if kind in _OF_ONE_GPU and told("gpu_index"):
        return f"GPU {told('gpu_index')}"
    if kind == "rdma_transfers" and told("device"):
        return told("device")
    if kind == "rdma_ports":
        return f"{told('device') or 'port'} port {told('number') or index}"
    if kind == "collective_runs":
        return f"{told('collective') or 'collective'} run {index}"
    names = ("name", "address", "event", "metric", "written")
    return next(filter(None, map(told, names)), f"{kind} {index}")
