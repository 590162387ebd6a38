"""A node: all parts of one snapshot."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from speccheck.validator.evidence.measurement.collective import (
    CollectiveRuns,
    Communicators,
    VariablesInForce,
)
from speccheck.validator.evidence.measurement.device import (
    CopyTests,
    DiagnosticResults,
    MatrixProducts,
    RdmaTransfers,
)
from speccheck.validator.evidence.measurement.telemetry import (
    Metrics,
    RunEvents,
    RunLogs,
)
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import (
    Driver,
    Host,
    JobPaths,
    KernelEvents,
    KernelLog,
    NodeVariables,
    PciDevices,
)
from speccheck.validator.evidence.node.part import (
    NOT_IN_SNAPSHOT,
    Part,
    Parts,
    SnapshotFile,
    absence,
)
from speccheck.validator.evidence.node.rdma import (
    NetworkInterfaces,
    RdmaDevices,
    RdmaPorts,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value

ENGINES = ("slurm", "mpi", "torchrun", "kubernetes", "ray", "none")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,252}")
MOST_NUMBER = 10**9
MOST_JOB_CHARACTERS = 128
MOST_LIST_CHARACTERS = 32_768  # some thousand nodes that no range folds
_MOST_REASON_CHARACTERS = 300
_NUMBERS = ("attempt", "rank", "ranks", "nodes", "local_rank", "local_ranks")


class ProcessLaunch(Record):
    """How the process was started that took the snapshot, as far as it is known.

    engine: whom the node belongs to, and who can take it out of service; where nobody
        does, what started the process.
    node: the name by which that engine knows the node.
    attempt: how often the job was started before.
    rank, ranks: of this process among all that were started with it.
    nodes, node_list: of the job, or of the step of it that this process belongs to.
    rank_from: the variable that told the rank.
    unknown: by field, why it is not known though something told it.
    """

    engine: str = "none"
    node: str | None = None
    job: str | None = None
    attempt: int | None = None
    rank: int | None = None
    ranks: int | None = None
    nodes: int | None = None
    node_list: str | None = None
    local_rank: int | None = None
    local_ranks: int | None = None
    rank_from: str = ""
    unknown: Mapping[str, str] = MappingProxyType({})

    @property
    def is_first_on_node(self) -> bool:
        """Whether this process is the one that looks at the node.

        Where the local rank is not known each does: twice is better than never.
        """
        return not self.local_rank

    def content(self) -> dict[str, object]:
        """Return the content as it stands in a snapshot: only what is known."""
        result: dict[str, object] = {
            name: value
            for name, value in self._asdict().items()
            if value is not None and value != "" and name != "unknown"
        }
        if self.unknown:
            result["unknown"] = dict(self.unknown)
        return result


def read_launch(data: object) -> ProcessLaunch:
    """Return what a snapshot says under `launch`; nothing there makes it fail."""
    if not isinstance(data, Mapping):
        return ProcessLaunch()
    unknown = _reasons(data.get("unknown"))
    values: dict[str, object] = {}
    for name in ProcessLaunch._fields:
        result = data.get(name)
        if name == "unknown" or result is None:
            continue
        problem = wrong(name, result)
        if problem:
            unknown[name] = problem
        else:
            values[name] = result
    rank, ranks = values.get("rank"), values.get("ranks")
    if isinstance(rank, int) and isinstance(ranks, int) and rank >= ranks:
        unknown["rank"] = f"rank {rank} of {ranks} ranks: ranks count from 0"
        del values["rank"], values["ranks"]
    return ProcessLaunch(**values, unknown=unknown)  # type: ignore[arg-type]


def wrong(name: str, result: object) -> str:
    """Return what is wrong with the value of a field; empty where nothing is."""
    if name in _NUMBERS:
        least = 1 if name in {"ranks", "nodes", "local_ranks"} else 0
        if type(result) is not int or not least <= result <= MOST_NUMBER:
            return f"must be a whole number from {least}"
        return ""
    return _wrong_text(name, result) if isinstance(result, str) else "must be a text"


def _wrong_text(name: str, text: str) -> str:
    if name == "engine" and text not in ENGINES:
        return f"must be one of {', '.join(ENGINES)}"
    if name == "node" and not NAME.fullmatch(text):
        return "is no name of a host"
    if not text.isprintable() or not text.strip():
        return "must be a printable text"
    most = MOST_LIST_CHARACTERS if name == "node_list" else MOST_JOB_CHARACTERS
    is_long = len(text) > most and name != "node"
    return f"is longer than {most:,} characters" if is_long else ""


def _reasons(result: object) -> dict[str, str]:
    if not isinstance(result, Mapping):
        return {}
    return {
        name: reason[:_MOST_REASON_CHARACTERS]
        for name, reason in result.items()
        if name in ProcessLaunch._fields and isinstance(reason, str)
    }


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
    **{item.kind: item for item in SINGLES},
    **{item.part.kind: item.part for item in SEVERAL},
}
# By the kind of evidence that a rule asks for: one of several parts, or all of them.
ALL: dict[type, type] = {
    **{item: item for item in (*SINGLES, *SEVERAL)},
    **{item.part: item for item in SEVERAL},
}
_SINGLE_KINDS = frozenset(item.kind for item in SINGLES)
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
        for kind, item in self.data.items():
            _demand_parts(kind, item)

    def single(self, kind: type[S]) -> S:
        """Return the part of that kind; raises TypeError for a kind with several."""
        part = self._made(kind)
        if not isinstance(part, kind):
            raise TypeError(kind)
        return part

    def several(self, kind: type[M]) -> M:
        """Return all parts of that kind.

        Raises TypeError for a kind with a single part.
        """
        parts = self._made(kind)
        if not isinstance(parts, kind):
            raise TypeError(kind)
        return parts

    def _made(self, kind: type) -> Part | Parts[Part]:
        """Return parts, made when they are first read: most rules read few of them."""
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
        """Return what a rule gets that wants a kind of part; None for other kinds."""
        kind = ALL.get(kind, kind)
        return self._made(kind) if kind in ALL else None

    @property
    def launch(self) -> ProcessLaunch:
        """How the process was started that took the snapshot."""
        return read_launch(self._launch)

    @property
    def measured(self) -> tuple[str, ...]:
        """The kinds of measurements that it holds."""
        return tuple(kind for kind in MEASURED if kind in self.data)

    def by_type(self) -> Iterator[tuple[type, Part | Parts[Part]]]:
        """Yield each kind of evidence: single parts as themselves, several as both."""
        for item, kind in ALL.items():
            yield item, self._made(kind)


def _demand_parts(kind: str, result: object) -> None:
    """Raise TypeError for what is neither parts of a kind nor why there are none."""
    if isinstance(result, Mapping) or (result is None and kind not in _SINGLE_KINDS):
        return
    if kind in _SINGLE_KINDS or not isinstance(result, list):
        raise TypeError(kind)
    # Most are dictionaries, of which Python knows at once that they are mappings.
    if not all(type(item) is dict or isinstance(item, Mapping) for item in result):
        raise TypeError(kind)


def _parts(
    several: type[Parts[Part]],
    data: Mapping[str, object],
    file: SnapshotFile,
    *,
    may_lack_some: bool,
) -> Parts[Part]:
    kind = several.part.kind
    result = data.get(kind)
    place = (file.place((kind,)),)
    if result is None:
        reason = file.cut_short.get(kind, NOT_IN_SNAPSHOT)
        return several((), Value(kind, note=reason), file.reads)
    if isinstance(result, Mapping):
        return several((), absence(kind, result, place), file.reads)
    listed: Any = result
    items = tuple(
        several.part(
            item, file, (kind, index), _title(kind, index, item, is_part=may_lack_some)
        )
        for index, item in enumerate(listed)
    )
    if may_lack_some:
        reason = file.cut_short.get(kind, "the list may lack some")
        return several(items, Value(kind, None, "unknown", place, reason), file.reads)
    return several(items, Value(kind, len(items), "measured", place), file.reads)


def _synthetic(data: Mapping[str, object]) -> str:
    """Return what made the snapshot up; empty for one of a real machine."""
    result = data.get("synthetic")
    if result is None or result is False:
        return ""
    by = result.get("by") if isinstance(result, Mapping) else None
    return by[:_LONGEST_NAME] if isinstance(by, str) and by else "unnamed"


def _partly_listed(data: Mapping[str, object]) -> frozenset[str]:
    result = data.get("partly_listed")
    return frozenset(map(str, result)) if isinstance(result, list) else frozenset()


def _title(
    kind: str, index: int, leaves: Mapping[str, object], *, is_part: bool
) -> str:
    """Return what people call a part: by its name where it has one."""

    def shown(leaf: str) -> str:
        result = leaves.get(leaf)  # a leaf without a value says why, in a mapping
        return str(result) if isinstance(result, str | int) else ""

    if kind == "gpus":
        # The third of some GPUs need not be the third of the node.
        return f"GPU {(shown('pci_address') if is_part else '') or index}"
    if kind in _OF_ONE_GPU and shown("gpu_index"):
        return f"GPU {shown('gpu_index')}"
    if kind == "rdma_transfers" and shown("device"):
        return shown("device")
    if kind == "rdma_ports":
        return f"{shown('device') or 'port'} port {shown('number') or index}"
    if kind == "collective_runs":
        return f"{shown('collective') or 'collective'} run {index}"
    names = ("name", "address", "event", "metric", "written")
    return next(filter(None, map(shown, names)), f"{kind} {index}")
