"""Snapshots of nodes, as `speccheck probe` writes them."""

from collections.abc import Mapping

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Driver, Host, NodeVariables
from speccheck.validator.evidence.node.node import KINDS, MEASURED, Node
from speccheck.validator.evidence.node.part import Frame, SnapshotFile
from speccheck.validator.evidence.value import KeyPath, Value
from speccheck.validator.sources.context import gpu_facts, instance_facts
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

FORMAT = "snapshot"
SCHEMA = "speccheck-snapshot/1"
_FAMILY, _, _VERSION = SCHEMA.partition("/")
# Whose firmware has the type as its product: p5.48xlarge, DGXH100.
_TELL_THE_TYPE = ("Amazon EC2", "NVIDIA")
# Of two layers that set a variable, the later one counts (nccl src/misc/param.cc).
_LAYERS = ("system_file", "user_file", "environment")


def is_snapshot(data: object) -> bool:
    """Return whether a document says that it is one, of any version."""
    stated = data.get("schema") if isinstance(data, dict) else None
    return isinstance(stated, str) and stated.startswith(f"{_FAMILY}/")


def is_measurement(data: object) -> bool:
    """Return whether a snapshot holds measurements and nothing else of a machine."""
    kinds = KINDS.keys() & data.keys() if isinstance(data, dict) else set()
    return is_snapshot(data) and bool(kinds) and kinds <= MEASURED.keys()


def _detect(document: Document) -> float:
    data = document.data
    return 1.0 if is_snapshot(data) and not is_measurement(data) else 0.0


def _read(document: Document) -> Reading:
    """Return the parts of the node, and what they say of a job that runs on it."""
    return node_reading(node_of(document.data, document.name), FactSheet.of(document))


def node_reading(node: Node, sheet: FactSheet) -> Reading:
    """Return a node, and what it says of a job that runs on it."""
    _gpu_facts(sheet, node.several(Gpus))
    _host_facts(sheet, node)
    _first_of_each(sheet)
    return Reading(sheet, variables=_variables(node), node=node)


def node_of(
    data: object,
    name: str,
    reads: set[KeyPath] | None = None,
    frames: dict[KeyPath, Frame] | None = None,
) -> Node:
    """Return the node of a snapshot's content; raises ReadError for one that is none.

    reads, frames: as of `SnapshotFile`.
    """
    if not isinstance(data, Mapping):
        raise _refused(name, "no snapshot: its top is no object")
    stated = str(data.get("schema"))
    family, _, version = stated.partition("/")
    if family != _FAMILY or not version.isdecimal():
        raise _refused(name, f"no snapshot: schema is {stated}, not {SCHEMA}")
    if int(version) > int(_VERSION):
        problem = f"a snapshot of version {version}; this speccheck reads up to"
        raise _refused(name, f"{problem} {_VERSION}", "judge it with a newer speccheck")
    file = SnapshotFile(
        name,
        _texts(data, "sources"),
        _texts(data, "cut_short"),
        reads=reads,
        frames=frames,
    )
    try:
        return Node(data, file, str(data.get("taken", "")))
    except TypeError as error:
        problem = f"a damaged snapshot: {error} is neither a part nor a list of parts"
        raise _refused(name, problem) from None


def _refused(name: str, problem: str, remedy: str = "") -> ReadError:
    remedy = remedy or "take it anew with speccheck probe"
    return ReadError(name, "syntax", problem, remedy)


def _texts(data: Mapping[str, object], key: str) -> dict[str, str]:
    result = data.get(key)
    if not isinstance(result, Mapping):
        return {}
    return {str(name): str(value) for name, value in result.items()}


def _gpu_facts(sheet: FactSheet, gpus: Gpus) -> None:
    if gpus.count.is_known and gpus.each():
        _whole_node_facts(sheet, gpus)
    # One that is lost does not tell its name; what the others are stays known.
    stated = [gpu.name for gpu in gpus.shown if gpu.name.is_known]
    names = {str(name.value) for name in stated}
    if len(names) != 1:
        return
    place = stated[0].places[0]
    try:
        gpu_facts(sheet, names.pop(), place)
    except UnknownName as error:
        sheet.unusable("cluster.accelerator", str(error), place)


def _whole_node_facts(sheet: FactSheet, gpus: Gpus) -> None:
    """State what follows from all GPUs of the node."""
    sheet.derive(
        "cluster.gpus_per_node",
        gpus.count.value,
        "GPUs of the node",
        *gpus.count.places,
    )
    _least_memory(sheet, gpus)
    _shared_capability(sheet, gpus)
    domain = _linked_gpus(gpus)
    if domain is not None:
        places = [gpu.peer_nvlink_status.places[0] for gpu in gpus.each()]
        note = "GPUs of the node that reach each other over NVLink"
        sheet.derive("cluster.nvlink_domain_size", domain, note, *places[:1])
        sheet.derive("cluster.has_nvlink", domain > 1, note, *places[:1])


def _least_memory(sheet: FactSheet, gpus: Gpus) -> None:
    """State what every rank has: the memory of the GPU with the least."""
    totals = [gpu.memory_total_bytes for gpu in gpus.each()]
    if all(total.is_known for total in totals):
        least = min(totals, key=lambda total: total.or_else(0))
        note = f"{least.name} of the node"
        name = "cluster.accelerator_memory_bytes"
        sheet.derive(name, least.value, note, *least.places)


def _shared_capability(sheet: FactSheet, gpus: Gpus) -> None:
    """State the compute capability, where all have the same."""
    stated = [gpu.compute_capability for gpu in gpus.each()]
    texts = {value.value for value in stated}
    text = texts.pop() if len(texts) == 1 else None
    major, _, minor = (text or "").partition(".")
    if major.isdecimal() and minor.isdecimal():
        note = f"{stated[0].name} of the node"
        known = int(major), int(minor)
        sheet.derive("cluster.compute_capability", known, note, *stated[0].places)


def _linked_gpus(gpus: Gpus) -> int | None:
    """Return the GPUs in a group that NVLink joins; None where groups differ.

    Those of a rack reach GPUs of other nodes, and only the fabric knows how many: their
    cluster has a name, where that of a single node is zero or not supported.
    """
    sizes: set[int] = set()
    for gpu in gpus.each():
        cluster, reached = gpu.fabric_cluster, gpu.peer_nvlink_status.value
        is_of_node = cluster.status == "not_supported" or (
            cluster.value is not None and not cluster.value.strip("0:-")
        )
        if not is_of_node or reached is None or None in reached:
            return None
        if len(reached) != len(gpus.each()):
            return None
        sizes.add(sum(status == 0 for status in reached))
    return sizes.pop() if len(sizes) == 1 else None


def _instance(host: Host) -> Value[str]:
    """Return the instance type, or the product that some makers' firmware names."""
    if host.instance_type.is_known or host.vendor.value not in _TELL_THE_TYPE:
        return host.instance_type
    product = host.product
    first = (product.value or "").split()[:1]  # DGXA100 920-23687-2530-000
    return product._replace(value=first[0] if first else None)


def _host_facts(sheet: FactSheet, node: Node) -> None:
    host = node.single(Host)
    _measured(sheet, "cluster.host_memory_bytes", host.memory_total_bytes)
    _measured(sheet, "cluster.cpus_per_node", host.processors)
    _measured(sheet, "run.nccl_version", node.single(Driver).nccl_version)
    instance = _instance(host)
    if instance.value is not None:
        try:
            instance_facts(sheet, instance.value, instance.places[0])
        except UnknownName as error:
            sheet.unusable("cluster.instance_type", str(error), instance.places[0])


def _first_of_each(sheet: FactSheet) -> None:
    """Keep what was measured where a catalogue says the same or something else."""
    first = {fact.name: fact for fact in reversed(sheet.facts)}
    sheet.facts[:] = [fact for fact in sheet.facts if first[fact.name] is fact]


def _measured(sheet: FactSheet, name: str, value: Value[object]) -> None:
    if value.is_known:
        sheet.derive(name, value.value, f"{value.name} of the node", *value.places)


def _variables(node: Node) -> tuple[Variable, ...]:
    node_variables = node.several(NodeVariables)
    if not node_variables.count.is_known:
        return ()
    known: list[tuple[int, Variable]] = []
    for node_variable in node_variables.each():
        name, layer = node_variable.name.value, node_variable.layer.value
        if name is None or layer not in _LAYERS:
            continue
        value = node_variable.value.value
        place = (
            node_variable.value.places[0]
            if node_variable.value.places
            else node_variable.name.places[0]
        )
        rank = _LAYERS.index(layer)
        known.append((rank, Variable(name, value, place, value or "")))
    known.sort(key=lambda pair: pair[0])
    return tuple(variable for _, variable in known)


READER = Reader(FORMAT, "node", _detect, _read, keys=("schema",))
